"""The kernels of the Top N strategies: columnar ones, and plain ones where rows expire one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from engine.columnar.expiring import expiring_columns
from engine.contract.columnar_kernel import Columnar, ColumnarKernel, Layout
from engine.contract.kernel import Kernel
from engine.ranking.aging import AgingTopN
from engine.ranking.append_only import AppendOnlyTopN
from engine.ranking.ranks import Ranks
from engine.ranking.replaced import ReplacedTopN
from engine.ranking.row_number import RowNumberTopN
from engine.ranking.sort_keys import SortColumn
from engine.ranking.tied import TiedTopN
from engine.ranking.updatable import UpdatableTopN

RowKey = Sequence[int] | None
"""The indexes of the columns by which UpdateFast identifies a row."""


def keeps_plain(ranks: Ranks, insert_only: bool, row_key: RowKey, ttl_ms: int) -> bool:
    """Whether a strategy has a plain kernel: its state expires, and not as a whole."""
    return bool(ttl_ms) and not (ranks.is_top_1 and (insert_only or row_key is not None))


def topn_kernel(
    ranks: Ranks, order: Sequence[SortColumn], insert_only: bool, row_key: RowKey, ttl_ms: int = 0
) -> Kernel:
    """The plain kernel of a strategy."""
    if insert_only:
        return AppendOnlyTopN(ranks, order, ttl_ms)
    if row_key is not None:
        return UpdatableTopN(ranks, order, row_key, ttl_ms)
    return AgingTopN(ranks, order, ttl_ms)


def topn_columns(
    ranks: Ranks, order: Sequence[SortColumn], insert_only: bool, row_key: RowKey, ttl_ms: int = 0
) -> Columnar:
    """The columnar kernel of a strategy."""
    make: Callable[[Layout], ColumnarKernel]
    if row_key is None or ranks.is_top_1:
        make = partial(RowNumberTopN, ranks, order, insert_only=insert_only or row_key is not None)
    else:
        make = partial(ReplacedTopN, ranks, order, row_key=row_key)
    if insert_only:
        rows = "the best rows of an insert-only input"
    elif row_key is None:
        rows = "all rows of many partitions at once"
    else:
        rows = "the best rows of an input whose rows get better"
    return expiring_columns(Columnar(make, f"columnar: {rows}, compiled if there are many records"), ttl_ms)


def tied_columns(
    ranks: Ranks, order: Sequence[SortColumn], *, dense: bool, insert_only: bool, ttl_ms: int = 0
) -> Columnar:
    """The columnar kernel of RANK and DENSE_RANK. The rows of a partition expire together."""
    make = partial(TiedTopN, ranks, order, dense=dense, insert_only=insert_only)
    why = "columnar: rows that share a rank, compiled if there are many records"
    return expiring_columns(Columnar(make, why), ttl_ms)
