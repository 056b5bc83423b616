"""The contract of an aggregate function: one file in `engine/aggregates/functions/` holds everything that it is.

    name, place                     what SQL and pipelines call it, and where forms list it
    check_argument                  what is wrong with an argument, in words
    result_type, kept_type          the type of the result, and the type in which it is computed
    keeps                           the slots that it keeps of a group: accumulate, retract, merge, and what they hold
    reader                          how the result is read from these slots
    batch                           the same in Spark SQL
    columnar                        the same on whole batches; None: the plain kernel runs

The rest says where the function may stand and what the planner knows of its result. All of it has a default.
Here is also what a kernel is given: its calls of functions.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple, Protocol

from engine.aggregates.accumulator_parts import Read as ReadAcc
from engine.aggregates.accumulator_parts import Slots
from engine.aggregates.batch_sql import BatchCall
from engine.aggregates.columnar_parts import Keep, Read
from engine.contract.operator import Monotonicity
from engine.model.row_types import is_row
from engine.model.schema import FLOATS, decimal_scale, is_numeric

_HAS_MANY: Final = re.compile(r"\b(array|map)<")


@dataclass(frozen=True)
class Values:
    """What a call is over: the values of its argument that pass its filter.

    type: theirs, as `kept_type` has it. retracting: whether values may be taken back. clock: holds the position of the
    current record where the function `uses_clock`. beside: the functions called over the same values, by name.
    arguments: the types of all arguments of a function in Python.
    """

    type: str
    retracting: bool
    separator: str
    clock: list[Any]
    beside: frozenset[str]
    offset: int = 1
    arguments: tuple[str, ...] = ()
    percentage: float | tuple[float, ...] = 0.5

    @property
    def is_float(self) -> bool:
        """Whether NaN may be among them."""
        return self.type in FLOATS


class Reader(NamedTuple):
    """How a result is read from an accumulator.

    present: makes the result of what was read, where that is compared to find out whether the result changed.
    """

    value: ReadAcc
    present: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class AggregateCall:
    """One call over the rows of a kernel. argument, filter: places in the row; type: the argument's.

    never_retracts: a MIN or MAX that no retraction changes, because its argument moves one way only. arguments: the
    types of all arguments of a function in Python; where there are several, the value at the argument's place is a row.
    """

    function: AggregateFunction
    argument: int | None = None
    type: str = "bigint"
    distinct: bool = False
    filter: int | None = None
    separator: str = ","
    never_retracts: bool = False
    offset: int = 1
    arguments: tuple[str, ...] = ()
    percentage: float | tuple[float, ...] = 0.5


class ColumnarFunction(ABC):
    """How a function works on whole batches, where it does."""

    of_any_type: bool = False
    """Whether the type of the values does not matter, as they are only counted."""

    def unable(self, call: AggregateCall, *, retracting: bool) -> str | None:
        """Why the plain kernel runs, in words; None where this does. DISTINCT has no columns at all."""
        return None

    @abstractmethod
    def read(self, call: AggregateCall, keep: Keep, beside: frozenset[str]) -> Read:
        """How the result is read. beside: the functions called over the same values, by name."""


class AggregateFunction(ABC):
    """One function. It has no state of its own; two of Flink's with one name are the same."""

    name: str
    """As SQL and pipelines write it."""
    place: ClassVar[int] = 1000
    """Forms list functions by place, then by name."""
    replaces: ClassVar[Mapping[str, str]] = {}
    """Functions of other dialects, and the call to write instead."""

    counts_rows: ClassVar[bool] = False
    """Whether it can be called without an argument, for all rows: it does not look at values."""
    sees_nulls: ClassVar[bool] = False
    """Whether it takes NULLs too."""
    never_null: ClassVar[bool] = False
    """Whether it has a result without values."""
    has_separator: ClassVar[bool] = False
    """Whether a text can follow the argument."""
    has_offset: ClassVar[bool] = False
    """Whether a number of rows can follow the argument."""
    has_percentage: ClassVar[bool] = False
    """Whether shares follow the argument, and maybe how often each value counts."""
    ignores_distinct: ClassVar[bool] = False
    """Whether DISTINCT changes nothing."""
    needs_order: ClassVar[bool] = False
    """Whether it only means something over rows in an order: in OVER, with a frame of all rows so far."""

    goes_by_arrival: ClassVar[bool] = False
    """Whether the order of arrival decides: the batch answer then asks the changelog, not the table."""
    uses_clock: ClassVar[bool] = False
    """Whether it keeps when values came, so that merging two accumulators keeps their order."""
    folds_bundles: ClassVar[bool] = True
    """Whether a mini-batch folds the records of a key before they are counted into bundles."""

    is_python: ClassVar[bool] = False
    """Whether it is somebody's own, written in Python."""

    can_retract: bool = True
    """Whether a value can be taken back: of an updating input, or when it leaves a frame."""
    can_merge: bool = True
    """Whether two accumulators can become one: those of slices or sessions."""

    is_its_argument: ClassVar[bool] = False
    """Whether the result over a single row is the argument."""
    is_between_arguments: ClassVar[bool] = False
    """Whether the result over equal values is that value."""
    steady_move: ClassVar[Monotonicity | None] = None
    """A result that moves this way changes by no retraction: a larger MAX has taken its place."""

    columnar: ClassVar[ColumnarFunction | None] = None
    """How whole batches are aggregated; None: the plain kernel runs."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AggregateFunction) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name

    def check_argument(self, argument: str, type_: str, *, retracting: bool) -> str | None:
        """What is wrong with an argument of this type, after the words `SUM(name)`; None where nothing is."""
        return None

    def result_type(self, type_: str) -> str:
        """The type of the result. type_: the argument's."""
        return type_

    def kept_type(self, argument: str | None, result: str) -> str | None:
        """The type of the values. argument: its column's, None for an expression. None: any will do."""
        return argument or result

    @abstractmethod
    def keeps(self, values: Values) -> Slots:
        """What it keeps of these values. Functions over the same values share slots of one name."""

    @abstractmethod
    def reader(self, values: Values, slot: int) -> Reader:
        """How the result is read. slot: the first of those that it keeps."""

    @abstractmethod
    def batch(self, call: BatchCall) -> str:
        """The result in Spark SQL."""

    def move(self, is_non_negative: Callable[[], bool]) -> Monotonicity | None:
        """How the result moves while rows are only added. is_non_negative: whether no value is below zero."""
        return None

    def is_non_negative(self, argument: Callable[[], bool]) -> bool:
        """Whether the result is never below zero. argument: whether no value is."""
        return False


