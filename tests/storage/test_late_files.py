"""The file of a late record, and the values that late records share."""

from __future__ import annotations

import csv
import json
from collections import Counter
from math import log, log2
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from storage import Store
from storage.event_time.late_group import HOUR, LateGroup
from storage.event_time.model import LateRecord
from storage.model import EventRange
from tests.engine.planning import pipeline_of, rows
from tests.storage.local_runs import run_locally
from tests.storage.written_runs import Epoch, columns, edge, plan, recorded
from tests.ui import seeded_store

MAX = (1 << 63) - 1
MINUTE = 60_000


@pytest.fixture
def windows(store: Store, tmp_path: Path) -> int:
    return seeded_store.windows(store, tmp_path)


def test_the_push_is_the_record_that_moved_the_watermark_to_the_bound(store: Store, windows: int) -> None:
    (file,) = store.late_files.of_event(windows, 6)
    # Record 4 is at 120 s: the watermark went to 115 s, and closed the window [100 s, 110 s).
    assert file.push is not None
    assert (file.push.seq, file.push.source) == (4, "clicks")
    assert (file.ahead_ms, file.delay_ms, file.late.needed_delay_ms) == (11_000, 5_000, 10_002)
    assert (file.fired_seq, file.alike, file.below) == (None, 2, ("out",))


def test_an_event_in_time_has_no_file(store: Store, windows: int) -> None:
    assert store.late_files.of_event(windows, 1) == ()


@pytest.mark.parametrize(
    ("late", "push"),
    [
        # a's delay is 5, b's is 0, and both have to reach 19: a does with 30 at event 3, b had it at event 2.
        (("window", "in", 4, b"", 12, 10, 20, 20, 1, "window closed"), (3, "a")),
        # Of the bound 20: b stands at 20 from event 2 on.
        (("window", "in", 4, b"", 12, 10, 21, 20, 0, "window closed"), (3, "a")),
        # After a's end only b counts.
        (("window", "in", 8, b"", 40, 30, 46, 50, 5, "window closed"), (7, "b")),
    ],
)
def test_of_several_sources_the_last_one_to_reach_it_pushed(
    store: Store, tmp_path: Path, late: tuple[object, ...], push: tuple[int, str]
) -> None:
    a = edge("a", columns(v="string", ts="bigint*"), watermark_delay_ms=5)
    b = edge("b", columns(v="string", ts="bigint*"), watermark_delay_ms=0)
    window = edge("window", columns(n="bigint"))
    epoch = Epoch(
        0,
        records={
            "a": [(1, b"", "+I", ("one", 10)), (3, b"", "+I", ("two", 30)), (4, b"", "+I", ("three", 12))],
            "b": [(2, b"", "+I", ("x", 20)), (7, b"", "+I", ("y", 50)), (8, b"", "+I", ("z", 40))],
        },
        watermarks=[
            (1, "a", 10, 5, False),
            (2, "b", 20, 20, False),
            (3, "a", 30, 25, False),
            (4, "a", 12, 25, False),
            (6, "a", None, MAX, True),
            (7, "b", 50, 50, False),
            (8, "b", 40, 50, False),
        ],
        late=[late],
        fires=[("window", 3, 10, 20)],
    )
    run_id = recorded(store, tmp_path, plan(a, b, window, wires=[("a", "window"), ("b", "window")]), epoch)
    (file,) = store.late_files.of_event(run_id, int(str(late[2])))
    assert file.push is not None
    assert (file.push.seq, file.push.source) == push


