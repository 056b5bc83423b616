"""The timeline, decimated, and the late ledger."""

from __future__ import annotations

from pathlib import Path

import pytest

from storage import Store
from storage.model import EventRange
from storage.wanted import SortOrder
from tests.storage.written_runs import Epoch, columns, edge, plan, recorded

MAX = (1 << 63) - 1
A = edge("a", columns(v="string", ts="bigint*"), watermark_delay_ms=5)
B = edge("b", columns(v="string", ts="bigint*"), watermark_delay_ms=0)
WINDOW = edge("window", columns(n="bigint"))
PLAN = plan(A, B, WINDOW, wires=[("a", "window"), ("b", "window")])
#  seq     1    2    3    4    5
#  a      10        30   12        then ends (6)
#  b           20              40
FIRST = Epoch(
    0,
    records={"a": [(1, b"", "+I", ("one", 10)), (3, b"", "+I", ("two", 30)), (4, b"", "+I", ("three", 12))]},
    watermarks=[
        (1, "a", 10, 5, False),
        (2, "b", 20, 20, False),
        (3, "a", 30, 25, False),
        (4, "a", 12, 25, False),
    ],
    late=[("window", "in", 4, b"", 12, 10, 20, 20, 1, "window closed")],
    fires=[("window", 3, 10, 20)],
)
SECOND = Epoch(
    1,
    records={"b": [(5, b"", "+I", ("four", 15))]},
    watermarks=[(5, "b", 15, 20, False), (6, "a", None, MAX, True), (7, "b", 50, 50, False)],
    late=[("window", "in", 5, b"", 15, None, None, 20, 5, "before the watermark")],
)


@pytest.fixture
def run_id(store: Store, tmp_path: Path) -> int:
    return recorded(store, tmp_path, PLAN, FIRST, SECOND)


def test_every_record_has_its_state(store: Store, run_id: int) -> None:
    points = store.timeline.timeline(run_id).points.to_pylist()
    assert [(point["seq"], point["source"], point["event_time_ms"], point["state"]) for point in points] == [
        (1, "a", 10, "in time"),
        (2, "b", 20, "in time"),
        (3, "a", 30, "in time"),
        (4, "a", 12, "dropped"),
        (5, "b", 15, "dropped"),
        (7, "b", 50, "in time"),
    ]


def test_the_combined_watermark_is_the_minimum_until_a_source_ends(store: Store, run_id: int) -> None:
    line = store.timeline.timeline(run_id)
    assert [tuple(step.values()) for step in line.watermarks.to_pylist()] == [
        (1, "a", 5),
        (2, "b", 20),
        (3, "a", 25),
        (7, "b", 50),
    ]
    assert [tuple(step.values()) for step in line.combined.to_pylist()] == [(2, 5), (3, 20), (7, 50)]
    assert line.ends == {"a": 6}
    assert [tuple(fire.values()) for fire in line.fires.to_pylist()] == [("window", 3, 10, 20, 1)]


def test_a_zoomed_timeline_starts_with_the_watermarks_before_it(store: Store, run_id: int) -> None:
    line = store.timeline.timeline(run_id, EventRange(4, 5))
    assert (line.from_seq, line.to_seq) == (4, 5)
    assert [point["seq"] for point in line.points.to_pylist()] == [4, 5]
    assert [tuple(step.values()) for step in line.watermarks.to_pylist()] == [(3, "a", 25), (3, "b", 20)]
    assert [tuple(step.values()) for step in line.combined.to_pylist()] == [(3, 20)]


@pytest.mark.parametrize("max_points", [60, 600])
def test_decimation_loses_no_excursion_and_no_late_record(store: Store, tmp_path: Path, max_points: int) -> None:
    info = edge("a", columns(ts="bigint*"), watermark_delay_ms=0)
    times = {seq: seq * 10 for seq in range(1, 20_001)}
    times |= {7_777: 1_000_000, 15_001: -5}
    highest = 0
    marks = []
    for seq, time in times.items():
        highest = max(highest, time)
        marks.append((seq, "a", time, highest, False))
    late = [("window", "in", 9_000, b"", 90_000, 0, 10, 1_000_000, 5, "window closed")]
    run_id = recorded(store, tmp_path, plan(info), Epoch(watermarks=marks, late=late))
    line = store.timeline.timeline(run_id, max_points=max_points)
    points = line.points.to_pylist()
    assert not line.is_exact
    assert len(points) <= max_points
    assert sum(point["records"] for point in points) == 20_000
    shown = {(point["seq"], point["event_time_ms"], point["state"]) for point in points}
    assert {(7_777, 1_000_000, "in time"), (15_001, -5, "out of order"), (9_000, 90_000, "dropped")} <= shown
    assert line.watermarks.to_pylist()[-1]["watermark_ms"] == 1_000_000


def test_many_fires_are_merged_into_bands(store: Store, tmp_path: Path) -> None:
    info = edge("a", columns(ts="bigint*"), watermark_delay_ms=0)
    epoch = Epoch(
        watermarks=[(seq, "a", seq, seq, False) for seq in range(1, 101)],
        fires=[("window", seq, seq, seq + 10) for seq in range(1, 101)],
    )
    fires = store.timeline.timeline(recorded(store, tmp_path, plan(info), epoch), max_fires=10).fires
    assert fires.num_rows == 10
    assert sum(fires.column("windows").to_pylist()) == 100


