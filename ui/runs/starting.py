"""From a document to a run, which the canvas shows, and on to the page that shows all of it."""

from __future__ import annotations

from typing import NoReturn

from engine.contract.live import Live
from ui.builder.drafting import Drafting
from ui.components.engines.engine_choice import chosen
from ui.runs.manager import runs
from ui.shell.navigation import go


def start_run(drafting: Drafting, *, live: bool = False) -> None:
    """Run what is being edited, as it is now; the draft's next page opens the run. live: until somebody stops it."""
    is_saved = drafting.is_saved
    drafting.started = runs().start(
        drafting.pipeline,
        master=chosen(),
        pipeline_id=drafting.pipeline_id,
        pipeline_version=drafting.version if is_saved else None,
        live=Live() if live else None,
    )


def run_draft(drafting: Drafting) -> NoReturn:
    """Run what is being edited, and show the run."""
    start_run(drafting)
    drafting.publish()
    go("run")
