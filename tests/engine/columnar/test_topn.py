"""Top N of an insert-only input equals the plain kernels without a TTL, for any order and any cut of the input."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from engine.contract.columnar_kernel import Layout
from engine.ranking.best import BestTopN
from engine.ranking.kernels import topn_columns
from engine.ranking.ranks import Ranks
from engine.ranking.sort_keys import Nulls, SortColumn
from tests.engine.columnar.equality import Given, Rules, check_cuts, check_equal, inputs
from tests.engine.columnar.topn_by_record import topn_kernel

LARGE = (1 << 63) - 1
VALUES: tuple[tuple[pa.DataType, st.SearchStrategy[Any]], ...] = (
    (pa.int64(), st.one_of(st.integers(-3, 3), st.none())),
    (pa.int64(), st.one_of(st.integers(-2, 2), st.none(), st.sampled_from([LARGE, -LARGE - 1, LARGE - 1, 2 - LARGE]))),
    (pa.date32(), st.one_of(st.dates(date(1969, 12, 30), date(1970, 1, 2)), st.none())),
    (pa.float64(), st.one_of(st.sampled_from([0.0, -0.0, 1.5, float("nan"), float("inf"), -float("inf")]), st.none())),
    (pa.string(), st.sampled_from(["a", "b", "ö", "", None])),
    (pa.decimal128(8, 2), st.sampled_from([Decimal("1.50"), Decimal("-2.00"), None])),
    (pa.bool_(), st.sampled_from([True, False, None])),
    (pa.int32(), st.integers(0, 1)),
)
TYPES = tuple(type_ for type_, _ in VALUES)
ROWS = st.tuples(*(strategy for _, strategy in VALUES))
KEYS = st.tuples(st.sampled_from(["a", "b", "c", None]))
PARTS = st.builds(
    lambda place, descending, nulls: SortColumn(place, descending, nulls, is_float=TYPES[place] == pa.float64()),
    st.integers(0, len(VALUES) - 1),
    st.booleans(),
    st.sampled_from(Nulls),
)
ORDERS = st.lists(PARTS, max_size=3)
RANKS = st.builds(
    lambda start, more, with_rank, update_before: Ranks(start, start + more, None, with_rank, update_before),
    st.integers(1, 3),
    st.integers(0, 3),
    st.booleans(),
    st.booleans(),
)


MORE_THAN_1 = RANKS.filter(lambda ranks: not ranks.is_top_1)


def rules(ranks: Ranks, order: list[SortColumn]) -> Rules:
    return Rules(
        lambda: topn_kernel(ranks, order, True, None),
        lambda layout: BestTopN(ranks, order, layout),
        Layout((pa.string(),), (TYPES,), (*TYPES, *([pa.int64()] if ranks.with_rank else []))),
    )


@given(inputs(keys=KEYS, rows=ROWS), MORE_THAN_1, ORDERS)
def test_the_best_rows_in_any_order(given_: Given, ranks: Ranks, order: list[SortColumn]) -> None:
    check_equal(rules(ranks, order), given_)


@given(
    inputs(
        keys=st.tuples(st.sampled_from(["a", "b"])),
        rows=st.tuples(st.integers(-40, 40), *(strategy for _, strategy in VALUES[1:])),
        max_size=120,
    ),
    MORE_THAN_1,
    st.booleans(),
)
def test_many_rows_of_few_keys(given_: Given, ranks: Ranks, descending: bool) -> None:
    check_equal(rules(ranks, [SortColumn(0, descending)]), given_)


@given(inputs(keys=KEYS, rows=ROWS), st.booleans(), st.booleans())
def test_each_partition_with_a_last_rank_of_its_own(given_: Given, with_rank: bool, update_before: bool) -> None:
    check_equal(rules(Ranks(1, None, 0, with_rank, update_before), [SortColumn(7)]), given_)


@given(inputs(keys=st.just(()), rows=ROWS), MORE_THAN_1, ORDERS)
def test_one_ranking_of_all_rows(given_: Given, ranks: Ranks, order: list[SortColumn]) -> None:
    with_key = rules(ranks, order)
    check_equal(replace(with_key, layout=replace(with_key.layout, keys=())), given_)


@given(inputs(keys=KEYS, rows=ROWS, has_clock=True), RANKS, ORDERS, st.booleans())
def test_only_the_best_rows_are_kept(given_: Given, ranks: Ranks, order: list[SortColumn], expires: bool) -> None:
    kept = rules(ranks, order)
    if expires and ranks.is_top_1:
        made = topn_columns(ranks, order, True, None, 4).make
        assert made is not None
        kept = replace(kept, columnar=made)
    check_cuts(kept, given_)
