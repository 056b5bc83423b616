"""Windows divided into disjoint slices, so that a record is accumulated once, however many windows it is in.

    TUMBLE     a slice is a window
    HOP        slices of one slide, or of the common divisor of size and slide; a window is merged from the last to the
               first, a group window from the first to the last
    CUMULATE   slices of one step; a window is the first slice and all up to its end, merged in order

A slice or window is identified by its end. The merge orders are Flink's: they are visible in a collected list.
Source: Flink SliceAssigners, SliceSharedWindowAggProcessor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd
from typing import Any, Protocol, assert_never

from engine.aggregates.accumulators import Accumulators
from engine.model.windowing import Windowing, WindowKind

Slices = dict[int, list[Any]]


class Slicing(Protocol):
    """The composition of windows from slices. what: the word for a slice."""

    what: str

    def slice_bounds(self, slice_end: int) -> tuple[int, int]:
        """The start and end of a slice."""

    def slice_of(self, time_ms: int) -> int:
        """The slice of a timestamp, which ends no later than the first window that it belongs to."""

    def windows_of(self, slice_end: int) -> Sequence[int]:
        """The windows of a slice, by their ends; none if the slice is in a gap between windows."""

    def start_of(self, window_end: int) -> int:
        """The start of a window."""

    def target_of(self, slice_end: int, is_closed: Callable[[int], bool]) -> int:
        """The slice that a record is added to: its own, or another if the first window of its own may be closed."""

    def merged(self, slices: Slices, window_end: int) -> list[Any] | None:
        """The accumulator of a window, or None if it has no rows. Must not be changed."""

    def close(self, slices: Slices, window_end: int) -> None:
        """Remove the slices that no other window needs. Windows close in order of their ends."""


def slicing(windowing: Windowing, accumulators: Accumulators, *, fires_once: bool, is_group_window: bool) -> Slicing:
    """The slicing of a windowing. fires_once: a window is closed as soon as it has fired."""
    match windowing.kind:
        case WindowKind.TUMBLE:
            return _Tumble(windowing)
        case WindowKind.HOP:
            return _Hop(windowing, accumulators, is_group_window)
        case WindowKind.CUMULATE:
            return _Cumulate(windowing, accumulators, fires_once)
        case WindowKind.SESSION:
            message = "sessions have no slices"
            raise ValueError(message)
        case _:
            assert_never(windowing.kind)


class _Tumble:
    what = "window"

    def __init__(self, windowing: Windowing) -> None:
        self.size = windowing.size_ms
        self.offset = windowing.offset_ms

    def slice_bounds(self, slice_end: int) -> tuple[int, int]:
        return slice_end - self.size, slice_end

    def slice_of(self, time_ms: int) -> int:
        return time_ms - (time_ms - self.offset) % self.size + self.size

    def windows_of(self, slice_end: int) -> Sequence[int]:
        return (slice_end,)

    def start_of(self, window_end: int) -> int:
        return window_end - self.size

    def target_of(self, slice_end: int, is_closed: Callable[[int], bool]) -> int:
        return slice_end

    def merged(self, slices: Slices, window_end: int) -> list[Any] | None:
        return slices.get(window_end)

    def close(self, slices: Slices, window_end: int) -> None:
        slices.pop(window_end, None)


class _Hop:
    what = "slice"

    def __init__(self, windowing: Windowing, accumulators: Accumulators, first_to_last: bool) -> None:
        self.first_to_last = first_to_last
        self.size = windowing.size_ms
        self.slide = windowing.slide_ms
        self.slice = gcd(self.size, self.slide)
        self.offset = windowing.offset_ms
        self.accumulators = accumulators

    def slice_bounds(self, slice_end: int) -> tuple[int, int]:
        return slice_end - self.slice, slice_end

    def slice_of(self, time_ms: int) -> int:
        return time_ms - (time_ms - self.offset) % self.slice + self.slice

    def windows_of(self, slice_end: int) -> Sequence[int]:
        first = slice_end + (self.offset + self.size - slice_end) % self.slide
        return range(first, slice_end - self.slice + self.size + 1, self.slide)

    def start_of(self, window_end: int) -> int:
        return window_end - self.size

    def target_of(self, slice_end: int, is_closed: Callable[[int], bool]) -> int:
        return slice_end

    def merged(self, slices: Slices, window_end: int) -> list[Any] | None:
        ends = range(self.start_of(window_end) + self.slice, window_end + 1, self.slice)
        ends = ends if self.first_to_last else ends[::-1]
        return _merge(self.accumulators, [slices[end] for end in ends if end in slices])

    def close(self, slices: Slices, window_end: int) -> None:
        start = self.start_of(window_end)
        for end in range(start + self.slice, start + self.slide + 1, self.slice):
            slices.pop(end, None)


class _Cumulate:
    what = "slice"

    def __init__(self, windowing: Windowing, accumulators: Accumulators, fires_once: bool) -> None:
        self.size = windowing.size_ms
        self.step = windowing.slide_ms
        self.offset = windowing.offset_ms
        self.accumulators = accumulators
        self.fires_once = fires_once

    def slice_bounds(self, slice_end: int) -> tuple[int, int]:
        return slice_end - self.step, slice_end

    def slice_of(self, time_ms: int) -> int:
        return time_ms - (time_ms - self.offset) % self.size % self.step + self.step

    def windows_of(self, slice_end: int) -> Sequence[int]:
        return range(slice_end, self.start_of(slice_end) + self.size + 1, self.step)

    def start_of(self, window_end: int) -> int:
        inside = window_end - 1
        return inside - (inside - self.offset) % self.size

    def target_of(self, slice_end: int, is_closed: Callable[[int], bool]) -> int:
        return self.start_of(slice_end) + self.step if is_closed(slice_end) else slice_end

    def merged(self, slices: Slices, window_end: int) -> list[Any] | None:
        first = self.start_of(window_end) + self.step
        if self.fires_once:
            # No shorter window is read again: the other slices are merged into the first one for good.
            self._take_in(slices, first, window_end)
            return slices.get(first)
        ends = range(first, window_end + 1, self.step)
        return _merge(self.accumulators, [slices[end] for end in ends if end in slices])

    def close(self, slices: Slices, window_end: int) -> None:
        start = self.start_of(window_end)
        self._take_in(slices, start + self.step, window_end)
        if window_end == start + self.size:
            slices.pop(start + self.step, None)

    def _take_in(self, slices: Slices, first: int, window_end: int) -> None:
        for end in range(first + self.step, window_end + 1, self.step):
            acc = slices.pop(end, None)
            if acc is None:
                continue
            if first in slices:
                self.accumulators.merge(slices[first], acc)
            else:
                slices[first] = acc


def _merge(accumulators: Accumulators, parts: list[list[Any]]) -> list[Any] | None:
    if len(parts) < 2:
        return parts[0] if parts else None
    whole = accumulators.create()
    for part in parts:
        accumulators.merge(whole, part)
    return whole
