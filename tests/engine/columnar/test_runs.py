"""Running values over whole batches equal the same values computed record by record."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.columnar.runs import Runs, last_place, nearly_in_order, running_least, running_most, running_sum, shifted

LONGS = st.one_of(st.integers(-3, 3), st.integers(-(1 << 63), (1 << 63) - 1))
RECORDS = st.lists(st.tuples(st.integers(0, 4), LONGS, st.booleans()), max_size=40).map(sorted)
SPAN = 1 << 64


@given(records=RECORDS)
def test_every_record_knows_its_run_so_far(records: list[tuple[int, int, bool]]) -> None:
    numbers, values, flags = (np.array([record[at] for record in records], type_) for at, type_ in enumerate("qq?"))
    runs = Runs.of(numbers)
    initial = np.arange(len(runs), dtype=np.int64)
    sums = running_sum(runs, values, initial)
    most, least = running_most(runs, values), running_least(runs, values)
    before, flagged = shifted(runs, values, initial), last_place(runs, flags)
    for at, (number, _, _) in enumerate(records):
        start = next(place for place, record in enumerate(records) if record[0] == number)
        so_far = values[start : at + 1].tolist()
        run = int(runs.numbers[at])
        assert runs.starts[run] == start
        assert runs.ordinals[at] == at - start
        assert (sum(so_far) + run - int(sums[at])) % SPAN == 0
        assert (most[at], least[at]) == (max(so_far), min(so_far))
        assert before[at] == (values[at - 1] if at > start else run)
        assert flagged[at] == max((place for place in range(start, at + 1) if flags[place]), default=-1)
    assert runs.lengths.sum() == len(records)


@given(lengths=st.lists(st.integers(1, 2_000), min_size=1, max_size=4), wide=st.booleans())
def test_extremes_are_the_same_for_long_runs_and_for_many_short_ones(lengths: list[int], wide: bool) -> None:
    numbers = np.repeat(np.arange(len(lengths)), lengths)
    values = np.arange(len(numbers), dtype=np.int64) * 7919 % 1009
    values[0] = -(1 << 63) if wide else 0
    runs = Runs.of(numbers)
    expected = np.concatenate([np.maximum.accumulate(values[numbers == run]) for run in range(len(lengths))])
    assert (running_most(runs, values) == expected).all()


def test_there_may_be_no_records() -> None:
    runs = Runs.of(np.zeros(0, np.int64))
    nothing = np.zeros(0, np.int64)
    assert len(runs) == len(runs.ends) == len(runs.lengths) == 0
    assert len(running_sum(runs, nothing)) == len(running_most(runs, nothing)) == len(running_least(runs, nothing)) == 0


@given(columns=st.lists(st.integers(-(1 << 61), 1 << 61), max_size=40))
def test_a_near_order_rises_by_shares_of_the_span(columns: list[int]) -> None:
    column = np.array(columns, np.int64)
    order = nearly_in_order(column)
    if order is not None:
        assert sorted(order.tolist()) == list(range(len(column)))
        column = column[order]
    if len(column):
        share = (int(column.max()) - int(column.min())) // (1 << 15) + 1
        assert all(int(last) - share <= int(next_) for last, next_ in zip(column, column[1:], strict=False))
