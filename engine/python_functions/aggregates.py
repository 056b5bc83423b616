"""A Python aggregate function, a value at a time: an object with accumulate, retract, merge and get_value.

Its accumulator is created with the first value, by create_accumulator. In memory it stays unchanged; between epochs it
is converted to plain values (`engine.python_functions.containers`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine.model.types import Type
from engine.python_functions.containers import Unkept, as_plain, from_plain
from engine.python_functions.loading import DefinedFunction, FunctionFailed, fail, loaded, raised, unfitting
from engine.python_functions.stand_in import opened
from engine.python_functions.values import WRONG, argument_in, result_in


class LiveAccumulator:
    """An accumulator that is pickled as plain values."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __reduce__(self) -> tuple[Any, ...]:
        try:
            return tuple, ((as_plain(self.value),),)
        except Unkept as error:
            message = f"its accumulator cannot be kept: {error}."
            raise FunctionFailed(message) from error


Slot = LiveAccumulator | tuple[Any] | None
"""The state of a group: an accumulator, an accumulator as plain values, or none yet."""


def taken_up(slot: Slot) -> Any:
    """The accumulator in a slot; None if there is none."""
    return slot.value if isinstance(slot, LiveAccumulator) else None if slot is None else from_plain(slot[0])


@dataclass(frozen=True)
class PythonAggregate(DefinedFunction):
    """An aggregate function. arguments: the types of its arguments, in Spark's spelling."""

    arguments: tuple[Type, ...]

    def accumulate(self, slot: Slot, value: Any) -> LiveAccumulator:
        """The slot with one more value. For several arguments the value is a tuple. Raises FunctionFailed."""
        held = self._held(slot)
        self._call("accumulate", held, value)
        return held

    def retract(self, slot: Slot, value: Any) -> LiveAccumulator:
        """The slot with a value retracted. Raises FunctionFailed."""
        held = self._held(slot)
        self._call("retract", held, value)
        return held

    def merge(self, slot: Slot, other: Slot) -> Slot:
        """The slot merged with another one, which stays unchanged. Raises FunctionFailed."""
        if other is None:
            return slot
        held = self._held(slot)
        if not hasattr(self._loaded.function, "merge"):
            fail(f"{self.function}.merge", (), "there is no such method, but two sessions meet. Write one")
        # The merged accumulator may become a part of the other one, so it is copied.
        copy = from_plain(as_plain(taken_up(other)))
        self._run("merge", (), lambda made: made.merge(held.value, [copy]))
        return held

    def value(self, slot: Slot) -> Any:
        """The result. Raises FunctionFailed."""
        held = self._held(slot)
        raw_value = self._run("get_value", (), lambda function: function.get_value(held.value))
        try:
            return self._loaded.result(raw_value)
        except WRONG as error:
            fail(f"{self.function}.get_value", (), unfitting(raw_value, self.type, error))

    def of_all(self, values: list[Any]) -> Any:
        """The result over some values. Raises FunctionFailed."""
        slot: Slot = None
        for value in values:
            slot = self.accumulate(slot, value)
        return self.value(slot)

    @property
    def _loaded(self) -> _Loaded:
        aggregate: _Loaded = self._kept.once(lambda: _Loaded.of(self))
        return aggregate

    def _held(self, slot: Slot) -> LiveAccumulator:
        if isinstance(slot, LiveAccumulator):
            return slot
        if slot is None:
            return LiveAccumulator(self._run("create_accumulator", (), lambda made: made.create_accumulator()))
        return LiveAccumulator(from_plain(slot[0]))

    def _call(self, method: str, held: LiveAccumulator, value: Any) -> None:
        loaded_ = self._loaded
        given = loaded_.given(value)
        try:
            getattr(loaded_.function, method)(held.value, *given)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever somebody's code raises
            fail(f"{self.function}.{method}", given, raised(error))

    def _run(self, method: str, given: tuple[Any, ...], run: Callable[[Any], Any]) -> Any:
        try:
            return run(self._loaded.function)
        except FunctionFailed:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever somebody's code raises
            fail(f"{self.function}.{method}", given, raised(error))


@dataclass(frozen=True)
class _Loaded:
    """The loaded function, and the conversions of its arguments and results."""

    function: Any
    given: Callable[[Any], tuple[Any, ...]]
    result: Callable[[Any], Any]

    @classmethod
    def of(cls, called: PythonAggregate) -> _Loaded:
        """Load a function. Raises FunctionFailed."""
        function = loaded(called.code, called.function, opened)
        converts = [argument_in(type_.arrow) for type_ in called.arguments]
        return cls(function, _given(converts), result_in(called.type.arrow))


def _given(converts: list[Callable[[Any], Any] | None]) -> Callable[[Any], tuple[Any, ...]]:
    """The conversion of a value to arguments."""
    if len(converts) == 1:
        (conversion,) = converts
        if conversion is None:
            return lambda value: (value,)
        convert = conversion
        return lambda value: (value if value is None else convert(value),)
    if not converts:
        return lambda value: ()
    if not any(converts):
        return tuple
    return lambda values: tuple(
        value if value is None or convert is None else convert(value)
        for value, convert in zip(values, converts, strict=True)
    )
