"""The kernels of the Top N strategies."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from engine.contract.expiry import expiring
from engine.contract.kernel import Kernel
from engine.ranking.aging import AgingTopN
from engine.ranking.append_only import AppendOnlyTopN
from engine.ranking.ranks import Ranks
from engine.ranking.sort_keys import SortColumn
from engine.ranking.tied import TiedTopN
from engine.ranking.top_1 import FastTop1
from engine.ranking.updatable import UpdatableTopN


def topn_kernel(
    ranks: Ranks, order: Sequence[SortColumn], insert_only: bool, row_key: Sequence[int] | None, ttl_ms: int = 0
) -> Kernel:
    """The plain kernel of a strategy; AppendFast and Retract have one with a TTL only.

    row_key: the indexes of the columns by which UpdateFast identifies a row.
    """
    if ranks.is_top_1 and (insert_only or row_key is not None):
        return expiring(partial(FastTop1, ranks, order), ttl_ms)()
    if insert_only:
        return AppendOnlyTopN(ranks, order, ttl_ms)
    if row_key is not None:
        return UpdatableTopN(ranks, order, row_key, ttl_ms)
    return AgingTopN(ranks, order, ttl_ms)


def tied_kernel(
    ranks: Ranks, order: Sequence[SortColumn], *, dense: bool, insert_only: bool, ttl_ms: int = 0
) -> Kernel:
    """The kernel of RANK and DENSE_RANK. The rows of a partition expire together."""
    return expiring(partial(TiedTopN, ranks, order, dense=dense, insert_only=insert_only), ttl_ms)()
