"""A changelog as text: JSON lines, or an aligned table."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from engine.model.changelog import SYMBOLS
from engine.model.position import hexadecimal
from engine.model.row_values import converted
from engine.model.types import Timestamp, Type
from engine.model.zones import Zone

if TYPE_CHECKING:
    import pyarrow as pa

_PLAIN: Final = (int, str, bool, type(None))
# json.dumps with options builds an encoder at every call.
_ENCODE: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Printed(NamedTuple):
    """A changelog record to print."""

    seq: int
    step: bytes
    kind: int
    row: Sequence[Any]


def printable(column: pa.Array | pa.ChunkedArray, type_: Type | None = None, zone: Zone | None = None) -> list[Any]:
    """The values of a column, a FLOAT as the shortest number that means it: 24.6, not 24.600000381469727.

    type_, zone: times are texts then, instants in the zone, with its offset.
    """
    if zone is not None and isinstance(type_, Timestamp):
        micros = column.cast("int64")
        return [None if time is None else zone.text(time, is_instant=type_.is_zoned) for time in micros.to_pylist()]
    shorten = _shortening(column.type)
    values: list[Any] = column.to_pylist()
    return values if shorten is None else [None if value is None else shorten(value) for value in values]


def shortest(single: float) -> float:
    """The shortest number that is this FLOAT."""
    import numpy as np

    return float(str(np.float32(single)))


def json_line(names: Sequence[str], record: Printed, output: str = "") -> str:
    """A record as a JSON object: `{"seq":5,"step":"00","kind":"-U","row":{...}}`. Times are UTC. output: its name."""
    line = {
        **({"output": output} if output else {}),
        "seq": record.seq,
        "step": hexadecimal(record.step),
        "kind": SYMBOLS[record.kind],
        "row": {
            name: value if type(value) in _PLAIN else json_value(value)
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


def _shortening(type_: pa.DataType) -> Callable[[Any], Any] | None:
    """How values become printable; None if they are."""
    import pyarrow as pa

    if pa.types.is_float32(type_):
        return shortest
    if pa.types.is_struct(type_):
        inner = {field.name: _shortening(field.type) for field in type_}
        has_any = any(inner.values())
        return (lambda row: {name: converted(value, inner[name]) for name, value in row.items()}) if has_any else None
    if pa.types.is_list(type_):
        item = _shortening(type_.value_type)
        return item and (lambda values: [converted(value, item) for value in values])
    if pa.types.is_map(type_):
        key, held = _shortening(type_.key_type), _shortening(type_.item_type)
        has_any = key is not None or held is not None
        return (lambda pairs: [(converted(a, key), converted(b, held)) for a, b in pairs]) if has_any else None
    return None


def json_value(value: Any) -> Any:
    """A value as JSON has it: times in ISO 8601, decimals as texts, bytes in hexadecimal."""
    match value:
        case datetime():
            return _time(value)
        case date() | time():
            return value.isoformat()
        case Decimal():
            return str(value)
        case bytes() | bytearray():
            return bytes(value).hex()
        case float() if value != value or value in (float("inf"), float("-inf")):
            return str(value)
        case list() | tuple():
            return [json_value(item) for item in value]
        case dict():
            return {str(key): json_value(item) for key, item in value.items()}
        case _:
            return value


def _text(value: Any) -> str:
    if value is None:
        return "NULL"
    plain = json_value(value)
    text = plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False, default=str)
    return text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


def _time(value: datetime) -> str:
    """ISO 8601 in UTC with milliseconds, and microseconds only where there are any."""
    utc = value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    return utc.isoformat(timespec="microseconds" if utc.microsecond % 1000 else "milliseconds").replace("+00:00", "Z")
