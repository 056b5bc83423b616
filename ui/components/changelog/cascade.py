"""The cascade of one event: the records that it caused on every edge, as a tree, each with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from storage.event_time.model import LateRecord
from storage.model import CascadeRecord, EventRange, Run
from ui.components.changelog.record_list import in_one_line
from ui.components.grid import Cell, Row, Table
from ui.inspect.branches import branches, inputs_of
from ui.inspect.reasons import operators_of, reasons
from ui.runs.operator_lines import pipeline_of
from ui.shell import words, workspace

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
    run: Run,
    cascade: tuple[CascadeRecord, ...],
    *,
    current: Place | None = None,
    pickable: bool = False,
) -> Table:
    """The tree of one event as a grid, each record with the reason why it was emitted, and if it was late, for whom.

    pickable: a row picks its record.
    """
    rows: list[Row] = []
    pipeline = pipeline_of(run)
    tree = branches(cascade[:_SHOWN], inputs_of(pipeline))
    late = _late(run, cascade[0].record.seq) if cascade else ""
    for branch, reason in zip(tree, reasons(tree, operators_of(pipeline), run.explanation), strict=True):
        record, edge = branch.record, branch.edge
        why = Cell(reason, tone="active" if branch.is_fired else "quiet", is_prose=True)
        if late and edge.role == "source":
            why = Cell(f"{reason}, {late}", tone="warn", is_prose=True)
        rows.append(
            Row(
                (
                    Cell(edge.name, is_strong=True, indent=branch.depth),
                    Cell(kinds=(record.kind,)),
                    why,
                    Cell(in_one_line(edge, record), is_wrapped=True),
                ),
                pick=place_text((edge.name, record.row)) if pickable else "",
                is_current=current == (edge.name, record.row),
            )
        )
    if len(cascade) > _SHOWN:
        rows.append(
            Row(note=f"… and {words.count(len(cascade) - _SHOWN, 'more record')}, in the changelogs of the edges.")
        )
    return Table(("edge", "kind", "why", "record"), rows, narrow=frozenset({"edge", "kind"}))


def _late(run: Run, event: int) -> str:
    """For whom the event's record was late, and what became of it; empty if it was in time."""
    lines = workspace.store().late.page(run.run_id, EventRange(event, event)).records
    outcomes = ((True, "late: dropped by"), (False, "late but used by"))
    return ", ".join(f"{what} {_nodes(lines, dropped)}" for dropped, what in outcomes if _nodes(lines, dropped))


def _nodes(lines: Sequence[LateRecord], dropped: bool) -> str:
    return " and ".join(dict.fromkeys(late.node for late in lines if late.dropped is dropped))
