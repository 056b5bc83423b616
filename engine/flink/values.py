"""Changelogs as Flink answers: kinds as texts, times in epoch ms, decimals as text, maps as sorted pairs."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Decimal
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, Final

from engine.contract.frames import KIND
from engine.model.changelog import SYMBOLS
from engine.model.printing import printable
from engine.model.types import DOUBLE, Type
from engine.model.types import Decimal as DecimalType

if TYPE_CHECKING:
    import pyarrow as pa

Records = list[tuple[Any, ...]]
"""A changelog: the kind, then the values."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def records_of(changelog: pa.Table, names: Iterable[str]) -> Records:
    """A changelog in order of position. names: of its columns."""
    columns = [printable(changelog.column(name)) for name in names]
    kinds = [SYMBOLS[kind] for kind in changelog.column(KIND).to_pylist()]
    rows = zip(*columns, strict=True) if columns else [()] * len(kinds)
    return [(kind, *map(plain, row)) for kind, row in zip(kinds, rows, strict=True)]


def plain(value: Any) -> Any:
    """A value in that form."""
    match value:
        case datetime():
            aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
            return round((aware - _EPOCH).total_seconds() * 1000)
        case date():
            return value.isoformat()
        case Decimal():
            return format(value, "f")
        case bytes():
            return value.hex()
        case float() if not isfinite(value):
            return {inf: "Infinity", -inf: "-Infinity"}.get(value, "NaN")
        case list() if value and all(isinstance(item, tuple) for item in value):
            return _pairs(value)
        case dict():
            return [plain(field) for field in value.values()]
        case list():
            return [plain(item) for item in value]
        case _:
            return value


def inserted(value: Any, type_: Type) -> Any:
    """A number as a column of this type gets it by an INSERT, which converts numbers among themselves."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return value
    try:
        if isinstance(type_, DecimalType):
            return format(Decimal(str(value)).quantize(Decimal(1).scaleb(-type_.scale), ROUND_HALF_UP), "f")
        return float(value) if type_ == DOUBLE and isfinite(float(value)) else value
    except (ValueError, ArithmeticError):
        return value


def _pairs(pairs: Iterable[tuple[Any, Any]]) -> list[list[Any]]:
    plain_pairs = [[plain(key), plain(value)] for key, value in pairs]
    return sorted(plain_pairs, key=lambda pair: (pair[0] is not None, str(type(pair[0])), pair[0]))
