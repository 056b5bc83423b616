"""The process from which Spark forks Python workers on the studio's own servers; it imports their packages once.

Spark ends a worker after a minute without work, and the next run forks new ones. Each would import these packages
again, which takes 0.6 CPU seconds, and another 0.6 for its first compiled rule.

A worker collects garbage after each task. It leaves alone what is frozen here: to look at the 150,000 objects of these
packages took 85 ms of CPU per task.
"""

from __future__ import annotations

import contextlib
import gc
import os

# Set before numpy is imported: no thread may be running when this process forks.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import pandas  # noqa: F401
import pyarrow.compute
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet  # noqa: F401
from pyspark.daemon import manager

# Rules are interpreted where there is no compiler.
with contextlib.suppress(ImportError, OSError):
    from numba.core.registry import cpu_target

    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()

if __name__ == "__main__":
    gc.collect()
    gc.freeze()
    manager()
