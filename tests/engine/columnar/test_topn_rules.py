"""The rules of Top N with ties and of replaced rows: the same for any cut of the input, and compiled as interpreted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.columnar.rules import rule_of
from engine.contract.columnar_kernel import Layout
from engine.contract.kernel import Input
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER
from engine.ranking.aging_ranks import aging_ranks
from engine.ranking.best import BestTopN
from engine.ranking.best_ranks import best_ranks
from engine.ranking.kernels import tied_columns, topn_columns
from engine.ranking.ranks import Ranks
from engine.ranking.sort_keys import SortColumn
from engine.ranking.tied_ranks import tied_ranks
from tests.engine.columnar.equality import ALL_KINDS, Given, Rules, check_cuts, check_equal, inputs, run_both_ways
from tests.engine.columnar.test_row_number import FEW, FEW_TYPES, OWN_ENDS
from tests.engine.columnar.test_topn import KEYS, MORE_THAN_1, ORDERS, RANKS, ROWS, TYPES
from tests.engine.columnar.topn_by_record import topn_kernel

BOOLS = st.booleans()
ANY_RANKS = st.one_of(RANKS, OWN_ENDS)
# A Top 1 of rows that only get better expires as a whole.
EXPIRING = st.one_of(MORE_THAN_1, OWN_ENDS)
BY_FIRST = [SortColumn(0)]
# The row key stands beside the value by which the row is ranked, which may get worse.
KEYED = st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", "c", "d", None]), st.sampled_from([0.0, -0.0, None]))
KEYED_TYPES = (pa.int64(), pa.string(), pa.float64())
REPLACING = (INSERT, UPDATE_AFTER, DELETE)


def layout_of(ranks: Ranks, types: tuple[pa.DataType, ...]) -> Layout:
    return Layout((pa.string(),), (types,), (*types, *([pa.int64()] if ranks.with_rank else [])))


def tied(
    ranks: Ranks,
    order: list[SortColumn],
    types: tuple[pa.DataType, ...],
    *,
    dense: bool,
    append: bool = False,
    ttl_ms: int = 0,
) -> Rules:
    chosen = tied_columns(ranks, order, dense=dense, insert_only=append, ttl_ms=ttl_ms).make
    assert chosen is not None
    return Rules(None, chosen, layout_of(ranks, types))


def replaced(ranks: Ranks) -> Rules:
    # Also a Top 1, for which the planner has another rule.
    make = partial(BestTopN, ranks, BY_FIRST, row_key=[1])
    return Rules(lambda: topn_kernel(ranks, BY_FIRST, False, [1]), make, layout_of(ranks, KEYED_TYPES))


def aging(
    ranks: Ranks, types: tuple[pa.DataType, ...], *, append: bool = False, row_key: list[int] | None = None
) -> Rules:
    make = topn_columns(ranks, BY_FIRST, append, row_key, 4).make
    assert make is not None
    return Rules(lambda: topn_kernel(ranks, BY_FIRST, append, row_key, 4), make, layout_of(ranks, types))


@given(inputs(keys=KEYS, rows=ROWS, kinds=ALL_KINDS), RANKS, ORDERS, BOOLS)
def test_any_cut_of_ties_comes_to_the_same_in_any_order(
    given_: Given, ranks: Ranks, order: list[SortColumn], dense: bool
) -> None:
    check_cuts(tied(ranks, order, TYPES, dense=dense), given_)


@given(inputs(keys=KEYS, rows=FEW, kinds=ALL_KINDS, max_size=60, has_clock=True), ANY_RANKS, BOOLS, BOOLS)
def test_ties_that_expire_come_to_the_same(given_: Given, ranks: Ranks, dense: bool, expires: bool) -> None:
    check_cuts(tied(ranks, BY_FIRST, FEW_TYPES, dense=dense, ttl_ms=4 if expires else 0), given_)


@given(inputs(keys=KEYS, rows=FEW, max_size=60), ANY_RANKS, BOOLS)
def test_ties_of_an_insert_only_input_keep_what_may_be_emitted(given_: Given, ranks: Ranks, dense: bool) -> None:
    cut = check_cuts(tied(ranks, BY_FIRST, FEW_TYPES, dense=dense, append=True), given_)
    kept_all = check_cuts(tied(ranks, BY_FIRST, FEW_TYPES, dense=dense), given_)
    assert list(map(str, cut.emitted)) == list(map(str, kept_all.emitted))


@given(inputs(keys=KEYS, rows=KEYED, kinds=REPLACING, max_size=60), ANY_RANKS)
def test_rows_that_are_replaced_are_as_one_by_one(given_: Given, ranks: Ranks) -> None:
    check_equal(replaced(ranks), given_)


@given(inputs(keys=KEYS, rows=FEW, kinds=ALL_KINDS, max_size=60, has_clock=True), ANY_RANKS)
def test_all_rows_that_expire_are_as_one_by_one(given_: Given, ranks: Ranks) -> None:
    check_equal(aging(ranks, FEW_TYPES), given_)


@given(inputs(keys=KEYS, rows=FEW, max_size=60, has_clock=True), EXPIRING)
def test_rows_of_an_insert_only_input_that_expire_are_as_one_by_one(given_: Given, ranks: Ranks) -> None:
    check_equal(aging(ranks, FEW_TYPES, append=True), given_)


@given(inputs(keys=KEYS, rows=KEYED, kinds=ALL_KINDS, max_size=60, has_clock=True), EXPIRING)
def test_rows_that_are_replaced_and_expire_are_as_one_by_one(given_: Given, ranks: Ranks) -> None:
    check_equal(aging(ranks, KEYED_TYPES, row_key=[1]), given_)


@pytest.mark.parametrize("of", [tied_ranks, best_ranks, aging_ranks])
def test_compiled_is_what_is_interpreted(of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    run_both_ways(of, monkeypatch)

    kinds = REPLACING if of is best_ranks else ALL_KINDS

    @settings(max_examples=60)
    @given(inputs(keys=KEYS, rows=KEYED, kinds=kinds, max_size=60, has_clock=True), EXPIRING, BOOLS)
    def check(given_: Given, ranks: Ranks, choice: bool) -> None:
        if of is tied_ranks:
            check_cuts(tied(ranks, BY_FIRST, KEYED_TYPES, dense=choice), given_)
        elif of is aging_ranks:
            check_equal(aging(ranks, KEYED_TYPES), given_)
        else:
            check_equal(aging(ranks, KEYED_TYPES, row_key=[1]) if choice else replaced(ranks), given_)

    check()


@given(inputs(keys=KEYS, rows=KEYED, kinds=ALL_KINDS, max_size=60, has_clock=True), st.integers(4, 12), BOOLS, BOOLS)
def test_rows_in_many_blocks_are_as_one_by_one(given_: Given, end: int, append: bool, expires: bool) -> None:
    ranks = Ranks(1, end)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.ranking.best_ranks._BLOCK", 2)
        # Compiled code has the size with which it was compiled.
        patch.setattr(rule_of(best_ranks), "compiled", lambda *, is_wanted: None)
        inserts = replace(given_, records=tuple((key, item._replace(kind=INSERT)) for key, item in given_.records))
        if expires:
            check_equal(aging(ranks, KEYED_TYPES, append=append, row_key=None if append else [1]), inserts)
        elif append:
            make = partial(BestTopN, ranks, BY_FIRST)
            plain = partial(topn_kernel, ranks, BY_FIRST, True, None)
            check_equal(Rules(plain, make, layout_of(ranks, KEYED_TYPES)), inserts)
        else:
            check_equal(replaced(ranks), inserts)


@pytest.mark.parametrize("row_key", [None, [1]])
def test_a_long_ranking_is_the_same_compiled(row_key: list[int] | None, monkeypatch: pytest.MonkeyPatch) -> None:
    run_both_ways(best_ranks, monkeypatch)
    random = Random(7)
    rows = [(random.randrange(900), str(random.randrange(2_000)), 0.0) for _ in range(4_000)]
    records = tuple((("a",), Input(seq, INSERT, row)) for seq, row in enumerate(rows, start=1))
    ranks = Ranks(1, 1_500)
    plain = partial(topn_kernel, ranks, BY_FIRST, row_key is None, row_key)
    make = partial(BestTopN, ranks, BY_FIRST, row_key=row_key)
    check_equal(Rules(plain, make, layout_of(ranks, KEYED_TYPES)), Given(records, chunks=(1_700,)))
