"""Computations on whole Arrow columns: small callable values, without sqlglot.

A part returns an array, or a scalar if it is the same for all records. Workers get these values, not the text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.model.types import VOID, Type
from engine.model.zones import Zone


class Vector(Protocol):
    """Computes a column or a scalar from records: a RecordBatch or a Table."""

    def __call__(self, records: Any) -> Any: ...


@dataclass(frozen=True)
class ArrowFunction:
    """A compiled expression. type: the Spark type of its values; `void` for an untyped NULL."""

    sql: str
    type: Type
    value: Vector

    def __call__(self, records: Any) -> Any:
        """The values as an array, one per record of a RecordBatch or Table. Raises OverflowError where Spark stops."""
        try:
            values = self.value(records)
        except pa.ArrowInvalid as error:
            message = f"{self.sql}: a value does not fit into its type, {error}"
            raise OverflowError(message) from error
        if not isinstance(values, pa.Scalar):
            return values
        return pa.repeat(values, records.num_rows) if values.is_valid else pa.nulls(records.num_rows, values.type)


@dataclass(frozen=True)
class InputColumn:
    """A column. type: its required type if records may have another one (a time's zone), else None."""

    name: str
    type: Type | None

    def __call__(self, records: Any) -> Any:
        column = records.column(self.name)
        if isinstance(column, pa.ChunkedArray):
            column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        wanted = column.type if self.type is None else self.type.arrow
        return column if column.type == wanted else column.cast(wanted)


@dataclass(frozen=True)
class Constant:
    """A literal. Dates are days and timestamps are microseconds since 1970."""

    value: Any
    type: Type

    def __call__(self, records: Any) -> Any:
        return pa.scalar(self.value, pa.null() if self.type == VOID else self.type.arrow)


@dataclass(frozen=True)
class Call:
    """A function of Arrow. Functions that can overflow are used in their checked variant."""

    function: str
    arguments: tuple[Vector, ...]

    def __call__(self, records: Any) -> Any:
        return pc.call_function(self.function, [argument(records) for argument in self.arguments])


@dataclass(frozen=True)
class Converted:
    """A value converted to another type; a value that does not fit is an error."""

    argument: Vector
    type: Type

    def __call__(self, records: Any) -> Any:
        return self.argument(records).cast(self.type.arrow)


@dataclass(frozen=True)
class FloorDivided:
    """A timestamp as a number of units of `divisor` microseconds, rounded down, before 1970 as well."""

    argument: Vector
    divisor: int

    def __call__(self, records: Any) -> Any:
        micros = self.argument(records).cast(pa.int64())
        return _of_numbers(micros, lambda numbers: np.floor_divide(numbers, self.divisor))


@dataclass(frozen=True)
class InZone:
    """A TIMESTAMP in UTC as the local time of a zone, or to_utc, the other way round."""

    argument: Vector
    zone: Zone
    to_utc: bool

    def __call__(self, records: Any) -> Any:
        given = self.argument(records)
        return _of_numbers(given.cast(pa.int64()), self._of).cast(given.type)

    def _of(self, micros: Any) -> Any:
        ms, rest = np.divmod(micros, 1000)
        return (self.zone.instants_ms(ms) if self.to_utc else self.zone.local_ms(ms)) * 1000 + rest


@dataclass(frozen=True)
class Remainder:
    """The remainder by a positive number: with the sign of the dividend, or never below zero if is_positive."""

    argument: Vector
    divisor: int
    is_positive: bool

    def __call__(self, records: Any) -> Any:
        return _of_numbers(self.argument(records), self._of)

    def _of(self, numbers: Any) -> Any:
        divisor = numbers.dtype.type(self.divisor)
        # Where the product is below the least number, both steps wrap around to the same remainder.
        rest = numbers - np.floor_divide(numbers, divisor) * divisor
        return rest if self.is_positive else np.where((numbers < 0) & (rest > 0), rest - divisor, rest)


def _of_numbers(values: Any, function: Callable[[Any], Any]) -> Any:
    """A function of whole numbers, NULL for NULL: NumPy divides by one number in an eighth of Arrow's time."""
    if isinstance(values, pa.Scalar):
        return _of_numbers(pa.array([values.as_py()], values.type), function)[0]
    missing = values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None
    numbers = (values.fill_null(0) if values.null_count else values).to_numpy(zero_copy_only=False)
    return pa.array(function(numbers), values.type, mask=missing)


@dataclass(frozen=True)
class OnlyWhere:
    """A value that is computed from NULLs where a test is not true, so that it cannot overflow there."""

    value: Vector
    test: Vector

    def __call__(self, records: Any) -> Any:
        return self.value(_Masked(records, self.test(records)))


@dataclass(frozen=True)
class _Masked:
    """Records whose columns are NULL where a test is not true."""

    records: Any
    test: Any

    @property
    def num_rows(self) -> int:
        return int(self.records.num_rows)

    def column(self, name: str) -> Any:
        column = self.records.column(name)
        return pc.if_else(self.test, column, pa.scalar(None, column.type))


@dataclass(frozen=True)
class OneOf:
    """IN a list of literals: NULL for NULL, and for an unlisted value if the list contains NULL."""

    argument: Vector
    values: tuple[Any, ...]
    type: Type
    has_null: bool

    def __call__(self, records: Any) -> Any:
        value = self.argument(records)
        is_member = pc.is_in(value, value_set=pa.array(self.values, self.type.arrow))
        is_known = pc.and_(pc.is_valid(value), is_member) if self.has_null else pc.is_valid(value)
        return pc.if_else(is_known, is_member, pa.scalar(None, pa.bool_()))
