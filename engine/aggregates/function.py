"""The contract of an aggregate function: one file in `engine/aggregates/functions/` defines it completely.

    name, place                     its name in SQL and pipelines, and its place in forms
    check_argument                  the error of an argument, in words
    result_type, kept_type          the type of the result, and the type in which it is computed
    keeps                           the slots that it keeps per group: accumulate, retract, merge, and their contents
    reader                          reads the result from these slots
    batch                           the same in Spark SQL
    columnar                        the same on whole batches; None: the plain kernel runs

The other attributes declare where the function can be used, and properties of its result for the planner. All of
them have defaults. The calls of functions, as kernels receive them, are defined here too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, NamedTuple, Protocol

from engine.aggregates.accumulator_parts import KeyOf, Slots, Ttl, distinct_key, number_key
from engine.aggregates.accumulator_parts import Read as ReadAcc
from engine.aggregates.batch_sql import BatchCall
from engine.aggregates.columnar_parts import Keep, Read
from engine.contract.derived import Monotonicity
from engine.model.types import BIGINT, FLOATS, Array, Decimal, Map, Row, Type, decimal_scale
from engine.model.value_interval import ANY_VALUE, ValueInterval


@dataclass(frozen=True)
class Values:
    """The values that a call aggregates: those of its argument that pass its filter.

    type: their type, from `kept_type`. retracting: whether values may be retracted. clock: holds the position of the
    current record if the function `uses_clock`. beside: the functions called over the same values, by name.
    arguments: the types of all arguments of a function in Python. ttl: of values that expire one by one.
    """

    type: Type
    retracting: bool
    separator: str
    clock: list[Any]
    beside: frozenset[str]
    offset: int = 1
    arguments: tuple[Type, ...] = ()
    percentage: float | tuple[float, ...] = 0.5
    ttl: Ttl = field(default_factory=Ttl)

    @property
    def is_float(self) -> bool:
        """Whether the values may be NaN."""
        return self.type in FLOATS

    @property
    def has_floats(self) -> bool:
        """Whether the values may be NaN, or hold it."""
        return key_of(self.type) is not None

    @property
    def key_of(self) -> KeyOf | None:
        """The key of a value where this is not the value itself."""
        return key_of(self.type)


class Reader(NamedTuple):
    """Reads a result from an accumulator.

    present: converts the read value to the result, if the read value is compared to detect a change.
    """

    value: ReadAcc
    present: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class AggregateCall:
    """One call over the rows of a kernel. argument, filter: indexes into the row; type: the argument's.

    never_retracts: a MIN or MAX that no retraction changes, because its argument is monotonic. arguments: the types
    of all arguments of a function in Python; if there are several, the value at the argument's index is a row.
    is_found: the argument has the results themselves.
    """

    function: AggregateFunction
    argument: int | None = None
    type: Type = BIGINT
    distinct: bool = False
    filter: int | None = None
    separator: str = ","
    never_retracts: bool = False
    offset: int = 1
    arguments: tuple[Type, ...] = ()
    percentage: float | tuple[float, ...] = 0.5
    is_found: bool = False


class Keeps(Enum):
    """What a function reads of all values that a group keeps (`engine.aggregates.columnar_values`)."""

    SMALLEST = "smallest"
    LARGEST = "largest"
    TEXTS = "texts"


class ColumnarFunction(ABC):
    """A function's implementation on whole batches, if it has one."""

    of_any_type: bool = False
    """Whether values of any type are allowed, since they are only counted."""

    def unable(self, call: AggregateCall, *, retracting: bool) -> str | None:
        """Why the plain kernel runs, in words; None if this one does."""
        return None

    def keeps(self, call: AggregateCall, *, retracting: bool) -> Keeps | None:
        """What it reads of all values; None if it needs only sums and extremes."""
        return None

    @abstractmethod
    def read(self, call: AggregateCall, keep: Keep, beside: frozenset[str]) -> Read:
        """The reader of the result. beside: the functions called over the same values, by name."""


