"""BIT_OR: the bits that are set in any value. A value cannot be taken back."""

from __future__ import annotations

from typing import Any, Final

from engine.aggregates.accumulator_parts import Acc, AccumulatorPart, Slots, held, never_retracted
from engine.aggregates.batch_sql import BatchCall
from engine.aggregates.function import AggregateFunction, Reader, Values
from engine.aggregates.state import SlotWords
from engine.model.types import INTEGER_BITS, Type


def _bits(slot: int) -> AccumulatorPart:
    def accumulate(acc: Acc, value: Any) -> None:
        acc[slot] = value if acc[slot] is None else acc[slot] | value

    def merge(acc: Acc, other: Acc) -> None:
        if other[slot] is not None:
            accumulate(acc, other[slot])

    return AccumulatorPart(accumulate, never_retracted, merge)


_BITS: Final = Slots("bits", (None,), _bits, (SlotWords("bits that are set"),))


class BitOr(AggregateFunction):
    """BIT_OR(v)."""

    name = "BIT_OR"
    ignores_distinct = True
    can_retract = False

    def check_argument(self, argument: str, type_: Type, *, retracting: bool) -> str | None:
        return None if type_ in INTEGER_BITS else f"needs an integer, but it is {type_}."

    def keeps(self, values: Values) -> Slots:
        return _BITS

    def reader(self, values: Values, slot: int) -> Reader:
        return Reader(held(slot))

    def batch(self, call: BatchCall) -> str:
        return call.of("bit_or")


FUNCTION = BitOr()
