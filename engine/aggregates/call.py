"""A call of an aggregate function as kernels are given it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from engine.aggregates.function import AggregateFunction


@dataclass(frozen=True)
class AggregateCall:
    """One call over the rows of a kernel. argument, filter: places in the row; type: the argument's.

    never_retracts: a MIN or MAX that no retraction changes, because its argument moves one way only.
    """

    function: AggregateFunction
    argument: int | None = None
    type: str = "bigint"
    distinct: bool = False
    filter: int | None = None
    separator: str = ","
    never_retracts: bool = False


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
