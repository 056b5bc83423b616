"""How much memory Spark may take on this machine: its JVM, and each of its Python workers."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

HEAP_ENVIRONMENT: Final = "CHANGELOG_STUDIO_MEMORY"
_CGROUP: Final = Path("/sys/fs/cgroup/memory.max")
_LEAST_MB: Final = 4096


def heap() -> str:
    """The JVM's heap, as Spark writes it."""
    return os.environ.get(HEAP_ENVIRONMENT, "4g")


def worker_mb() -> int:
    """The address space of one worker in MB: three quarters of the machine's memory.

    Above it a worker gets a MemoryError, which is a sentence; without a limit the machine would end processes of its
    own choice. Not less than a worker needs at all: libraries reserve far more than they use.
    """
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    # There may be no such group, or one without a limit.
    with contextlib.suppress(OSError, ValueError):
        total = min(total, int(_CGROUP.read_text(encoding="ascii")))
    return max(_LEAST_MB, total * 3 // 4 >> 20)
