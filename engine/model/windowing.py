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

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from engine.model.durations import duration, interval

# No sensible query needs more; a record is kept once in each of its windows.
MOST_WINDOWS: Final = 100_000

Window = tuple[int, int]


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
