"""A changelog as text: JSON lines, or an aligned table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import chain, islice
from typing import Any, Final, NamedTuple

from engine.changelog import SYMBOLS
from engine.position import hexadecimal

_WIDTHS_FROM: Final = 1000


class Printed(NamedTuple):
    """A changelog record on its way to the terminal."""

    seq: int
    step: bytes
    kind: int
    row: Sequence[Any]


def json_lines(names: Sequence[str], records: Iterable[Printed]) -> Iterator[str]:
    """One JSON object per record: `{"seq":5,"step":"00","kind":"-U","row":{...}}`. Times are UTC."""
    for record in records:
        line = {
            "seq": record.seq,
            "step": hexadecimal(record.step),
            "kind": SYMBOLS[record.kind],
            "row": {name: _json(value) for name, value in zip(names, record.row, strict=True)},
        }
        yield json.dumps(line, ensure_ascii=False, separators=(",", ":"))


def table(names: Sequence[str], records: Iterable[Printed]) -> Iterator[str]:
    """An aligned table of changelog records."""
    cells = (
        (str(record.seq), hexadecimal(record.step), SYMBOLS[record.kind], *map(_text, record.row)) for record in records
    )
    return aligned(("seq", "step", "kind", *names), cells)


def aligned(head: Sequence[str], lines: Iterable[Sequence[str]]) -> Iterator[str]:
    """Cells in columns. The widths are those of the first thousand lines: nothing piles up in memory."""
    rest = iter(lines)
    first = list(islice(rest, _WIDTHS_FROM))
    widths = [max(map(len, cells)) for cells in zip(head, *first, strict=True)]
    for cells in chain([head, ["-" * width for width in widths]], first, rest):
        yield "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _json(value: Any) -> Any:
    match value:
        case datetime():
            return _time(value)
        case date():
            return value.isoformat()
        case Decimal():
            return str(value)
        case bytes() | bytearray():
            return bytes(value).hex()
        case float() if value != value or value in (float("inf"), float("-inf")):
            return str(value)
        case list() | tuple():
            return [_json(item) for item in value]
        case dict():
            return {str(key): _json(item) for key, item in value.items()}
        case _:
            return value


def _text(value: Any) -> str:
    if value is None:
        return "NULL"
    plain = _json(value)
    text = plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False, default=str)
    return text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


def _time(value: datetime) -> str:
    """ISO 8601 in UTC with milliseconds, and microseconds only where there are any."""
    utc = value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    return utc.isoformat(timespec="microseconds" if utc.microsecond % 1000 else "milliseconds").replace("+00:00", "Z")