class NumericFunction(AggregateFunction):
    """A function of numbers. A DECIMAL has 38 digits, and at least 6 of them after the point."""

    def check_argument(self, argument: str, type_: str, *, retracting: bool) -> str | None:
        """Numbers only."""
        return None if is_numeric(type_) else f"needs a number, but it is {type_}. Choose another column or cast it."

    def result_type(self, type_: str) -> str:
        """Integers and floats keep their type."""
        scale = decimal_scale(type_)
        return type_ if scale is None else f"decimal(38,{max(6, scale)})"

    def kept_type(self, argument: str | None, result: str) -> str | None:
        """The result's: the argument's, but for the digits of a DECIMAL."""
        return result


def comparable_needed(type_: str) -> str | None:
    """What is wrong with a type whose values have to be compared, in words."""
    if not type_.startswith(("array", "map", "struct")):
        return None
    return f"has to compare its values, but {type_} cannot be compared. Use one of its fields."


def hashable_needed(type_: str) -> str | None:
    """What is wrong with a type whose values have to be told apart, in words; rows of plain values can be."""
    return None if is_row(type_) and not _HAS_MANY.search(type_) else comparable_needed(type_)


class _Call(Protocol):
    """A call, of a kernel or of an operator's parameters."""

    @property
    def function(self) -> AggregateFunction: ...

    @property
    def argument(self) -> int | str | None: ...

    @property
    def filter(self) -> int | str | None: ...

    @property
    def distinct(self) -> bool: ...


def functions_beside(call: _Call, calls: Iterable[_Call]) -> frozenset[str]:
    """The functions called over the same values, by name, that of the call itself among them."""
    values = (call.argument, call.filter, call.distinct)
    return frozenset(other.function.name for other in calls if (other.argument, other.filter, other.distinct) == values)
