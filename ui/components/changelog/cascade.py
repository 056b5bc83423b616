"""The cascade of one event: the records that it caused on every edge, as a tree, each with the reason."""

from __future__ import annotations

from typing import Final

from engine.contract.explanation import PlanExplanation
from engine.model.pipeline import Pipeline
from storage.model import CascadeRecord
from ui.components.changelog.record_list import in_one_line
from ui.components.grid import Cell, Row, Table
from ui.inspect.branches import branches, inputs_of
from ui.inspect.reasons import reasons
from ui.shell import words

_SHOWN: Final = 200
Place = tuple[str, int]
"""A record: the name of its edge and its row there."""


def place_text(place: Place) -> str:
    """A place as the text that a row picks."""
    return f"{place[1]} {place[0]}"


def place_of(text: str) -> Place:
    """The place in the text that a row picks."""
    row, _, name = text.partition(" ")
    return name, int(row)


def cascade_table(
    cascade: tuple[CascadeRecord, ...],
    pipeline: Pipeline,
    plan: PlanExplanation,
    *,
    current: Place | None = None,
    pickable: bool = False,
) -> Table:
    """The tree as a grid, each record with the reason why it was emitted. pickable: a row picks its record."""
    rows: list[Row] = []
    tree = branches(cascade[:_SHOWN], inputs_of(pipeline))
    for branch, reason in zip(tree, reasons(tree, pipeline, plan), strict=True):
        record, edge = branch.record, branch.edge
        rows.append(
            Row(
                (
                    Cell(edge.name, is_strong=True, indent=branch.depth),
                    Cell(kinds=(record.kind,)),
                    Cell(in_one_line(edge, record)),
                    Cell(reason, tone="active" if branch.is_fired else "quiet", is_prose=True),
                ),
                pick=place_text((edge.name, record.row)) if pickable else "",
                is_current=current == (edge.name, record.row),
            )
        )
    if len(cascade) > _SHOWN:
        rows.append(
            Row(note=f"… and {words.count(len(cascade) - _SHOWN, 'more record')}, in the changelogs of the edges.")
        )
    return Table(("edge", "kind", "record", "why"), rows)
