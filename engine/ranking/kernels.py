"""The kernels of the Top N strategies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from engine.columnar.expiring import expiring_columns
from engine.contract.columnar_kernel import Columnar, ColumnarKernel, Layout
from engine.ranking.best import BestTopN
from engine.ranking.ranks import Ranks
from engine.ranking.row_number import RowNumberTopN
from engine.ranking.sort_keys import SortColumn
from engine.ranking.tied import TiedTopN

RowKey = Sequence[int] | None
"""The indexes of the columns by which UpdateFast identifies a row."""


def topn_columns(
    ranks: Ranks, order: Sequence[SortColumn], insert_only: bool, row_key: RowKey, ttl_ms: int = 0
) -> Columnar:
    """The kernel of a strategy. The row of a Top 1 that only ever gets better is the state of its partition."""
    is_top_1 = ranks.is_top_1 and (insert_only or row_key is not None)
    make: Callable[[Layout], ColumnarKernel]
    if is_top_1:
        make = partial(RowNumberTopN, ranks, order, insert_only=True)
    elif row_key is not None or (insert_only and ttl_ms):
        make = partial(BestTopN, ranks, order, row_key=row_key, ttl_ms=ttl_ms)
    else:
        make = partial(RowNumberTopN, ranks, order, insert_only=insert_only, ttl_ms=ttl_ms)
    if insert_only:
        rows = "the best rows of an insert-only input"
    elif row_key is None:
        rows = "all rows of many partitions at once"
    else:
        rows = "the best rows of an input whose rows get better"
    columnar = Columnar(make, f"columnar: {rows}, compiled if there are many records")
    return expiring_columns(columnar, ttl_ms) if is_top_1 else columnar


def tied_columns(
    ranks: Ranks, order: Sequence[SortColumn], *, dense: bool, insert_only: bool, ttl_ms: int = 0
) -> Columnar:
    """The columnar kernel of RANK and DENSE_RANK. The rows of a partition expire together."""
    make = partial(TiedTopN, ranks, order, dense=dense, insert_only=insert_only)
    why = "columnar: rows that share a rank, compiled if there are many records"
    return expiring_columns(Columnar(make, why), ttl_ms)
