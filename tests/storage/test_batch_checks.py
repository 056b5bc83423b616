"""What a batch check reads of a run is what the engine wrote, and what it found is kept."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from engine.contract.recorder import EdgeInfo
from storage import Store
from storage.errors import UnknownRun
from tests.storage.written_runs import Epoch, columns, edge, plan, recorded

EVENTS = edge("events", columns(k="string", ts="bigint*"), watermark_delay_ms=5)
TOTALS = edge("totals", columns(seq="bigint", at="timestamp", said="array<string>"), "[I,UB,UA,D]", ["seq"])
WHEN = datetime(2024, 1, 1, 12, tzinfo=UTC)


def run_of(store: Store, folder: Path, *, late: bool = False) -> int:
    """A run whose table has a column that is named as the position's is, an instant, and a list."""
    edges: tuple[EdgeInfo, ...] = (EVENTS, TOTALS)
    kinds = ("+I", "-U", "+U", "-D")
    ledger = [("totals", "in", 2, b"", 7, 0, 10, 12, 3, "window closed")] if late else []
    epoch = Epoch(
        records={
            "events": [(1, b"", "+I", ("a", 10)), (2, b"", "+I", ("b", 7))],
            "totals": [(2, bytes([at]), kind, (at, WHEN, ["x", None])) for at, kind in enumerate(kinds)],
        },
        watermarks=[(1, "events", 10, 5, False), (2, "events", 7, 5, False)],
        late=ledger,
    )
    return recorded(store, folder, plan(*edges, wires=[("events", "totals")]), epoch)


def test_records_are_handed_back_with_their_position_kind_and_types(store: Store, tmp_path: Path) -> None:
    run = run_of(store, tmp_path)
    given = store.batch_checks.export(run, tmp_path / "back")
    assert set(given.edges) == {("events", "out"), ("totals", "out")}
    rows = pq.read_table(given.edges["totals", "out"]).to_pylist()
    assert [row["__kind"] for row in rows] == [0, 1, 2, 3]
    assert [(row["__seq"], row["__step"]) for row in rows] == [(2, bytes([at])) for at in range(4)]
    assert [row["seq"] for row in rows] == [0, 1, 2, 3]
    assert rows[0]["at"] == WHEN
    assert rows[0]["said"] == ["x", None]
    assert pq.read_table(given.watermarks).column_names == ["seq", "source", "watermark_ms"]


def test_late_records_are_handed_back_where_there_are_any(store: Store, tmp_path: Path) -> None:
    assert store.batch_checks.export(run_of(store, tmp_path), tmp_path / "one").late is None
    given = store.batch_checks.export(run_of(store, tmp_path, late=True), tmp_path / "two")
    assert given.late is not None
    [row] = pq.read_table(given.late).to_pylist()
    assert (row["node"], row["port"], row["seq"], row["window_end_ms"]) == ("totals", "in", 2, 10)


def test_what_was_found_is_kept_in_place_of_what_an_earlier_check_found(store: Store, tmp_path: Path) -> None:
    run = run_of(store, tmp_path)
    assert store.batch_checks.load(run) is None
    store.batch_checks.save(run, '{"late": 1}')
    store.batch_checks.save(run, '{"late": 2}')
    assert store.batch_checks.load(run) == '{"late": 2}'
    store.runs.delete(run)
    assert store.batch_checks.load(run) is None


def test_of_a_run_that_is_not_there_nothing_is_handed_back(store: Store, tmp_path: Path) -> None:
    with pytest.raises(UnknownRun):
        store.batch_checks.export(99, tmp_path)
