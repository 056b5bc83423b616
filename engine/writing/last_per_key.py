"""The last change of each key: what an epoch does to a table by key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.contract.frames import KIND
from engine.model.changelog import RowKind

# A -U that reaches a sink by key may come without a +U: it deletes.
DELETING: Final = pa.array([RowKind.UPDATE_BEFORE, RowKind.DELETE], pa.int8())


def last_per_key(records: pa.Table, key: Sequence[str]) -> pa.Table:
    """The last record of each key, in the order of the records. An empty key: of all, which are one row."""
    if not key:
        return records.slice(max(len(records) - 1, 0))
    places = pa.array(np.arange(len(records)))
    keyed = pa.table([*(records.column(name) for name in key), places], names=[*map(str, range(len(key))), "at"])
    last = keyed.group_by([str(at) for at in range(len(key))]).aggregate([("at", "max")]).column("at_max")
    return records if len(last) == len(records) else records.take(np.sort(last.to_numpy()))


def is_deleting(records: pa.Table) -> pa.ChunkedArray:
    """By record, whether it deletes its key."""
    return pc.is_in(records.column(KIND), DELETING)
