"""A changelog through writers that do not wait for each other: what is lost, and what the materialising sink saves.

Not everything: like Flink's, it ignores a retraction of a row that is not there yet, and then keeps that row.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage import Store
from storage.changelogs.disorder import WrongRow
from storage.errors import UnknownColumn
from tests.storage.written_runs import Epoch, Event, columns, edge, plan, recorded

TOTALS = edge("totals", columns(k="string", n="bigint"), "[I,UB,UA,D]", ["k"])
ROWS = edge("rows", columns(k="string", n="bigint"), "[I,D]")


def changelog(values: list[tuple[str, int | None]]) -> list[Event]:
    """Each key's new value, one event each; None deletes the key's row."""
    now: dict[str, int] = {}
    found: list[Event] = []
    for seq, (key, value) in enumerate(values, 1):
        before = now.pop(key, None)
        if value is not None:
            now[key] = value
            if before is None:
                found.append((seq, b"\0", "+I", (key, value)))
            else:
                found += [(seq, b"\0", "-U", (key, before)), (seq, b"\1", "+U", (key, value))]
        elif before is not None:
            found.append((seq, b"\0", "-D", (key, before)))
    return found


def written(store: Store, folder: Path, records: list[Event]) -> int:
    """A run with these records."""
    return recorded(store, folder, plan(TOTALS), Epoch(records={"totals": records}))


VALUES = st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.integers(0, 3)), min_size=1, max_size=15)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=VALUES, seed=st.integers(0, 1000))
def test_one_writer_loses_nothing(
    shared_store: Store, tmp_path: Path, values: list[tuple[str, int | None]], seed: int
) -> None:
    run = written(shared_store, tmp_path, changelog(values))
    for materialised in (False, True):
        found = shared_store.disorder.deliver(run, "totals", writers=1, seed=seed, materialised=materialised)
        assert (found.is_right, found.swapped, found.rows) == (True, 0, ())


def test_the_materialising_sink_keeps_what_a_belated_retraction_would_take_away(store: Store, tmp_path: Path) -> None:
    run = written(store, tmp_path, changelog([(f"k{n}", value) for n in range(200) for value in (1, 2)]))
    plain, kept = (
        store.disorder.deliver(run, "totals", writers=3, seed=7, materialised=each) for each in (False, True)
    )
    assert plain.swapped == kept.swapped > 0
    # Every row that it has is one that was put; a -U that comes after its +U finds its own row, and takes only that.
    assert plain.lost > 20
    assert kept.lost == 0


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=VALUES, ways=st.lists(st.tuples(st.integers(2, 6), st.integers(0, 1000)), min_size=2, max_size=2))
def test_the_same_seed_loses_the_same_rows(
    shared_store: Store, tmp_path: Path, values: list[tuple[str, int | None]], ways: list[tuple[int, int]]
) -> None:
    records = changelog(values)
    one, two = (written(shared_store, tmp_path, records) for _ in range(2))
    deliver = shared_store.disorder.deliver
    final = {values[0]: values for _, _, kind, values in records for kind in [kind] if kind in ("+I", "+U")}
    for writers, seed in ways:
        found = deliver(one, "totals", writers=writers, seed=seed, materialised=False)
        assert found == deliver(two, "totals", writers=writers, seed=seed, materialised=False)
        assert len(found.rows) == found.lost + found.wrong + found.ghosts
        for row in found.rows:
            if row.expected is not None:
                assert final[row.expected[0]] == row.expected


def test_several_writers_lose_updates_in_the_end(store: Store, tmp_path: Path) -> None:
    run = written(store, tmp_path, changelog([("a", n) for n in range(30)]))
    outcomes = {
        store.disorder.deliver(run, "totals", writers=4, seed=seed, materialised=False).rows for seed in range(40)
    }
    # The -U of the last update comes after its +U, and takes the row away.
    assert (WrongRow(("a", 29), None),) in outcomes
    assert () in outcomes


def test_without_an_upsert_key_a_row_is_its_own_key_and_another_key_can_be_given(store: Store, tmp_path: Path) -> None:
    records: list[Event] = [(1, b"", "+I", ("a", 1)), (2, b"", "+I", ("a", 2)), (3, b"", "-D", ("a", 1))]
    run = recorded(store, tmp_path, plan(ROWS), Epoch(records={"rows": records}))
    whole = store.disorder.deliver(run, "rows", writers=1, seed=1, materialised=False)
    assert (whole.key, whole.keys, whole.is_right) == (("k", "n"), 1, True)
    by_name = store.disorder.deliver(run, "rows", writers=1, seed=1, materialised=True, key=("k",))
    assert (by_name.key, by_name.keys, by_name.is_right) == (("k",), 1, True)
    with pytest.raises(UnknownColumn, match="city"):
        store.disorder.deliver(run, "rows", writers=1, seed=1, materialised=False, key=("city",))


def test_a_large_changelog_is_delivered_as_a_sample_of_whole_keys(store: Store, tmp_path: Path) -> None:
    records = changelog([(f"k{n % 9000}", n) for n in range(27_000)])
    run = written(store, tmp_path, records)
    found = store.disorder.deliver(run, "totals", writers=1, seed=1, materialised=False)
    assert found.sampled == 3
    assert found.is_right
    # Five records of each key: all of a key or none.
    assert found.records == 5 * found.keys
    assert 2000 < found.keys < 4000
