"""The windows that a timestamp falls into, one timestamp at a time: what the columns of windows are compared with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.model.windowing import Window, Windowing, WindowKind

Assign = Callable[[int], Sequence[Window]]


def assigner(windowing: Windowing) -> Assign:
    """The function from a timestamp to its windows, sorted by end. Sessions have none."""
    match windowing.kind:
        case WindowKind.TUMBLE:
            return tumbling(windowing.size_ms, windowing.offset_ms)
        case WindowKind.HOP:
            return hopping(windowing.size_ms, windowing.slide_ms, windowing.offset_ms)
        case _:
            assert windowing.kind is WindowKind.CUMULATE, "a session's window depends on the other records of its key"
            return cumulating(windowing.size_ms, windowing.slide_ms, windowing.offset_ms)


def tumbling(size_ms: int, offset_ms: int = 0) -> Assign:
    """Every timestamp falls into one window."""

    def assign(time_ms: int) -> Sequence[Window]:
        start = time_ms - (time_ms - offset_ms) % size_ms
        return ((start, start + size_ms),)

    return assign


def hopping(size_ms: int, slide_ms: int, offset_ms: int = 0) -> Assign:
    """Every timestamp falls into about size / slide windows; the one that ends first comes first."""

    def assign(time_ms: int) -> Sequence[Window]:
        inside = (time_ms - offset_ms) % slide_ms
        last = time_ms - inside
        first = last - (size_ms - 1 - inside) // slide_ms * slide_ms
        return [(start, start + size_ms) for start in range(first, last + 1, slide_ms)]

    return assign


def cumulating(size_ms: int, step_ms: int, offset_ms: int = 0) -> Assign:
    """Every timestamp falls into the window of its step and all longer ones with the same start."""

    def assign(time_ms: int) -> Sequence[Window]:
        start = time_ms - (time_ms - offset_ms) % size_ms
        first = time_ms - (time_ms - start) % step_ms + step_ms
        return [(start, end) for end in range(first, start + size_ms + 1, step_ms)]

    return assign
