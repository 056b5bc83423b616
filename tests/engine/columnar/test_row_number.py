"""Top N comes to the same for any cut of the input, and compiled to what it comes to interpreted."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.contract.columnar_kernel import Layout
from engine.ranking.changed_ranks import changed_ranks
from engine.ranking.ranks import Ranks
from engine.ranking.row_number import RowNumberTopN
from engine.ranking.sort_keys import SortColumn
from tests.engine.columnar.equality import ALL_KINDS, Given, Rules, check_cuts, inputs, run_both_ways
from tests.engine.columnar.test_topn import KEYS, ORDERS, RANKS, ROWS, TYPES

LISTS = pa.list_(pa.float64())
FEW = st.tuples(
    st.sampled_from([None, 0, 1, 2, 3]), st.sampled_from(["a", "b"]), st.sampled_from([[0.0], [-0.0], [float("nan")]])
)
FEW_TYPES = (pa.int64(), pa.string(), LISTS)
OWN_ENDS = st.builds(lambda with_rank, before: Ranks(1, None, 0, with_rank, before), st.booleans(), st.booleans())


def rules(ranks: Ranks, order: list[SortColumn], types: tuple[pa.DataType, ...] = FEW_TYPES) -> Rules:
    layout = Layout((pa.string(),), (types,), (*types, *([pa.int64()] if ranks.with_rank else [])))
    return Rules(None, lambda made: RowNumberTopN(ranks, order, made), layout)


@given(inputs(keys=KEYS, rows=ROWS, kinds=ALL_KINDS), RANKS, ORDERS)
def test_any_cut_comes_to_the_same_in_any_order(given_: Given, ranks: Ranks, order: list[SortColumn]) -> None:
    check_cuts(rules(ranks, order, TYPES), given_)


@given(inputs(keys=KEYS, rows=FEW, kinds=ALL_KINDS, max_size=60), st.one_of(RANKS, OWN_ENDS))
def test_equal_rows_are_removed_in_order_of_arrival(given_: Given, ranks: Ranks) -> None:
    check_cuts(rules(ranks, [SortColumn(0)]), given_)


def test_a_chunk_has_as_many_records_as_its_output_has_room_for() -> None:
    made = [rules(ranks, []) for ranks in (Ranks(1, 3), Ranks(1, 3, None, True), Ranks(1, 1 << 30, None, True))]
    assert [each.columnar(each.layout).most_rows for each in made] == [None, 699_050, 1]  # type: ignore[attr-defined]


def test_compiled_is_what_is_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    run_both_ways(changed_ranks, monkeypatch)

    @settings(max_examples=60)
    @given(inputs(keys=KEYS, rows=FEW, kinds=ALL_KINDS, max_size=60), st.one_of(RANKS, OWN_ENDS))
    def check(given_: Given, ranks: Ranks) -> None:
        check_cuts(rules(ranks, [SortColumn(0)]), given_)

    check()