class AggregateFunction(ABC):
    """One function. It has no state of its own; two functions of Flink with the same name are equal."""

    name: str
    """The name in SQL and pipelines."""
    place: int = 1000
    """Forms list functions by place, then by name."""
    replaces: ClassVar[Mapping[str, str]] = {}
    """Functions of other dialects, with the call that replaces each."""

    counts_rows: ClassVar[bool] = False
    """Whether it can be called without an argument, over all rows: it does not read values."""
    sees_nulls: ClassVar[bool] = False
    """Whether it also receives NULLs."""
    never_null: ClassVar[bool] = False
    """Whether its result without values is not NULL."""
    is_known_of_no_rows: ClassVar[bool] = False
    """Whether Flink plans its result of no rows: 0 of a function that counts rows, else NULL."""
    is_computed_above: ClassVar[bool] = False
    """Whether Flink computes its result in a projection above the aggregate, from sums and counts."""
    has_separator: ClassVar[bool] = False
    """Whether a text can follow the argument."""
    has_offset: ClassVar[bool] = False
    """Whether a number of rows can follow the argument."""
    has_percentage: ClassVar[bool] = False
    """Whether shares can follow the argument, and optionally the frequency of each value."""
    ignores_distinct: ClassVar[bool] = False
    """Whether DISTINCT changes nothing."""
    needs_order: ClassVar[bool] = False
    """Whether it requires ordered rows: in OVER, with a frame of all rows so far."""

    goes_by_arrival: ClassVar[bool] = False
    """Whether its result depends on the order of arrival: the batch answer then reads the changelog, not the table."""
    uses_clock: ClassVar[bool] = False
    """Whether it keeps the positions of values, so that merging two accumulators preserves their order."""
    folds_bundles: ClassVar[bool] = True
    """Whether a mini-batch folds the records of a key before it counts them into bundles."""

    is_python: ClassVar[bool] = False
    """Whether it is user-defined, written in Python."""

    can_retract: bool = True
    """Whether a value can be retracted: by an updating input, or when it leaves a frame."""
    can_merge: bool = True
    """Whether two accumulators can be merged: those of slices or sessions."""

    is_its_argument: ClassVar[bool] = False
    """Whether the result over a single row is the argument."""
    is_between_arguments: ClassVar[bool] = False
    """Whether the result over equal values is that value."""
    steady_move: Monotonicity | None = None
    """No retraction changes a result that moves in this direction: a larger MAX has already replaced the value."""

    columnar: ColumnarFunction | None = None
    """The implementation on whole batches; None: the plain kernel runs."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AggregateFunction) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name

    def check_argument(self, argument: str, type_: Type, *, retracting: bool) -> str | None:
        """The error of an argument of this type, to follow the words `SUM(name)`; None if it is valid."""
        return None

    def result_type(self, type_: Type) -> Type:
        """The type of the result. type_: the argument's."""
        return type_

    def kept_type(self, argument: Type | None, result: Type) -> Type | None:
        """The type of the values. argument: its column's type, None for an expression. None: any type works."""
        return argument or result

    @abstractmethod
    def keeps(self, values: Values) -> Slots:
        """The slots that it keeps for these values. Functions over the same values share slots of one name."""

    @abstractmethod
    def reader(self, values: Values, slot: int) -> Reader:
        """The reader of the result. slot: the first of the slots that it keeps."""

    @abstractmethod
    def batch(self, call: BatchCall) -> str:
        """The result in Spark SQL."""

    def move(self, argument: Callable[[], ValueInterval]) -> Monotonicity | None:
        """The monotonicity of the result while rows are only added. argument: the numbers that its values may be."""
        return None

    def interval(self, argument: ValueInterval) -> ValueInterval:
        """The numbers that the result may be, as far as Flink knows them. argument: those of its values."""
        return ANY_VALUE


class NumericFunction(AggregateFunction):
    """A function of numbers. A DECIMAL result has 38 digits, at least 6 of them after the decimal point."""

    def check_argument(self, argument: str, type_: Type, *, retracting: bool) -> str | None:
        """Numbers only."""
        return (
            None if type_.is_number else f"needs a number, but it is {type_.flink}. Choose another column or cast it."
        )

    def result_type(self, type_: Type) -> Type:
        """Integers and floats keep their type."""
        scale = decimal_scale(type_)
        return type_ if scale is None else Decimal(38, max(6, scale))

    def kept_type(self, argument: Type | None, result: Type) -> Type | None:
        """The type of the result: that of the argument, except for the digits of a DECIMAL."""
        return result


def comparable_needed(type_: Type) -> str | None:
    """The error of a type whose values must be comparable, in words; None if they are."""
    if not type_.is_nested:
        return None
    return f"has to compare its values, but {type_.flink} cannot be compared. Use one of its fields."


def hashable_needed(type_: Type) -> str | None:
    """The error of a type whose values must be hashable, in words; None if they are, as rows of plain values."""
    return (
        None
        if isinstance(type_, Row) and not type_.has(lambda part: isinstance(part, Array | Map))
        else comparable_needed(type_)
    )


def key_of(type_: Type) -> KeyOf | None:
    """The key of a type's values, if they may be NaN or hold it; None if they are keys themselves."""
    if type_ in FLOATS:
        return number_key
    return distinct_key if type_.has_floats else None


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
    """The functions called over the same values, by name, including the call's own."""
    values = (call.argument, call.filter, call.distinct)
    return frozenset(other.function.name for other in calls if (other.argument, other.filter, other.distinct) == values)
