"""The times at which records arrived, as a column of their source has them."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from engine.contract.columnar_kernel import Longs
from engine.contract.scan import milliseconds
from engine.model.schema import Column
from engine.runtime.arrivals.watermark_rule import NO_TIME

# A time together with the longest TTL is still a BIGINT.
_LATEST_MS: Final = 1 << 60


def times_of_arrival(values: pa.Array | pa.ChunkedArray, column: Column) -> Longs:
    """The times in epoch ms; NO_TIME for NULL, and for a number that no clock shows: the clock stays as it was."""
    whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    times = milliseconds(whole, column)
    longs: Longs = (times.fill_null(NO_TIME) if times.null_count else times).to_numpy(zero_copy_only=False)
    return np.where((longs > -_LATEST_MS) & (longs < _LATEST_MS), longs, NO_TIME)
