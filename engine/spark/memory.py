"""The memory limits of Spark on this machine: of its JVM, and of each Python worker."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import Final

HEAP_ENVIRONMENT: Final = "CHANGELOG_STUDIO_MEMORY"
_CGROUP: Final = Path("/sys/fs/cgroup/memory.max")
_LEAST_MB: Final = 4096
_SHIFTS: Final = {"k": 10, "": 20, "m": 20, "g": 30, "t": 40}


def heap() -> str:
    """The JVM's heap, in Spark's notation."""
    return os.environ.get(HEAP_ENVIRONMENT, "4g")


def heap_bytes() -> int:
    """The same in bytes. Spark takes a number without a unit as MiB."""
    match = re.fullmatch(r"([0-9]+)([kmgt]?)b?", heap().strip().lower())
    return int(match[1]) << _SHIFTS[match[2]] if match is not None else 0


def worker_mb() -> int:
    """The address space of one worker in MB: three quarters of the machine's memory.

    Above it a worker gets a MemoryError, which becomes a sentence; without a limit, the system would kill arbitrary
    processes. It is not below a worker's minimum: libraries reserve far more than they use.
    """
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    # The control group may not exist, or have no limit.
    with contextlib.suppress(OSError, ValueError):
        total = min(total, int(_CGROUP.read_text(encoding="ascii")))
    return max(_LEAST_MB, total * 3 // 4 >> 20)
