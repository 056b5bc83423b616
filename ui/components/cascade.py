"""What one event did: the records that it caused on every edge, as a tree in the order of their emission."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from engine.position import TIMER
from storage.model import CascadeRecord
from ui import words
from ui.components.grid import Cell, Row, Table
from ui.components.run_picker import name_of

_SHOWN: Final = 200
Output = tuple[str, str]


@dataclass(frozen=True)
class Branch:
    """A record of the cascade: how deep below its event, and whether a watermark advance fired it."""

    entry: CascadeRecord
    depth: int
    is_fired: bool


def branches(cascade: tuple[CascadeRecord, ...], inputs: Mapping[str, tuple[Output, ...]]) -> tuple[Branch, ...]:
    """The tree: a record's cause is the last one on an edge into its node whose step is a prefix of its own."""
    found: list[Branch] = []
    above: dict[Output, list[Branch]] = {}
    for entry in cascade:
        causes = [
            cause
            for output in inputs.get(entry.edge.node, ())
            for cause in above.get(output, [])[-1:]
            if _caused(cause.entry.record.step, entry.record.step)
        ]
        deepest = max(causes, key=lambda cause: len(cause.entry.record.step), default=None)
        depth = deepest.depth + 1 if deepest else 0
        branch = Branch(entry, depth, deepest is None and entry.record.step.startswith(TIMER))
        found.append(branch)
        above.setdefault((entry.edge.node, entry.edge.port), []).append(branch)
    return tuple(found)


def _caused(cause: bytes, step: bytes) -> bool:
    """A source record's step is empty, a prefix of all; but what the watermark fires is not its doing."""
    return step.startswith(cause) and not (cause == b"" and step.startswith(TIMER))


def cascade_table(cascade: tuple[CascadeRecord, ...], inputs: Mapping[str, tuple[Output, ...]]) -> Table:
    """The tree as a grid."""
    rows: list[Row] = []
    for branch in branches(cascade[:_SHOWN], inputs):
        record, edge = branch.entry.record, branch.entry.edge
        cause = "the watermark fired" if branch.is_fired else edge.operator.replace("_", " ")
        rows.append(
            Row(
                (
                    Cell(name_of(edge), is_strong=True, indent=branch.depth),
                    Cell(kinds=(record.kind,)),
                    Cell(words.record(edge.names, record.values)),
                    Cell(cause, tone="active" if branch.is_fired else "quiet"),
                    Cell(record.step.hex(), is_code=True),
                )
            )
        )
    if len(cascade) > _SHOWN:
        rows.append(Row(note=f"… and {words.count(len(cascade) - _SHOWN, 'more record')}, on the edges' own lists."))
    return Table(("edge", "kind", "record", "by", "step"), rows)
