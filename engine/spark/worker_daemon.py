"""The process from which Spark forks Python workers on the studio's own servers; it imports their packages once.

Spark ends a worker after a minute without work, and the next run forks new ones. Each would import these packages
again, which takes 0.6 CPU seconds, and another 0.6 for its first compiled rule.

A worker collects garbage after each task. It leaves alone what is frozen here: to look at the 150,000 objects of these
packages took 85 ms of CPU per task.

Workers make and drop arrays of some MB all the time. By default both allocators give their memory back to the system,
which then zeroes every page again: a fifth of the CPU time of a word frequency's tasks, and their peak was no smaller.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
from typing import Final

# Set before numpy is imported: no thread may be running when this process forks.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
# Set before pyarrow is imported: its arrays and those of NumPy use the same memory.
os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"

import pandas  # noqa: F401
import pyarrow.compute
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet  # noqa: F401
from pyspark.daemon import manager

# Of glibc: the free memory that a process may keep, and the largest array that is taken from it.
_TRIM_THRESHOLD: Final = (-1, 256 << 20)
_MMAP_THRESHOLD: Final = (-3, 32 << 20)
with contextlib.suppress(AttributeError, OSError):
    for option in (_TRIM_THRESHOLD, _MMAP_THRESHOLD):
        ctypes.CDLL(None).mallopt(*option)

# Rules are interpreted where there is no compiler.
with contextlib.suppress(ImportError, OSError):
    from numba.core.registry import cpu_target

    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()

if __name__ == "__main__":
    gc.collect()
    gc.freeze()
    manager()
