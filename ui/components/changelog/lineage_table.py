"""The lineage of an output record as a tree: the record, then what its operator read, up to the sources."""

from __future__ import annotations

from storage.changelogs.lineage import Ancestor
from ui.components.changelog.cascade import place_text
from ui.components.changelog.record_list import in_one_line
from ui.components.grid import Cell, Row, Table
from ui.shell import words


def lineage_table(root: Ancestor) -> Table:
    """The tree as a grid. A row picks its record; records of the root record's event are marked."""
    rows: list[Row] = []
    _add(root, root.record.seq, 0, rows)
    narrow = frozenset({"edge", "event", "kind", "why"})
    return Table(("edge", "event", "kind", "why", "record"), rows, frozenset({"event"}), narrow)


def _add(entry: Ancestor, event: int, depth: int, rows: list[Row]) -> None:
    edge, record = entry.edge, entry.record
    rows.append(
        Row(
            (
                Cell(edge.name, is_strong=True, indent=depth),
                Cell(f"{record.seq:,}", is_number=True),
                Cell(kinds=(record.kind,)),
                _why(entry, event, depth),
                Cell(in_one_line(edge, record), is_wrapped=True),
            ),
            pick=place_text((edge.name, record.row)),
            is_current=depth == 0,
        )
    )
    if not entry.is_known:
        return
    for parent in entry.parents:
        _add(parent, event, depth + 1, rows)
    if entry.more:
        partial = " (some may belong to another key: the operator compares an expression)" if entry.is_partial else ""
        what = f"{edge.name} read {words.count(entry.more, 'more record')} of its key{partial}."
        rows.append(Row(note=f"{' ' * 4 * (depth + 1)}… {what}"))


def _why(entry: Ancestor, event: int, depth: int) -> Cell:
    if depth == 0:
        return Cell("the record", tone="quiet")
    if not entry.is_known:
        return Cell("see above", tone="quiet")
    if entry.record.seq == event:
        return Cell("from this event", tone="active")
    return Cell(f"in the state since event {entry.record.seq:,}", tone="quiet")
