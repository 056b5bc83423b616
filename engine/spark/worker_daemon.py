"""The process from which Spark forks Python workers on the studio's own servers; it imports their packages once.

Spark ends a worker after a minute without work, and the next run forks new ones. Each would import these packages
again, which takes 0.6 CPU seconds.
"""

from __future__ import annotations

import os

# Set before numpy is imported: no thread may be running when this process forks.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import pandas  # noqa: F401
import pyarrow.compute
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet  # noqa: F401
from pyspark.daemon import manager

if __name__ == "__main__":
    manager()
