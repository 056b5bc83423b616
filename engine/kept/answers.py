"""An output as text, one record a line: how tests expect it, and how it is compared.

["event","kind","word","cnt"]      a changelog whose order counts: the event that caused a record comes first
[3,"+U","Hello",2]
["+U","Hello",2]                   its order does not count: sorted by the values
["+","Hello",2]                    its kinds do not count either: a row is added or taken away
["Hello",2]                        the final table: sorted rows
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.contract.frames import KIND, SEQ
from engine.kept.manifest import Wanted
from engine.model.changelog import SYMBOLS
from engine.model.printing import json_value, printable
from engine.model.schema import Schema
from engine.reading.recorded_text import line_of

if TYPE_CHECKING:
    import pyarrow as pa

_ADDS = ("+I", "+U")


@dataclass(frozen=True)
class Output:
    """The changelog of an output in order. records: event, kind, then the values as JSON has them.

    row_key: the columns by which its table has one row each; None if whole rows count.
    """

    columns: tuple[str, ...]
    records: tuple[tuple[Any, ...], ...]
    row_key: tuple[str, ...] | None = None

    @classmethod
    def of(cls, changelog: pa.Table, schema: Schema, row_key: tuple[str, ...] | None) -> Output:
        """The output of a run, in order of position."""
        columns = [changelog.column(SEQ).to_pylist(), [SYMBOLS[kind] for kind in changelog.column(KIND).to_pylist()]]
        columns += [[*map(json_value, printable(changelog.column(column.name)))] for column in schema]
        return cls(schema.names, tuple(zip(*columns, strict=True)), row_key)

    def table(self) -> list[tuple[Any, ...]]:
        """The rows of its table after the last event, in any order."""
        places = None if self.row_key is None else [self.columns.index(name) for name in self.row_key]
        if places is None:
            counted: Counter[str] = Counter()
            rows: dict[str, tuple[Any, ...]] = {}
            for _, kind, *row in self.records:
                line = line_of(row)
                rows[line] = tuple(row)
                counted[line] += 1 if kind in _ADDS else -1
            return [rows[line] for line, count in counted.items() for _ in range(count)]
        held: dict[str, tuple[Any, ...]] = {}
        for _, kind, *row in self.records:
            key = line_of([row[place] for place in places])
            if kind in _ADDS:
                held[key] = tuple(row)
            else:
                held.pop(key, None)
        return [*held.values()]

    def answer(self, wanted: Wanted) -> Answer:
        """The output as it is expected."""
        if wanted.expects == "table":
            return Answer(self.columns, tuple(map(line_of, sorted(self.table(), key=_by_value))))
        named = [(event, kind if wanted.kinds else kind[0], *row) for event, kind, *row in self.records]
        if wanted.order:
            return Answer(("event", "kind", *self.columns), tuple(map(line_of, named)))
        rows = sorted((record[1:] for record in named), key=lambda record: (_by_value(record[1:]), record[0]))
        return Answer(("kind", *self.columns), tuple(map(line_of, rows)))


@dataclass(frozen=True)
class Answer:
    """An output as text. columns: the names above its values. lines: JSON arrays."""

    columns: tuple[str, ...]
    lines: tuple[str, ...]

    def to_text(self) -> str:
        """The text of a file."""
        return "".join(f"{line}\n" for line in (line_of(self.columns), *self.lines))


def _by_value(row: Iterable[Any]) -> list[tuple[Any, ...]]:
    """The sort key of a row: NULL first, numbers by size, all else by its text."""
    return [_order(value) for value in row]


def _order(value: Any) -> tuple[Any, ...]:
    if value is None:
        return (0,)
    if isinstance(value, int | float):
        return (1, value)
    return (2, value if isinstance(value, str) else line_of(value if isinstance(value, Sequence) else [value]))
