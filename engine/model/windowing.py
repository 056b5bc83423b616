"""Event-time windows: the windows [start, end) that a timestamp falls into, and their Flink SQL.

    TUMBLE     size                     |----|----|----|
    HOP        size, slide              |----|
                                          |----|
    CUMULATE   size, step               |-|
                                        |---|
                                        |-----|
    SESSION    gap                      [first, last + gap); events exactly one gap apart merge

Time: epoch ms. Windows start at offset_ms plus every multiple of the size (HOP: of the slide), before 1970 as
well: Python's remainder is never negative.
Source: Flink TimeWindow.getWindowStartWithOffset, SliceAssigners.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from engine.model.durations import duration, interval

# No sensible query needs more; a record is kept once in each of its windows.
MOST_WINDOWS: Final = 100_000

Window = tuple[int, int]
Assign = Callable[[int], Sequence[Window]]


class WindowKind(Enum):
    """The window functions of Flink SQL."""

    TUMBLE = "tumble"
    HOP = "hop"
    CUMULATE = "cumulate"
    SESSION = "session"


@dataclass(frozen=True)
class Windowing:
    """The division of time into windows.

    size_ms: the length; for CUMULATE the maximum, for SESSION the gap. slide_ms: HOP's slide, or CUMULATE's step, of
    which the size is a multiple. Raises ValueError with a sentence.
    """

    kind: WindowKind
    size_ms: int
    slide_ms: int = 0
    offset_ms: int = 0

    def __post_init__(self) -> None:
        if self.size_ms <= 0:
            message = f"a window needs a length above 0 ms, but got {self.size_ms}."
            raise ValueError(message)
        if self.kind is WindowKind.TUMBLE and abs(self.offset_ms) >= self.size_ms:
            # Flink rejects this for tumbling windows only; an offset below the size gives the same windows.
            message = (
                f"tumble needs an offset shorter than its size, but got {self.offset_ms} ms and {self.size_ms} ms. "
                f"Use {self.offset_ms % self.size_ms} ms, which gives the same windows."
            )
            raise ValueError(message)
        if self.kind in (WindowKind.HOP, WindowKind.CUMULATE):
            name = "slide" if self.kind is WindowKind.HOP else "step"
            if self.slide_ms <= 0:
                message = f"{self.kind.value} needs a {name} above 0 ms, but got {self.slide_ms}."
                raise ValueError(message)
            if self.kind is WindowKind.CUMULATE and self.size_ms % self.slide_ms:
                message = (
                    f"{self.kind.value} needs a size that is a multiple of its {name}, "
                    f"but got {self.size_ms} ms and {self.slide_ms} ms."
                )
                raise ValueError(message)
            if (windows := self.size_ms // self.slide_ms) > MOST_WINDOWS:
                message = (
                    f"{self.kind.value} puts every record into up to {windows:,} windows, but {MOST_WINDOWS:,} are the "
                    f"most. Use a larger {name}, or a smaller size."
                )
                raise ValueError(message)

    @property
    def is_even(self) -> bool:
        """Whether the slide divides the size, so that every timestamp falls into the same number of windows."""
        return self.kind is not WindowKind.HOP or self.size_ms % self.slide_ms == 0

    def assigner(self) -> Assign:
        """The function from a timestamp to its windows, sorted by end. Raises ValueError for SESSION."""
        match self.kind:
            case WindowKind.TUMBLE:
                return tumbling(self.size_ms, self.offset_ms)
            case WindowKind.HOP:
                return hopping(self.size_ms, self.slide_ms, self.offset_ms)
            case WindowKind.CUMULATE:
                return cumulating(self.size_ms, self.slide_ms, self.offset_ms)
            case WindowKind.SESSION:
                message = "a session's window depends on the other records of its key."
                raise ValueError(message)

    def described(self) -> str:
        """The windowing in words, as the plan shows it."""
        size, slide = duration(self.size_ms), duration(self.slide_ms)
        offset = f", offset by {duration(self.offset_ms)}" if self.offset_ms else ""
        match self.kind:
            case WindowKind.TUMBLE:
                return f"tumbling windows of {size}{offset}"
            case WindowKind.HOP:
                return f"windows of {size} every {slide}{offset}"
            case WindowKind.CUMULATE:
                return f"windows that grow by {slide} up to {size}{offset}"
            case WindowKind.SESSION:
                return f"sessions that end after a gap of {size}"

    def table_function(self, table: str, time: str, partition_by: Sequence[str] = ()) -> str:
        """The window table function of Flink SQL. table, time, partition_by: SQL identifiers; table may be a query."""
        arguments = [table if table.startswith("(") else f"TABLE {table}", f"DESCRIPTOR({time})"]
        match self.kind:
            case WindowKind.TUMBLE:
                arguments.append(interval(self.size_ms))
            case WindowKind.HOP | WindowKind.CUMULATE:
                arguments += [interval(self.slide_ms), interval(self.size_ms)]
            case WindowKind.SESSION:
                if partition_by:
                    arguments[0] += f" PARTITION BY ({', '.join(partition_by)})"
                arguments.append(interval(self.size_ms))
        if self.offset_ms and self.kind is not WindowKind.SESSION:
            arguments.append(interval(self.offset_ms))
        return f"TABLE({self.kind.name}({', '.join(arguments)}))"


def window_start(time_ms: int, size_ms: int, offset_ms: int = 0) -> int:
    """The start of the tumbling window around a timestamp."""
    return time_ms - (time_ms - offset_ms) % size_ms


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
