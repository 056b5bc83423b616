"""Records in order of position."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from engine.columnar.codes import order_of
from engine.columnar.paths import digits_of
from engine.contract.columnar_kernel import Longs
from engine.contract.frames import SEQ, STEP

_BITS: Final = 62


def by_position(records: pa.RecordBatch) -> Longs | None:
    """The indexes of the records in order of position; None if they are in this order already."""
    seqs = records.column(SEQ).to_numpy()
    if not len(seqs):
        return None
    first = int(seqs.min())
    words, bits = [seqs - first], (int(seqs.max()) - first).bit_length()
    for digits, more in digits_of(records.column(STEP)) if STEP in records.schema.names else ():
        if bits + more > _BITS:
            words, bits = [*words, digits], more
        else:
            words[-1], bits = words[-1] << more | digits, bits + more
    if len(words) == 1:
        return None if bool((words[0][1:] >= words[0][:-1]).all()) else order_of(words[0], bits)
    order: Longs = np.lexsort(words[::-1])
    return None if bool((order[1:] > order[:-1]).all()) else order
