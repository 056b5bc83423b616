"""The kernels of the Top N strategies."""

from __future__ import annotations

from collections.abc import Sequence

from engine.ranking.append_only import AppendOnlyTopN
from engine.ranking.ranks import Ranks, TopNKernel
from engine.ranking.retractable import RetractableTopN
from engine.ranking.sort_keys import SortColumn
from engine.ranking.tied import TiedTopN
from engine.ranking.top_1 import FastTop1
from engine.ranking.updatable import UpdatableTopN


def topn_kernel(
    ranks: Ranks, order: Sequence[SortColumn], insert_only: bool, row_key: Sequence[int] | None
) -> TopNKernel:
    """The kernel of a strategy. row_key: the indexes of the columns by which UpdateFast identifies a row."""
    if insert_only:
        return FastTop1(ranks, order) if ranks.is_top_1 else AppendOnlyTopN(ranks, order)
    if row_key is not None:
        return FastTop1(ranks, order) if ranks.is_top_1 else UpdatableTopN(ranks, order, row_key)
    return RetractableTopN(ranks, order)


def tied_kernel(ranks: Ranks, order: Sequence[SortColumn], *, dense: bool, insert_only: bool) -> TopNKernel:
    """The kernel of RANK and DENSE_RANK."""
    return TiedTopN(ranks, order, dense=dense, insert_only=insert_only)
