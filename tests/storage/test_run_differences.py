"""Two runs side by side: the first event at which they part, whatever the records are."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage import Store
from storage.changelogs.run_differences import PlanDifference
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


def test_plans_differ_by_parameter(store: Store, tmp_path: Path) -> None:
    left = store.runs.get(seeded_store.windows(store, tmp_path))
    right = store.runs.get(seeded_store.windows(store, tmp_path, delay=12_000))
    assert store.run_differences.plans(left, right) == (
        PlanDifference("clicks", "watermark_delay_ms", 5000, 12000, "rows"),
    )
    assert store.run_differences.plans(left, left) == ()
