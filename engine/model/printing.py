"""A changelog as text: JSON lines, or an aligned table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final, NamedTuple

from engine.model.changelog import SYMBOLS
from engine.model.position import hexadecimal

_PLAIN: Final = (int, str, bool, type(None))
# json.dumps with options builds an encoder at every call.
_ENCODE: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Printed(NamedTuple):
    """A changelog record to print."""

    seq: int
    step: bytes
    kind: int
    row: Sequence[Any]


def json_line(names: Sequence[str], record: Printed) -> str:
    """A record as a JSON object: `{"seq":5,"step":"00","kind":"-U","row":{...}}`. Times are UTC."""
    line = {
        "seq": record.seq,
        "step": hexadecimal(record.step),
        "kind": SYMBOLS[record.kind],
        "row": {
            name: value if type(value) in _PLAIN else _json(value)
            for name, value in zip(names, record.row, strict=True)
        },
    }
    return _ENCODE(line)


def cells(record: Printed) -> tuple[str, ...]:
    """A record as the cells of a table."""
    return (str(record.seq), hexadecimal(record.step), SYMBOLS[record.kind], *map(_text, record.row))


def head(names: Sequence[str]) -> tuple[str, ...]:
    """The first line of a table of records."""
    return ("seq", "step", "kind", *names)


def widths(lines: Iterable[Sequence[str]]) -> list[int]:
    """How wide the columns of these lines are."""
    return [max(map(len, column)) for column in zip(*lines, strict=True)]


def aligned(line: Sequence[str], wide: Sequence[int]) -> str:
    """A line of a table."""
    return "  ".join(cell.ljust(width) for cell, width in zip(line, wide, strict=True)).rstrip()


def table(first: Sequence[str], lines: Iterable[Sequence[str]]) -> Iterator[str]:
    """A small table: the head, a rule, the lines."""
    rows = list(lines)
    wide = widths([first, *rows])
    for line in [first, ["-" * width for width in wide], *rows]:
        yield aligned(line, wide)


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