def test_a_window_that_fired_before_says_when(store: Store, tmp_path: Path) -> None:
    clicks = [["a", 1_000], ["a", 9_000], ["b", 3_000], ["a", 30_000], ["a", 2_000]]
    pipeline = pipeline_of(
        "clicks -> per_window -> out",
        clicks=rows("key string, ts bigint", rows=clicks, event_time="ts", watermark_delay_ms=0),
        per_window=(
            "window_aggregate",
            {"kind": "tumble", "size_ms": 10_000, "group_by": ["key"], "aggregates": [seeded_store.COUNT]},
        ),
        out=("sink", {"mode": "changelog"}),
    )
    run_id = run_locally(store, tmp_path, pipeline)
    (file,) = store.late_files.of_event(run_id, 5)
    assert file.fired_seq == 4
    # A row of the other key is the window's too, but not this record's.
    assert [(each.edge.name, each.record.values[0], each.record.values[-1]) for each in file.emitted] == [
        ("per_window", "a", 2)
    ]
    assert [each.edge.name for each in file.followed] == ["out"]
    assert store.late_files.last(run_id, 9) == 5
    assert store.late_files.last(run_id, 4) is None
    assert file.push is not None
    assert file.push.seq == 4


def vans(store: Store, folder: Path, *, after: int = 40) -> int:
    """Every fifth record is of a van; those from Leipzig arrive two minutes late, and nothing else does."""
    sent: list[list[object]] = []
    for n in range(200):
        kind, city = ("van" if n % 5 == 0 else "car"), ("Leipzig" if n % 4 == 0 else "Halle")
        late = 120_000 if (kind, city) == ("van", "Leipzig") and n > after else 0
        sent.append([kind, city, f"r{n}", None if n % 7 else True, n * 5_000 - late])
    return run_locally(
        store,
        folder,
        pipeline_of(
            "trips -> per_minute -> out",
            trips=rows(
                "kind string, city string, name string, flag boolean, ts bigint",
                rows=sent,
                event_time="ts",
                watermark_delay_ms=0,
            ),
            per_minute=("window_aggregate", {"kind": "tumble", "size_ms": MINUTE, "aggregates": [seeded_store.COUNT]}),
            out=("sink", {"mode": "changelog"}),
        ),
    )


def test_a_few_late_records_are_told_by_one_column_at_a_time(store: Store, tmp_path: Path) -> None:
    found = store.telling_values.groups(vans(store, tmp_path, after=80), "trips", dropped=True)
    assert found.late == 5
    assert {len(group.columns) for group in found.groups} == {1}


def test_the_columns_that_tell_most_come_first_and_two_together_if_they_tell_more(store: Store, tmp_path: Path) -> None:
    found = store.telling_values.groups(vans(store, tmp_path), "trips", dropped=True)
    assert (found.late, found.records) == (7, 200)
    first = found.groups[0]
    assert set(first.columns) == {"kind", "city"}
    (value,) = first.values
    assert (set(value.values), value.late, value.records) == ({"van", "Leipzig"}, 7, 10)
    assert [group.columns for group in found.groups[1:3]] == [("kind",), ("city",)]
    assert found.groups[1].bits == pytest.approx(log2(5) - 1 / (14 * log(2))), "all are vans, which a fifth of all is"
    # A value per record tells nothing, and the event time is compared by its hour.
    by_name = {group.columns: group.bits for group in found.groups}
    assert by_name["name",] < 0
    assert (HOUR,) in by_name


def test_a_group_leads_to_its_records_and_they_can_be_exported(store: Store, tmp_path: Path) -> None:
    run_id = vans(store, tmp_path)
    found = store.telling_values.groups(run_id, "trips", dropped=True)
    for group in found.groups:
        for value in group.values:
            of = LateGroup("trips", tuple(zip(group.columns, value.values, strict=True)), only_dropped=True)
            assert LateGroup.of(str(of)) == of
            assert store.late.page(run_id, group=of).total == value.late
    of = LateGroup("trips", (("kind", "van"), ("city", "Leipzig"), ("flag", None)), only_dropped=True)
    listed = store.late.page(run_id, group=of).records
    assert {(row["kind"], row["city"], row["flag"]) for row in map(_named, listed)} == {("van", "Leipzig", None)}
    file = tmp_path / "group.csv"
    assert store.late_exports.write(run_id, file, "csv", group=of) == len(listed) < 7
    exported = csv.DictReader(file.read_text(encoding="utf-8").splitlines())
    assert [int(row["late_event"]) for row in exported] == [late.seq for late in listed]


