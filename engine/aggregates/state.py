"""The contents of accumulators in words: a line per slot, or a column per slot for many accumulators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from engine.contract.state_in_words import Description, Names, state_table
from engine.model.row import Row

Acc = Sequence[Any]
_SHOWN: Final = 50


def _as_it_is(held: Any) -> Any:
    return held


def _seen(values: Mapping[Any, int | None]) -> Any:
    """The values seen, with their counts if they are counted."""
    return dict(values) if any(values.values()) else list(values)


@dataclass(frozen=True)
class SlotWords:
    """A slot of a part, in words. at: its index in the part. is_value: it holds values of the argument."""

    what: str
    at: int = 0
    is_value: bool = False
    read: Callable[[Any], Any] = _as_it_is


VALUES_SEEN: Final = SlotWords("values seen", is_value=True, read=_seen)
"""The slot of DISTINCT."""


@dataclass(frozen=True)
class AccumulatorSlot:
    """One slot of an accumulator: its contents, with the argument and the condition at these indexes."""

    word: SlotWords
    slot: int
    argument: int | None
    condition: int | None
    is_distinct: bool = False

    def title(self, names: Names) -> str:
        """The title shown: `sum of amount`, `number of distinct key where paid`."""
        distinct = "distinct " if self.is_distinct else ""
        where = f" where {_condition(names.argument(self.condition).name)}" if self.condition is not None else ""
        return f"{self.word.what} of {distinct}{names.argument(self.argument).name}{where}"

    def value(self, acc: Acc, names: Names) -> Any:
        """The content; only the beginning of long lists."""
        show = names.argument(self.argument).show if self.word.is_value else _as_it_is
        match self.word.read(acc[self.slot]):
            case Mapping() as held:
                return {show(key): times for key, times in list(held.items())[:_SHOWN]}
            case list() as held:
                return [show(value) for value in held[:_SHOWN]]
            case held:
                return show(held)


def accumulator(acc: Acc | None, kept: Sequence[AccumulatorSlot], names: Names) -> Description:
    """One accumulator as a table; empty without an accumulator."""
    if acc is None:
        return ()
    rows: list[Row] = [(slot.title(names), slot.value(acc, names)) for slot in kept]
    return (state_table("Accumulators", ("what is kept", "value"), rows),)


def _condition(expression: str) -> str:
    """A condition as written by the user: kernels receive it with NULL treated as false."""
    return expression.removeprefix("coalesce(").removesuffix(", false)")
