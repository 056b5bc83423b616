"""Writes small files of which each record is large."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def large_values(path: Path) -> None:
    """A small file of which each record is large: a dictionary of one text."""
    column = pa.DictionaryArray.from_arrays(np.zeros(100_000, np.int32), pa.array(["x" * 1_000_000]))
    pq.write_table(pa.table({"s": column.cast(pa.dictionary(pa.int32(), pa.string()))}), path, compression="zstd")
