"""The memory that DuckDB takes: little, and more only for work that does not fit."""

from __future__ import annotations

import os
from typing import Final

MEMORY_MIB: Final = 448
"""What DuckDB takes of the memory at most: it would fill more with blocks of the file that may never be read again.

A load of 27 million records takes 10 % more CPU time than with 6 GB, and the app stays below 1 GB.
"""
MORE_MIB: Final = 640
"""What it gets next, as for several large queries at a time: the app still stays below 1 GB."""
_STEP: Final = 1.6


class Room:
    """The memory with which a kind of work begins: what was enough the last time, or a step less if that is much."""

    def __init__(self) -> None:
        self.mib = MEMORY_MIB

    def widen(self) -> bool:
        """Take the next larger one: DuckDB fills what it gets before it spills. False if there is none."""
        larger = MORE_MIB if self.mib < MORE_MIB else min(int(self.mib * _STEP), most_memory_mib())
        is_wider, self.mib = larger > self.mib, max(larger, self.mib)
        return is_wider

    def narrow(self) -> None:
        """Take a step less if it is much: it may have been needed only once."""
        if self.mib > MORE_MIB:
            self.mib = max(int(self.mib / _STEP), MORE_MIB)


def most_memory_mib() -> int:
    """A quarter of the machine's memory, at least 1 GiB: Spark needs the rest. Larger sorts spill to disk."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        total = 8 << 30
    return max(1024, (total >> 20) // 4)
