"""The start of a run of the edited pipeline, which the canvas or the page of the run shows."""

from __future__ import annotations

from typing import NoReturn

from engine.contract.live import Live
from ui.builder.drafting import Drafting
from ui.engines.chosen import chosen
from ui.runs.manager import runs
from ui.shell.navigation import go


def start_run(drafting: Drafting, *, live: bool = False) -> None:
    """Run the edited pipeline as it is now; the next `Drafting.publish` opens the run. live: until it is stopped."""
    is_saved = drafting.is_saved
    drafting.started = runs().start(
        drafting.pipeline,
        master=chosen(),
        pipeline_id=drafting.pipeline_id,
        pipeline_version=drafting.version if is_saved else None,
        live=Live() if live else None,
        identity=drafting.identity,
    )


def run_draft(drafting: Drafting) -> NoReturn:
    """Run the edited pipeline, and open the page of the run."""
    start_run(drafting)
    drafting.publish()
    go("run")
