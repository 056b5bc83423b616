"""An operator's work on Spark, as a value: a projection in Spark SQL, or a kernel per key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from engine.contract.bundling import Bundling
from engine.contract.columnar_kernel import RECORD_BY_RECORD, Columnar
from engine.contract.kernel import Kernel
from engine.model.types import Type
from engine.model.zones import Zone

if TYPE_CHECKING:
    import pyarrow as pa


class ColumnCall(Protocol):
    """A call of a user's function as a column. name, type: of the column. arguments: Spark SQL over the input."""

    @property
    def name(self) -> str: ...

    @property
    def type(self) -> Type: ...

    @property
    def arguments(self) -> tuple[str, ...]: ...

    def on(self, arguments: Sequence[pa.Array], rows: int) -> pa.Array:
        """The results, one per record. arguments: columns with `rows` values. Raises FunctionFailed."""


@dataclass(frozen=True)
class Projection:
    """A native step's work on one input: Spark SQL expressions, one per output column, and a condition.

    each: a Spark SQL array; a record is emitted once per element, in order; the values refer to the element as
    EACH (of `engine.contract.frames`). call: a call of a Python function, whose results are a column for the values.
    """

    values: tuple[str, ...]
    where: str | None = None
    each: str | None = None
    call: ColumnCall | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """All expressions."""
        arguments = () if self.call is None else self.call.arguments
        return tuple(text for text in (*self.values, self.where, self.each, *arguments) if text is not None)


@dataclass(frozen=True)
class Native:
    """A stateless step in Spark SQL: the union of its inputs' projections. Other kinds than `kinds` are dropped.

    forward: positions are unchanged (a sink); else each record's step is extended.
    """

    projections: tuple[Projection, ...]
    kinds: frozenset[int] | None = None
    forward: bool = False


@dataclass(frozen=True)
class KeyedInput:
    """One input of a kernel: the key and the values of a row, as Spark SQL expressions.

    In the kernel's input and output, timestamps are BIGINT microseconds; the runtime converts them.
    """

    keys: tuple[str, ...]
    values: tuple[str, ...]
    where: str | None = None


ACCUMULATORS: Final = ("accumulators",)


@dataclass(frozen=True)
class Keyed:
    """A stateful step: spread records by key, sort them by position, run a kernel per key.

    kernel: called once per task, without arguments (functools.partial of the kernel's class). None: the columnar kernel
    is the only telling of the rule.
    uses_time: whether the kernel uses watermarks or timers. by_event_time: whether it needs event
    time at all. bundling: in mini-batch; the kernel is called at every bundle's end. columnar: the columnar kernel,
    if there is one and its conditions hold. holds: what the entries of its state are, by kind.
    layout: the version of states (`engine.runtime.arrivals.state.LAYOUT`) since which its kernel keeps what it keeps.
    zone: the times of records and watermarks are local ones of it, and so are those of the output's columns `in_zone`.
    """

    inputs: tuple[KeyedInput, ...]
    kernel: Callable[[], Kernel] | None
    uses_time: bool = False
    by_event_time: bool = False
    bundling: Bundling | None = None
    columnar: Columnar = RECORD_BY_RECORD
    zone: Zone | None = None
    in_zone: tuple[int, ...] = ()
    holds: tuple[str, ...] = ("rows",)
    layout: int = 1


Step = Native | Keyed