def test_a_late_record_says_what_it_was_and_what_would_have_kept_it(store: Store, run_id: int) -> None:
    page = store.late.page(run_id)
    windowed, plain = page.records
    assert (windowed.source, windowed.operator, windowed.columns, windowed.values) == (
        "a",
        "operator",
        ("v", "ts"),
        ("three", 12),
    )
    # a had reached 30, the window's last moment is 19: with a delay of 12 its watermark would have been 18.
    assert windowed.needed_delay_ms == 12
    # Without a window a record is late once the watermark has reached its time: b had reached 20, and 20 - 6 < 15.
    assert (plain.values, plain.needed_delay_ms) == (("four", 15), 6)


def test_late_records_are_filtered_and_summed_up(store: Store, run_id: int) -> None:
    assert store.late.page(run_id, source="b").total == 1
    assert [late.seq for late in store.late.page(run_id, EventRange(to_seq=4)).records] == [4]
    assert [late.seq for late in store.late.page(run_id, offset=1, limit=1).records] == [5]
    for by, seqs in (("needed", [5, 4]), ("event", [4, 5]), ("window", [4, 5])):
        assert [late.seq for late in store.late.page(run_id, order=SortOrder(by)).records] == seqs, by
    # What has no window is last either way.
    turned = store.late.page(run_id, order=SortOrder("window", descending=True), limit=1)
    assert ([late.seq for late in turned.records], turned.total) == ([4], 2)
    summary = store.late.summary(run_id, 7)
    assert [(row.node, row.source, row.dropped, row.dropped_delay_ms) for row in summary] == [
        ("window", "a", 1, 12),
        ("window", "b", 1, 6),
    ]


def test_a_record_counts_once_whatever_windows_and_operators_it_was_late_for(store: Store, tmp_path: Path) -> None:
    joined = edge("joined", columns(n="bigint"))
    wires = [("a", "window"), ("a", "joined")]
    records = {"a": [(seq, b"", "+I", ("x", seq)) for seq in range(1, 6)]}
    marks = [(seq, "a", seq, 50, False) for seq in range(1, 6)]
    late = [
        # Dropped by both operators, by the first from two windows; below a projection its step is longer.
        ("window", "in", 1, b"", 1, 0, 10, 50, 41, "closed"),
        ("window", "in", 1, b"", 1, 5, 15, 50, 36, "closed"),
        ("joined", "left", 1, b"\0", 1, None, None, 50, 49, "too old"),
        # Dropped by one and used by the other.
        ("window", "in", 2, b"", 2, 0, 10, 50, 41, "closed"),
        ("joined", "left", 2, b"\0", 2, None, None, 50, 48, "too old", False, "padded"),
        # It missed one window, and the other one took it.
        ("window", "in", 3, b"", 3, 0, 10, 50, 41, "closed", False, ""),
        # What a watermark fires is a record of its own, not that of the event.
        ("joined", "left", 4, b"\xff\0", 4, None, None, 50, 46, "too old"),
    ]
    run_id = recorded(store, tmp_path, plan(A, WINDOW, joined, wires=wires), Epoch(0, records, marks, late))
    totals = store.late.totals(run_id)
    assert (totals.records, totals.dropped, totals.used, totals.late, totals.lines) == (5, 3, 1, 4, 6)
    assert totals.by_node == {"window": (2, 1), "joined": (2, 1)}
    run = store.runs.get(run_id)
    assert (run.dropped, run.used) == (3, 1)
    assert [(each.node, each.dropped, each.used) for each in store.runs.counters(run_id)][1:] == [
        ("window", 2, 1),
        ("joined", 2, 1),
    ]
    page = store.late.page(run_id)
    assert (page.total, [(each.seq, each.node, each.dropped, each.used, each.windows) for each in page.records]) == (
        6,
        [
            (1, "window", True, "", 2),
            (1, "joined", True, "", 1),
            (2, "window", True, "", 1),
            (2, "joined", False, "padded", 1),
            (3, "window", False, "", 1),
            (4, "joined", True, "", 1),
        ],
    )
    assert [each.seq for each in store.late.page(run_id, dropped=False).records] == [2, 3]
    states = [point["state"] for point in store.timeline.timeline(run_id).points.to_pylist()]
    assert states == ["dropped", "dropped", "late but used", "in time", "in time"]


def test_allowed_lateness_lowers_the_delay_that_is_needed(store: Store, tmp_path: Path) -> None:
    late = [("window", "in", 2, b"", 12, 10, 20, 30, 30 - (19 + 8), "window closed")]
    marks = [(1, "a", 30, 30, False), (2, "a", 12, 30, False)]
    run_id = recorded(store, tmp_path, plan(A, WINDOW), Epoch(watermarks=marks, late=late))
    assert store.late.page(run_id).records[0].needed_delay_ms == 30 - (19 + 8) + 1


def test_values_that_lost_digits_are_counted_by_source_and_column(store: Store, tmp_path: Path) -> None:
    cut = ({"a": {"ts": 2, "sent": 1}}, {"a": {"ts": 3}})
    run_id = recorded(store, tmp_path, PLAN, *(Epoch(number=at, cut=counts) for at, counts in enumerate(cut)))
    assert store.late.cut(run_id) == {("a", "sent"): 1, ("a", "ts"): 5}
    store.runs.delete(run_id)
    assert store.late.cut(run_id) == {}


def test_rejected_rows_come_in_the_order_of_their_lines(store: Store, tmp_path: Path) -> None:
    rows = [("a", "a.csv", 9, "x,y", "no number"), ("a", "a.csv", 2, "", "an empty line")]
    run_id = recorded(store, tmp_path, PLAN, Epoch(rejected=rows))
    page = store.late.rejected(run_id)
    assert [(row.line, row.reason) for row in page.records] == [(2, "an empty line"), (9, "no number")]
    assert page.total == 2
    assert store.late.rejected(run_id, node="b").records == ()
    turned = store.late.rejected(run_id, order=SortOrder("line", descending=True))
    assert [row.line for row in turned.records] == [9, 2]
