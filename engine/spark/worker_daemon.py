"""The process that Spark forks Python workers from, on our own servers: what every worker needs is imported here, once.

Spark ends a worker that had nothing to do for a minute, and the next run forks new ones. Each would import these
packages again: 0.6 CPU seconds.
"""

from __future__ import annotations

import os

# Set before numpy is imported: no thread may be running where this process forks.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import pandas  # noqa: F401
import pyarrow.compute
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet  # noqa: F401
from pyspark.daemon import manager

if __name__ == "__main__":
    manager()