def _named(late: LateRecord) -> dict[str, object]:
    return dict(zip(late.columns, late.values, strict=True))


@pytest.mark.parametrize(
    ("text", "total"),
    [
        ('["trips", {}, true]', 7),
        ('["trips", {"city": "Halle"}, true]', 0),
        ('["trips", {"town": "Halle"}, false]', 0),
        ('["nothing", {}, false]', 0),
        ('["trips", {"city": 1}, true]', None),
        ("trips", None),
    ],
)
def test_what_an_address_says_of_a_group_need_not_be_true(
    text: str, total: int | None, store: Store, tmp_path: Path
) -> None:
    group = LateGroup.of(text)
    assert (None if group is None else store.late.page(vans(store, tmp_path), group=group).total) == total


def test_the_sources_share_the_late_records(store: Store, tmp_path: Path) -> None:
    run_id = seeded_store.two_sources(store, tmp_path)
    found = store.telling_values.groups(run_id, "orders")
    assert {each.values[0]: each.records for each in found.sources} == {"orders": 20, "payments": 20}
    assert sum(each.late for each in found.sources) == store.late.totals(run_id).late


@pytest.mark.parametrize("node", [None, "both"])
@pytest.mark.parametrize("events", [EventRange(), EventRange(9, 33)])
def test_the_map_of_leads_counts_each_record_by_its_lead_over_the_watermark_before_it(
    store: Store, tmp_path: Path, node: str | None, events: EventRange
) -> None:
    run_id = seeded_store.two_sources(store, tmp_path)
    marks: dict[str, int] = {}
    leads: Counter[tuple[int, int]] = Counter()
    first, last = events.within(1, 40)
    for each in store.arrivals.page(run_id, limit=100).records:
        top = min(marks.values()) if len(marks) == 2 else None
        if each.event_time_ms is not None and top is not None and first <= each.seq <= last and top < MAX:
            leads[each.seq, each.event_time_ms - top] += 1
        marks[each.source] = each.watermark_ms or 0
    shown = store.lead_maps.of(run_id, events, node=node)
    assert (shown.one_in, shown.is_combined, shown.width) == (1, True, 1)
    drawn: Counter[tuple[int, int]] = Counter()
    for cell in shown.cells:
        low, high = shown.rows[cell.row]
        own = [at for at in leads if at[0] == shown.events(cell.column)[0]]
        assert [(low or 0) <= lead < (high or MAX) for _, lead in own] == [True] * len(own)
        drawn.update(dict.fromkeys(own, cell.records))
    assert drawn == leads
    late = store.late.page(run_id, EventRange(first, last), limit=100).records
    assert sum(cell.dropped + cell.used for cell in shown.cells) == len({each.seq for each in late})


