"""Retractions: the cascade of one event, the lineage of one record, their flow in the run, savings of mini-batch."""

from __future__ import annotations

from typing import Final

from storage.model import Edge, Run
from ui.components.retractions.event_retractions import event_retractions
from ui.components.retractions.mini_batch_savings import mini_batch_savings
from ui.components.retractions.run_retractions import run_retractions
from ui.components.runs.open_run import show_edge
from ui.components.shell.page_part import page_part

_PARTS: Final = ("One event", "The whole run", "Mini-batch")


def _show(run: Run, edge: Edge) -> None:
    match page_part("Look at", _PARTS, "retraction-part"):
        case "The whole run":
            run_retractions(run, edge)
        case "Mini-batch":
            mini_batch_savings(run, edge)
        case _:
            event_retractions(run, edge)


show_edge(_show)
