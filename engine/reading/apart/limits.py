"""What reading a foreign file may take of the machine's memory, in a process of its own or in a worker of Spark."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

MEMORY_BYTES: Final = 3 << 30
"""What a file may take beyond what the process has already; less on a small machine."""
_PAGES: Final = Path("/proc/self/statm")
# Which of its numbers are the pages of data.
_DATA: Final = 5


def memory_bytes() -> int:
    """What one file may take on this machine: never more than half of it."""
    return min(MEMORY_BYTES, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)


def limit_memory() -> None:
    """Limit the memory of this process, for good: beyond it allocations fail, and libraries abort."""
    kind, limit = _limit()
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(kind, (limit, limit))


@contextmanager
def limited_memory() -> Iterator[None]:
    """The same inside this block, in a process that goes on with other work."""
    kind, limit = _limit()
    soft, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    if soft != resource.RLIM_INFINITY:
        limit = min(limit, soft)
    try:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (limit, hard))
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (soft, hard))


def _limit() -> tuple[int, int]:
    """The kind of limit, and its value.

    On Linux, data: what libraries only reserve does not count. Elsewhere the address space, which systems may ignore.
    """
    try:
        held = int(_PAGES.read_text(encoding="ascii").split()[_DATA]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return resource.RLIMIT_AS, memory_bytes()
    return resource.RLIMIT_DATA, held + memory_bytes()
