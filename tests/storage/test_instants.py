"""Instants of a run in a time zone: shown in it with their offset, exported as instants in UTC."""

from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.model.zones import zone_named
from storage import Store
from storage.changelogs.exported_values import Format
from tests.engine.planning import pipeline_of, rows
from tests.storage.local_runs import run_locally
from tests.ui import seeded_store

ZONE = "America/New_York"
TYPES = {
    "id": "string",
    "at": "timestamp",
    "wall": "timestamp_ntz",
    "nested": "struct<t:timestamp,l:array<timestamp>>",
    "m": "map<string,timestamp>",
}


def run_in(store: Store, folder: Path, zone: str, type_: str = "timestamp") -> int:
    """Events around the night when New York's clocks are set back; the third one is late."""

    def row(id_: str, text: str) -> list[object]:
        instant = f"{text}Z"
        return [id_, instant, text, {"t": instant, "l": [instant]}, {"k": instant}]

    sent = [row("a", "2024-11-03T05:30:00"), row("b", "2024-11-03T06:30:00.5"), row("c", "2024-11-03T04:10:00")]
    columns = [{"name": name, "type": of} for name, of in {**TYPES, "at": type_}.items()]
    timed = {"event_time": "at", "watermark_delay_ms": 0}
    pipeline = pipeline_of(
        "clicks -> per_window -> out",
        clicks=("rows", {"columns": columns, "rows": sent, **timed}),
        per_window=("window_aggregate", {"kind": "tumble", "size_ms": 3_600_000, "aggregates": [seeded_store.COUNT]}),
        out=("sink", {"mode": "changelog"}),
    )
    return run_locally(store, folder, pipeline.model_copy(update={"options": {"table.local-time-zone": zone}}))


@pytest.mark.parametrize("zone", ["UTC", ZONE])
def test_a_file_has_instants_in_utc_as_flinks_formats(store: Store, tmp_path: Path, zone: str) -> None:
    run_id = run_in(store, tmp_path, zone)

    def written(format_: Format) -> Path:
        path = tmp_path / f"out.{format_}"
        store.changelog.export(run_id, "clicks", path, format=format_)
        return path

    second = {
        "id": "b",
        "at": "2024-11-03 06:30:00.5Z",
        "wall": "2024-11-03 06:30:00.5",
        "nested": {"t": "2024-11-03 06:30:00.5Z", "l": ["2024-11-03 06:30:00.5Z"]},
        "m": {"k": "2024-11-03 06:30:00.5Z"},
    }
    (line,) = [each for each in map(json.loads, written("json").read_text().splitlines()) if each["id"] == "b"]
    assert {name: line[name] for name in second} == second
    changes = list(map(json.loads, written("debezium").read_text().splitlines()))
    assert changes[1] == {"before": None, "after": second, "op": "c"}
    (row,) = [each for each in csv.DictReader(written("csv").read_text().splitlines()) if each["id"] == "b"]
    assert (row["at"], row["wall"]) == (second["at"], second["wall"])
    assert (json.loads(row["nested"]), json.loads(row["m"])) == (second["nested"], second["m"])
    with closing(sqlite3.connect(written("sqlite"))) as database:
        assert database.execute("SELECT at, wall FROM clicks WHERE id = 'b'").fetchone() == (row["at"], row["wall"])
    typed = pq.read_schema(written("parquet"))
    assert typed.field("at").type == pa.timestamp("us", "UTC")
    assert typed.field("wall").type == pa.timestamp("us")
    assert typed.field("nested").type.field("t").type == pa.timestamp("us", "UTC")


def test_instants_within_values_are_shown_as_clocks_show_them(store: Store, tmp_path: Path) -> None:
    run_id = run_in(store, tmp_path, ZONE)
    edge = store.runs.edge(run_id, "clicks")
    _, record, *_ = store.changelog.page(run_id, "clicks").records
    at, wall, nested, held = edge.shown(record.values)[1:]
    shown = "2024-11-03 01:30:00.500000-05:00"
    assert [str(each) for each in (at, nested["t"], *nested["l"], *held.values())] == [shown] * 4
    assert str(wall) == "2024-11-03 06:30:00.500000"


def test_late_records_are_exported_with_instants(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "late.jsonl"
    store.late_exports.write(run_in(store, tmp_path, ZONE), path, "json")
    (line,) = map(json.loads, path.read_text().splitlines())
    assert (line["at"], line["late_event_time"]) == ("2024-11-03 04:10:00Z", "2024-11-03 04:10:00Z")
    assert (line["late_window_start"], line["late_watermark"]) == ("2024-11-03 04:00:00Z", "2024-11-03 06:30:00.5Z")


@pytest.mark.parametrize(
    ("zone", "type_", "of"), [(ZONE, "timestamp", ZONE), (ZONE, "timestamp_ntz", None), ("UTC", "timestamp", None)]
)
def test_a_run_has_the_zone_if_its_event_times_are_instants(
    store: Store, tmp_path: Path, zone: str, type_: str, of: str | None
) -> None:
    assert store.runs.zone(run_in(store, tmp_path, zone, type_)) == (None if of is None else zone_named(of))


def test_a_late_record_has_the_zones_time_and_finds_what_its_window_emitted(store: Store, tmp_path: Path) -> None:
    pipeline = pipeline_of(
        "clicks -> per_window -> out",
        clicks=rows(
            "id string, at timestamp",
            rows=[["a", "2024-07-01T04:10:00Z"], ["b", "2024-07-01T06:30:00Z"], ["c", "2024-07-01T04:20:00Z"]],
            event_time="at",
            watermark_delay_ms=0,
        ),
        per_window=("window_aggregate", {"kind": "tumble", "size_ms": 3_600_000, "aggregates": [seeded_store.COUNT]}),
        out=("sink", {"mode": "changelog"}),
    )
    run_id = run_locally(store, tmp_path, pipeline.model_copy(update={"options": {"table.local-time-zone": ZONE}}))
    (file,) = store.late_files.of_event(run_id, 3)
    assert [str(value) for value in file.late.values] == ["c", "2024-07-01 00:20:00-04:00"]
    assert file.push is not None
    assert str(file.push.values[1]) == "2024-07-01 02:30:00-04:00"
    window = [str(value) for value in file.emitted[0].record.values if isinstance(value, datetime)]
    assert window == ["2024-07-01 00:00:00", "2024-07-01 01:00:00"]
