"""The kernels of the Top N strategies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from engine.columnar.expiring import expiring_columns
from engine.contract.columnar_kernel import Columnar, ColumnarKernel, Layout
from engine.ranking.aging import AgingAll, AgingBest
from engine.ranking.best import BestTopN, RowKey
from engine.ranking.ranks import Ranks
from engine.ranking.row_number import RowNumberTopN
from engine.ranking.sort_keys import SortColumn
from engine.ranking.tied import TiedTopN


def ages_by_entry(ranks: Ranks, insert_only: bool, row_key: RowKey, ttl_ms: int) -> bool:
    """Whether the entries of a state expire one by one. The row of a Top 1 that only gets better is all that it has."""
    return ttl_ms > 0 and not (ranks.is_top_1 and (insert_only or row_key is not None))


def topn_columns(
    ranks: Ranks, order: Sequence[SortColumn], insert_only: bool, row_key: RowKey, ttl_ms: int = 0
) -> Columnar:
    """The columnar kernel of a strategy."""
    make: Callable[[Layout], ColumnarKernel]
    by_entry = ages_by_entry(ranks, insert_only, row_key, ttl_ms)
    if not insert_only and row_key is None:
        make = partial(AgingAll, ranks, order, ttl_ms=ttl_ms) if by_entry else partial(RowNumberTopN, ranks, order)
    else:
        # To a Top 1 every record is a new row.
        by_key = None if insert_only or ranks.is_top_1 else row_key
        best = partial(AgingBest, ttl_ms=ttl_ms) if by_entry else BestTopN
        make = partial(best, ranks, order, row_key=by_key)
    if insert_only:
        rows = "the best rows of an insert-only input"
    elif row_key is None:
        rows = "all rows of many partitions at once"
    else:
        rows = "the best rows of an input whose rows get better"
    chosen = Columnar(make, f"columnar: {rows}, compiled if there are many records")
    return chosen if by_entry else expiring_columns(chosen, ttl_ms)


def tied_columns(
    ranks: Ranks, order: Sequence[SortColumn], *, dense: bool, insert_only: bool, ttl_ms: int = 0
) -> Columnar:
    """The columnar kernel of RANK and DENSE_RANK. The rows of a partition expire together."""
    make = partial(TiedTopN, ranks, order, dense=dense, insert_only=insert_only)
    why = "columnar: rows that share a rank, compiled if there are many records"
    return expiring_columns(Columnar(make, why), ttl_ms)
