"""Two runs side by side: the first event at which they part, whatever the records are."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage import Store
from storage.changelogs.run_differences import PlanDifference
from tests.storage.written_runs import Epoch, columns, edge, plan, recorded
from tests.ui import seeded_store

A = edge("a", columns(n="bigint"), "[I,UB,UA]", ["n"])
Values = list[int | None]


def run_of(store: Store, folder: Path, values: Values) -> int:
    records = [(seq, b"", "+I", (value,)) for seq, value in enumerate(values, 1)]
    return recorded(store, folder, plan(A), Epoch(records={"a": records}))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.none() | st.integers(0, 2), max_size=6), st.lists(st.none() | st.integers(0, 2), max_size=6))
def test_changelogs_part_where_the_first_record_differs(
    shared_store: Store, tmp_path: Path, left: Values, right: Values
) -> None:
    runs = run_of(shared_store, tmp_path, left), run_of(shared_store, tmp_path, right)
    longest = max(len(left), len(right))
    expected = next((at + 1 for at in range(longest) if left[at : at + 1] != right[at : at + 1]), None)
    assert shared_store.run_differences.first_different_event(*runs, "a") == expected
    pairs = shared_store.run_differences.records(*runs, "a", from_seq=1)
    assert [pair.is_same for pair in pairs] == [left[at : at + 1] == right[at : at + 1] for at in range(longest)]


def test_a_late_change_in_a_long_changelog_is_found(store: Store, tmp_path: Path) -> None:
    values: Values = list(range(70_000))
    left = run_of(store, tmp_path, values)
    values[69_990] = -1
    right = run_of(store, tmp_path, values)
    assert store.run_differences.first_different_event(left, right, "a") == 69_991
    assert store.run_differences.first_different_event(left, left, "a") is None


def test_plans_differ_by_parameter(store: Store, tmp_path: Path) -> None:
    left = store.runs.get(seeded_store.windows(store, tmp_path))
    right = store.runs.get(seeded_store.windows(store, tmp_path, delay=12_000))
    assert store.run_differences.plans(left, right) == (
        PlanDifference("clicks", "watermark_delay_ms", "5000", "12000"),
    )
    assert store.run_differences.plans(left, left) == ()
