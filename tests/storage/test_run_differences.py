"""Two runs side by side: the first event at which they part, whatever the records are."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage import Store
from storage.changelogs.run_differences import PlanDifference
from tests.engine.planning import pipeline_of, rows
from tests.storage.local_runs import run_locally
from tests.storage.written_runs import Epoch, columns, edge, plan, recorded
from tests.ui import seeded_store

Values = list[int | None]


def run_of(store: Store, folder: Path, *values: Values) -> int:
    """A run with an edge for each: a, b, .."""
    records = {
        name: [(seq, b"", "+I", (value,)) for seq, value in enumerate(each, 1)]
        for name, each in zip("abcd", values, strict=False)
    }
    edges = [edge(name, columns(n="bigint"), "[I,UB,UA]", ["n"]) for name in records]
    return recorded(store, folder, plan(*edges), Epoch(records=records))


CHANGELOG = st.lists(st.none() | st.integers(0, 2), max_size=6)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(CHANGELOG, CHANGELOG), min_size=4, max_size=4))
def test_changelogs_part_where_the_first_record_differs(
    shared_store: Store, tmp_path: Path, pairs: list[tuple[Values, Values]]
) -> None:
    runs = [run_of(shared_store, tmp_path, *values) for values in zip(*pairs, strict=True)]
    for name, (left, right) in zip("abcd", pairs, strict=True):
        longest = max(len(left), len(right))
        same = [left[at : at + 1] == right[at : at + 1] for at in range(longest)]
        expected = same.index(False) + 1 if False in same else None
        assert shared_store.run_differences.first_different_event(*runs, name) == expected
        records = shared_store.run_differences.records(*runs, name, from_seq=1)
        assert [pair.is_same for pair in records] == same


def test_a_late_change_in_a_long_changelog_is_found(store: Store, tmp_path: Path) -> None:
    values: Values = list(range(70_000))
    left = run_of(store, tmp_path, values)
    values[69_990] = -1
    right = run_of(store, tmp_path, values)
    assert store.run_differences.first_different_event(left, right, "a") == 69_991
    assert store.run_differences.first_different_event(left, left, "a") is None


def test_late_records_of_runs_with_different_delays_are_matched_by_what_they_are(store: Store, tmp_path: Path) -> None:
    late, still_late, in_time = (seeded_store.windows(store, tmp_path, delay=delay) for delay in (5_000, 6_000, 12_000))
    same = store.run_differences.late(late, still_late)
    assert (same.only_left, same.only_right, same.both, same.other_outcome, same.rows) == (0, 0, 2, 0, ())
    kept = store.run_differences.late(late, in_time)
    assert (kept.only_left, kept.only_right, kept.both) == (2, 0, 0)
    assert [(row.left_seq, row.left_ms, row.right_dropped) for row in kept.rows] == [(5, 5001, None), (6, 5001, None)]
    # The window that they were in came out in one run only; all others are the same rows.
    table = store.table_differences.between(late, in_time, "out")
    assert (table.equal, table.different) == (3, 1)


@pytest.mark.parametrize("keys", [["place"], []])
def test_another_order_of_arrival_and_rows_without_a_key_are_matched_by_what_they_are(
    keys: list[str], store: Store, tmp_path: Path
) -> None:
    """The same trips, of which those that come last are late: two of them are equal, and one window has no key."""
    trips = [["a", 1_000], ["b", 2_000], ["a", 30_000], ["b", 31_000], ["a", 3_000], ["a", 3_000], ["b", 90_000]]

    def ran(*order: int) -> int:
        pipeline = pipeline_of(
            "trips -> windows -> out",
            trips=rows("place string, ts bigint", rows=[trips[at] for at in order], event_time="ts"),
            windows=(
                "window_aggregate",
                {"kind": "tumble", "size_ms": 10_000, "group_by": keys, "aggregates": [seeded_store.COUNT]},
            ),
            out=("sink", {"mode": "changelog"}),
        )
        return run_locally(store, tmp_path, pipeline)

    first = ran(0, 1, 2, 3, 4, 5, 6)
    # The late ones change places with each other and with others that are in time: they are late for the same.
    other = ran(1, 0, 3, 5, 4, 2, 6)
    found = store.run_differences.late(first, other)
    assert (found.only_left, found.only_right, found.both, found.other_outcome, found.rows) == (0, 0, 2, 0, ())
    assert store.table_differences.between(first, other, "out").is_same
    # One of the two equal ones comes in time: one is late in one run only, and one row differs.
    in_time = ran(0, 1, 4, 2, 3, 5, 6)
    found = store.run_differences.late(first, in_time)
    assert (found.only_left, found.only_right, found.both) == (1, 0, 1)
    table = store.table_differences.between(first, in_time, "out")
    assert (table.left, table.right, table.different) == (table.right, table.right, 1)


def test_rows_without_a_key_are_matched_in_any_order_and_number(store: Store, tmp_path: Path) -> None:
    def ran(*values: int) -> int:
        pipeline = pipeline_of(
            "numbers -> out", numbers=rows("n bigint", rows=[[n] for n in values]), out=("sink", {"mode": "append"})
        )
        return run_locally(store, tmp_path, pipeline)

    table = store.table_differences.between(ran(1, 2, 2, 3), ran(3, 2, 1, 2), "out")
    assert (table.key, table.equal, table.different) == ((), 4, 0)
    table = store.table_differences.between(ran(1, 2, 2, 3), ran(3, 2, 1), "out")
    assert (table.equal, table.different) == (3, 1)
    assert [(row.left, row.right) for row in table.rows] == [((2,), None)]


def test_plans_differ_by_parameter(store: Store, tmp_path: Path) -> None:
    left = store.runs.get(seeded_store.windows(store, tmp_path))
    right = store.runs.get(seeded_store.windows(store, tmp_path, delay=12_000))
    assert store.run_differences.plans(left, right) == (
        PlanDifference("clicks", "watermark_delay_ms", 5000, 12000, "rows"),
    )
    assert store.run_differences.plans(left, left) == ()
