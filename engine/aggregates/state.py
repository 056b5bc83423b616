"""What an accumulator holds, in words: a line per slot, or a column where there are many accumulators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from engine.contract.described import Description, Names, Row, state_table

Acc = Sequence[Any]
_SHOWN: Final = 50


def _as_it_is(held: Any) -> Any:
    return held


def _multiset(counts: Mapping[Any, int]) -> Mapping[Any, int]:
    """Values with how often each is there, in order; floats are kept as pairs that sort NaN last."""
    return {_plain(key): times for key, times in sorted(counts.items(), key=lambda item: item[0])}


def _in_order(blocks: Sequence[Sequence[tuple[Any, Any]]]) -> list[Any]:
    return [value for block in blocks for _, value in block]


def _seen(values: Mapping[Any, int | None]) -> Any:
    """The values that came, with their counts where they are counted."""
    return dict(values) if any(values.values()) else list(values)


@dataclass(frozen=True)
class _Word:
    """A slot of a part, in words. at: its place in the part. is_value: it holds values of the argument."""

    what: str
    at: int = 0
    is_value: bool = False
    read: Callable[[Any], Any] = _as_it_is


_WORDS: Final[Mapping[str, Sequence[_Word]]] = {
    "count": (_Word("number"),),
    "sum": (_Word("sum"), _Word("number", 1)),
    "multiset": (_Word("values and how often", is_value=True, read=_multiset),),
    "min": (_Word("smallest", is_value=True),),
    "max": (_Word("largest", is_value=True),),
    "arrivals": (_Word("values by arrival", 1, is_value=True, read=_in_order),),
    "first": (_Word("first", is_value=True),),
    "last": (_Word("last", is_value=True),),
    "values": (_Word("values", is_value=True),),
    "counts": (_Word("values and how often", is_value=True),),
    "welford": (_Word("number"), _Word("mean", 1), _Word("squared differences", 2)),
}
_DISTINCT: Final = _Word("values seen", is_value=True, read=_seen)


@dataclass(frozen=True)
class Kept:
    """One slot of an accumulator: what it holds, of the argument and under the condition at these places."""

    word: _Word
    slot: int
    argument: int | None
    condition: int | None
    is_distinct: bool = False

    def title(self, names: Names) -> str:
        """As it is shown: `sum of amount`, `number of distinct key where paid`."""
        distinct = "distinct " if self.is_distinct else ""
        where = f" where {_condition(names.argument(self.condition).name)}" if self.condition is not None else ""
        return f"{self.word.what} of {distinct}{names.argument(self.argument).name}{where}"

    def value(self, acc: Acc, names: Names) -> Any:
        """What is held; of long lists the beginning."""
        show = names.argument(self.argument).show if self.word.is_value else _as_it_is
        match self.word.read(acc[self.slot]):
            case Mapping() as held:
                return {show(key): times for key, times in list(held.items())[:_SHOWN]}
            case list() as held:
                return [show(value) for value in held[:_SHOWN]]
            case held:
                return show(held)


def kept_of(
    parts: Mapping[str, int], argument: int | None, condition: int | None, distinct: int | None
) -> tuple[Kept, ...]:
    """What the parts of one argument hold. parts: the first slot of each. distinct: the slot of the values seen."""
    found = [
        Kept(word, slot + word.at, argument, condition, distinct is not None)
        for name, slot in parts.items()
        for word in _WORDS[name.split()[0]]
    ]
    return (*found, *(() if distinct is None else (Kept(_DISTINCT, distinct, argument, condition),)))


def accumulator(acc: Acc | None, kept: Sequence[Kept], names: Names) -> Description:
    """One accumulator as a table; nothing where there is none."""
    if acc is None:
        return ()
    rows: list[Row] = [(each.title(names), each.value(acc, names)) for each in kept]
    return (state_table("Accumulators", ("what is kept", "value"), rows),)


def _plain(key: Any) -> Any:
    is_float = isinstance(key, tuple) and len(key) == 2 and isinstance(key[0], bool)
    return (float("nan") if key[0] else key[1]) if is_float else key


def _condition(expression: str) -> str:
    """A condition as it was written: kernels are given it with NULL taken for false."""
    return expression.removeprefix("coalesce(").removesuffix(", false)")