def test_large_ranges_of_a_map_are_sampled_by_blocks_and_late_records_are_not(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.event_time.lead_map._COUNTED", 300)
    sent = [["a", n * 1000 - (50_000 if n == 400 else 0)] for n in range(600)]
    pipeline = pipeline_of(
        "clicks -> per_window -> out",
        clicks=rows("key string, ts bigint", rows=sent, event_time="ts", watermark_delay_ms=0),
        per_window=("window_aggregate", {"kind": "tumble", "size_ms": 10_000, "aggregates": [seeded_store.COUNT]}),
        out=("sink", {"mode": "changelog"}),
    )
    shown = store.lead_maps.of(run_locally(store, tmp_path, pipeline))
    # Of the blocks 0 to 255, 256 to 511 and 512 to 600, the first and the last.
    assert shown.one_in == 2
    assert sum(cell.records for cell in shown.cells) == 2 * (254 + 89)
    (late,) = [cell for cell in shown.cells if cell.dropped]
    assert shown.rows[late.row] == (-60_000, -30_000)
    assert shown.events(late.column)[0] <= 401 <= shown.events(late.column)[1]


def test_the_groups_of_a_run_without_late_records_are_empty(store: Store, tmp_path: Path) -> None:
    run_id = seeded_store.windows(store, tmp_path, delay=12_000)
    assert store.telling_values.groups(run_id, "clicks") == store.telling_values.groups(run_id, "clicks", dropped=True)
    assert store.telling_values.groups(run_id, "clicks").groups == ()


def test_an_export_has_the_records_own_columns_typed_and_what_pushed_the_watermark(
    store: Store, windows: int, tmp_path: Path
) -> None:
    path = tmp_path / "late.parquet"
    assert store.late_exports.write(windows, path, "parquet") == 2
    table = pq.read_table(path)
    assert table.schema.field("ts").type == pa.int64()
    assert table.schema.field("late_watermark").type == pa.timestamp("us")
    first, second = table.to_pylist()
    assert {name: first[name] for name in ("late_event", "late_outcome", "late_pushed_by_event", "key", "id")} == {
        "late_event": 5,
        "late_outcome": "dropped",
        "late_pushed_by_event": 4,
        "key": "b",
        "id": "5",
    }
    assert (second["late_event"], second["late_by_ms"], second["late_needed_delay_ms"]) == (6, 5_001, 10_002)


def test_every_exported_push_is_that_of_the_records_file(store: Store, tmp_path: Path) -> None:
    run_id = vans(store, tmp_path)
    path = tmp_path / "late.jsonl"
    store.late_exports.write(run_id, path, "json")
    exported = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(exported) == 7
    for line in exported:
        (file,) = store.late_files.of_event(run_id, line["late_event"])
        assert file.push is not None
        assert line["late_pushed_by_event"] == file.push.seq


def test_columns_of_the_records_keep_their_names(store: Store, tmp_path: Path) -> None:
    sent = [["a", 0], ["b", 50_000], ["c", 1_000]]
    pipeline = pipeline_of(
        "clicks -> per_window -> out",
        clicks=rows("late_by string, ts bigint", rows=sent, event_time="ts", watermark_delay_ms=0),
        per_window=("window_aggregate", {"kind": "tumble", "size_ms": 10_000, "aggregates": [seeded_store.COUNT]}),
        out=("sink", {"mode": "changelog"}),
    )
    path = tmp_path / "late.csv"
    store.late_exports.write(run_locally(store, tmp_path, pipeline), path, "csv", for_spreadsheets=True)
    (line,) = csv.DictReader(path.read_text().splitlines())
    assert (line["late_by"], line["_late_event"], line["_late_by_ms"]) == ("c", "3", "40001")


def test_nested_columns_are_exported_as_what_they_are(store: Store, tmp_path: Path) -> None:
    lines = [{"ts": ts, "by": {"city": city, "tags": [city]}} for ts, city in ((0, "a"), (50_000, "b"), (1_000, "c"))]
    (tmp_path / "in.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    source = {"path": "in.jsonl", "nested_types": True, "event_time": "ts", "watermark_delay_ms": 0}
    pipeline = pipeline_of(
        "clicks -> per_window -> out",
        clicks=("jsonl", source),
        per_window=("window_aggregate", {"kind": "tumble", "size_ms": 10_000, "aggregates": [seeded_store.COUNT]}),
        out=("sink", {"mode": "changelog"}),
    )
    run_id, written = run_locally(store, tmp_path, pipeline), {}
    for format_ in ("parquet", "json", "csv"):
        written[format_] = tmp_path / f"late.{format_}"
        store.late_exports.write(run_id, written[format_], format_)
    (typed,) = pq.read_table(written["parquet"]).to_pylist()
    (line,) = map(json.loads, written["json"].read_text().splitlines())
    (row,) = csv.DictReader(written["csv"].read_text().splitlines())
    assert typed["by"] == line["by"] == {"city": "c", "tags": ["c"]}
    assert json.loads(row["by"]) == line["by"]


def test_rejected_rows_are_exported_as_they_were(store: Store, windows: int, tmp_path: Path) -> None:
    path = tmp_path / "rejected.jsonl"
    assert store.late_exports.write_rejected(windows, path, "json") == 2
    first, _ = map(json.loads, path.read_text().splitlines())
    assert first["source"] == "clicks"
    assert "yesterday" in first["row"]
