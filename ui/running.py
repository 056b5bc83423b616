"""From a document to a run, and on to the page that shows it."""

from __future__ import annotations

from typing import NoReturn

from ui.drafting import Drafting
from ui.navigation import go
from ui.runs import runs
from ui.state import state


def run_draft(drafting: Drafting) -> NoReturn:
    """Run what is being edited, as it is now, and show the run."""
    is_saved = drafting.is_saved
    run_id = runs().start(
        drafting.pipeline,
        pipeline_id=drafting.pipeline_id,
        pipeline_version=drafting.version if is_saved else None,
    )
    state.update(run=run_id, edge=None, event=None)
    go("run")
