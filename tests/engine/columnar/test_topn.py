"""Columnar Top N equals AppendFast and the fast Top 1, for any order and any cut of the input."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.contract.columnar_kernel import Layout
from engine.ranking import columnar_best_rows as best_rows
from engine.ranking.columnar import TopNColumns
from engine.ranking.kernels import topn_kernel
from engine.ranking.ranks import Ranks
from engine.ranking.sort_keys import Nulls, SortColumn
from tests.engine.columnar.equality import Given, Rules, check_equal, inputs

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


def rules(ranks: Ranks, order: list[SortColumn]) -> Rules:
    return Rules(
        lambda: topn_kernel(ranks, order, True, None),
        lambda layout: TopNColumns(ranks, order, layout),
        Layout((pa.string(),), (TYPES,), (*TYPES, *([pa.int64()] if ranks.with_rank else []))),
    )


@pytest.fixture(params=[0, best_rows._FEW_GROUPS], ids=["in rounds", "row by row"])
def _few_groups(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Both ways to process rows, and blocks of only a few rows."""
    monkeypatch.setattr(best_rows, "_FEW_GROUPS", request.param)
    monkeypatch.setattr(best_rows, "_FIRST_BLOCK", 2)
    return


@pytest.mark.usefixtures("_few_groups")
def test_the_best_rows_in_any_order() -> None:
    @given(inputs(keys=KEYS, rows=ROWS), RANKS, ORDERS)
    def check(given_: Given, ranks: Ranks, order: list[SortColumn]) -> None:
        check_equal(rules(ranks, order), given_)

    check()


@pytest.mark.usefixtures("_few_groups")
def test_many_rows_of_few_keys() -> None:
    """Many rows per key: most rows are discarded early."""
    values = st.tuples(st.integers(-40, 40), *(strategy for _, strategy in VALUES[1:]))
    keys = st.tuples(st.sampled_from(["a", "b"]))

    @given(inputs(keys=keys, rows=values, max_size=120), RANKS, st.booleans())
    def check(given_: Given, ranks: Ranks, descending: bool) -> None:
        check_equal(rules(ranks, [SortColumn(0, descending)]), given_)

    check()


@given(inputs(keys=st.just(()), rows=ROWS), RANKS, ORDERS)
def test_one_ranking_of_all_rows(given_: Given, ranks: Ranks, order: list[SortColumn]) -> None:
    with_key = rules(ranks, order)
    check_equal(replace(with_key, layout=replace(with_key.layout, keys=())), given_)


def test_groups_are_taken_in_parts_where_all_would_need_too_much_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.ranking.columnar._ROOM", 4)

    @given(inputs(keys=KEYS, rows=ROWS))
    def check(given_: Given) -> None:
        check_equal(rules(Ranks(1, 3, None, True), [SortColumn(0)]), given_)

    check()


@given(inputs(keys=KEYS, rows=ROWS), ORDERS)
def test_what_is_kept_does_not_depend_on_the_order_of_its_rows(given_: Given, order: list[SortColumn]) -> None:
    """A group's state rows may be read in any order."""

    class Reversed(TopNColumns):
        def advance(self, chunk: Any, timeline: object) -> Any:
            backwards = pa.array(range(chunk.state.num_rows - 1, -1, -1), pa.int64())
            state = chunk.state.take(backwards).sort_by([("__group", "ascending")])
            return super().advance(replace(chunk, state=state), timeline)

    ranks = Ranks(1, 3)
    check_equal(replace(rules(ranks, order), columnar=lambda layout: Reversed(ranks, order, layout)), given_)
