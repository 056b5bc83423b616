"""What a run will take, told before it starts: a table of sources and outputs, and the disks that will not hold it."""

from __future__ import annotations

import gzip
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from engine.contract.source import Source
from engine.expressions.analyzer import TypeRules
from engine.local import run_size as module
from engine.local.run_size import LARGE, RunSize, run_size
from engine.model.pipeline import Node, Pipeline
from engine.planner import Plan, plan
from engine.reading import apart
from engine.registry import configured
from engine.runtime import run
from engine.spark.run_files import LocalFiles
from storage import Store

ROWS = 300_000
KEYS = 5_000


def nobody() -> SparkSession:
    pytest.fail("a session was asked for")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same rows as files of several kinds."""
    place = tmp_path_factory.mktemp("rows")
    random = np.random.default_rng(1)
    ts = 1_700_000_000_000 + np.arange(ROWS) - random.integers(0, 5_000, ROWS)
    rows = pa.table({"id": np.arange(ROWS), "k": random.integers(0, KEYS, ROWS), "ts": ts})
    pa.csv.write_csv(rows, place / "events.csv")
    (place / "events.csv.gz").write_bytes(gzip.compress((place / "events.csv").read_bytes(), 1))
    pq.write_table(rows, place / "events.parquet", row_group_size=50_000)
    with duckdb.connect(place / "events.duckdb") as database:
        database.execute("CREATE TABLE events AS FROM rows")
        database.execute("CREATE VIEW even AS FROM events WHERE id % 2 = 0")
    with closing(sqlite3.connect(place / "events.sqlite")) as lite:
        lite.execute("CREATE TABLE events (id INTEGER, k INTEGER, ts INTEGER)")
        lite.executemany(
            "INSERT INTO events VALUES (?, ?, ?)",
            zip(*(rows[name].to_pylist() for name in rows.column_names), strict=True),
        )
        # As many rows as anybody asks for.
        lite.execute(
            "CREATE VIEW endless AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id FROM n"
        )
        lite.commit()
    with (place / "events.avro").open("wb") as stream:
        fields = [{"name": name, "type": "long"} for name in rows.column_names]
        fastavro.writer(stream, {"type": "record", "name": "Event", "fields": fields}, rows.to_pylist())
    for part in range(3):
        (place / "parts").mkdir(exist_ok=True)
        pa.csv.write_csv(rows.slice(part * 100_000, 100_000), place / "parts" / f"{part}.csv")
    return place


def pipeline(
    source: Mapping[str, Any], *nodes: Mapping[str, Any], options: Mapping[str, str] | None = None
) -> Pipeline:
    """A source `ev` and the nodes below it, one after the other."""
    all_nodes = [{"id": "ev", **source}, *nodes]
    edges = [{"source": a["id"], "target": b["id"]} for a, b in zip(all_nodes, all_nodes[1:], strict=False)]
    return Pipeline.from_dict({"nodes": all_nodes, "edges": edges, "options": dict(options or {})})


def planned(document: Pipeline, folder: Path) -> Plan:
    return plan(document, TypeRules(), folder)


def node(name: str, operator: str, **parameters: Any) -> dict[str, Any]:
    return {"id": name, "operator": operator, "parameters": parameters}


def file(path: str, operator: str = "csv") -> dict[str, Any]:
    return {"operator": operator, "parameters": {"path": path, "event_time": "ts"}}


def table(path: str, name: str, operator: str) -> dict[str, Any]:
    return {"operator": operator, "parameters": {"path": path, "table": name}}


COUNTS = node("counts", "aggregate", group_by=["k"], aggregates=[{"function": "COUNT", "name": "n"}])
LAST = node("last", "deduplicate", keys=["k"], keep="last", order="event_time")
EVEN = node("even", "filter", condition="MOD(k, 2) = 0")
SINK = node("out", "sink")
CSV = file("events.csv")


@pytest.mark.parametrize(
    ("source", "low", "high"),
    [
        pytest.param(CSV, 0.9, 1.1, id="a text, from its first lines"),
        pytest.param(file("events.csv.gz"), 0.3, 3, id="a packed text, roughly"),
        pytest.param(file("parts"), 0.9, 1.1, id="several files"),
        pytest.param(file("events.parquet", "parquet"), 1, 1, id="Parquet, from its footer"),
        pytest.param(file("events.avro", "avro"), 0.9, 1.1, id="Avro, from its first blocks"),
        pytest.param(table("events.sqlite", "events", "sqlite"), 1, 1, id="SQLite counts"),
        pytest.param(table("events.duckdb", "events", "duckdb"), 1, 1, id="DuckDB counts"),
        pytest.param(table("events.duckdb", "even", "duckdb"), 0.5, 0.5, id="also of a view"),
        pytest.param({"operator": "generator", "parameters": {"rows": ROWS}}, 1, 1, id="generated rows"),
    ],
)
def test_the_number_of_rows_is_known_from_a_look_at_some(
    source: dict[str, Any], low: float, high: float, folder: Path
) -> None:
    read = configured(Node.model_validate({"id": "ev", **source}))
    assert isinstance(read, Source)
    found = read.rows_about("ev", folder)
    assert found is not None
    assert low <= found / ROWS <= high


@pytest.mark.parametrize(
    ("nodes", "options", "low", "high"),
    [
        pytest.param((), {}, 1, 1, id="what is forwarded is kept once"),
        pytest.param((EVEN,), {}, 1.5, 1.5, id="a filter adds what it lets through"),
        pytest.param((COUNTS,), {}, 3, 3, id="an update is -U and +U"),
        pytest.param((COUNTS, EVEN), {}, 4, 4, id="also of what has updates above"),
        pytest.param((LAST,), {}, 3, 3, id="a deduplication by event time"),
        pytest.param((COUNTS,), {"changelog-studio.keep.edges": "counts"}, 2, 2, id="of chosen outputs only"),
        pytest.param((COUNTS,), {"changelog-studio.keep.keys": "100"}, 0.03, 0.03, id="of one key in a hundred"),
    ],
)
def test_records_to_keep_are_those_of_the_whole_input(
    nodes: tuple[dict[str, Any], ...], options: dict[str, str], low: float, high: float, folder: Path
) -> None:
    size = run_size(planned(pipeline(CSV, *nodes, SINK, options=options), folder), nobody, folder)
    assert low * 0.9 <= size.records / size.events <= high * 1.1


@pytest.mark.parametrize("nodes", [(), (COUNTS,), (LAST,)], ids=["scan", "counts", "last rows"])
def test_the_store_of_a_run_and_its_files_have_about_as_many_bytes(
    nodes: tuple[dict[str, Any], ...], spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    document = pipeline(CSV, *nodes, SINK)
    told = run_size(planned(document, folder), nobody, folder, frees=False)
    with Store.open(tmp_path / "s.duckdb") as store:
        before = store.size()
        recorder = store.record(store.runs.create("run", document.to_json()).run_id)
        files = LocalFiles(tmp_path / "files")
        run(planned(document, folder), spark=spark, recorder=recorder, folder=folder, files=files, partitions=2)
        store.preparation.stop()
        taken = store.size() - before
    beside = sum(file.stat().st_size for file in (tmp_path / "files").rglob("*.parquet"))
    assert 0.5 < told.kept_bytes / taken < 2
    assert 0.9 < told.files_bytes / beside < 1.8


@pytest.mark.parametrize(
    ("numbers", "most"),
    [
        pytest.param(range(2_000), 0.2, id="one more each time"),
        pytest.param([at // 500 * 10**9 for at in range(2_000)], 0.2, id="the same for hundreds of neighbours"),
        pytest.param([at * 10**6 + at % 7 for at in range(2_000)], 0.6, id="steps of about the same size"),
        pytest.param([at * 7_919 % 2_000 for at in range(2_000)], 1.6, id="a range of two thousand"),
        pytest.param([None] * 2_000, 0.2, id="none"),
        pytest.param([-(1 << 63), (1 << 63) - 1, 0, 5], 8, id="64 bits"),
    ],
)
def test_numbers_take_what_the_store_packs_them_into(numbers: Sequence[int | None], most: float) -> None:
    values = pa.table({"n": pa.array(numbers, pa.int64())})["n"]
    assert 0 < module._value_bytes(values) <= most


def test_few_rows_are_not_run_and_nothing_is_said(folder: Path) -> None:
    few = {"operator": "generator", "parameters": {"rows": LARGE - 1}}
    size = run_size(planned(pipeline(few, SINK), folder), nobody, folder)
    assert (size.is_told, size.disk_bytes, size.shortage(folder, folder)) == (False, 0, "")


def test_a_source_without_a_known_number_is_named(folder: Path) -> None:
    size = RunSize(2 * LARGE, 4 * LARGE, 3_000_000, 2_000_000, ("orders", "rates"))
    assert size.sentence() == (
        "A run takes about 5.0 MB of disk while it goes on, of which 3.0 MB stay: about 400,000 events and 800,000 "
        "records to keep. The rows of orders, rates come on top: their number is not known."
    )
    assert RunSize(LARGE - 1, 0, 0, 0, ("orders",)).sentence() == (
        "What a run takes is not known before it: as much as orders has rows."
    )


def test_a_view_that_is_not_counted_in_time_is_not_known(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = planned(pipeline(table("events.sqlite", "endless", "sqlite"), SINK), folder)
    monkeypatch.setattr(apart, "LOOK_S", 0.5)
    size = run_size(document, nobody, folder)
    assert (size.events, size.unknown, size.is_told) == (0, ("ev",), True)


SIZE = RunSize(100_000_000, 300_000_000, 5_000_000_000, 1_200_000_000)


@pytest.mark.parametrize(
    ("free", "devices", "store", "files", "told"),
    [
        pytest.param(7e9, (1, 1), True, True, "", id="there is room"),
        pytest.param(6e9, (1, 1), True, True, "6.2 GB of disk, and 6.0 GB", id="one disk holds both"),
        pytest.param(6e9, (1, 2), True, True, "", id="each on its own disk"),
        pytest.param(2e9, (1, 2), True, True, "5.0 GB of disk, and 2.0 GB", id="the disk of the store"),
        pytest.param(2e9, (1, 1), False, True, "", id="nothing is kept"),
        pytest.param(1e9, (1, 1), False, True, "1.2 GB of disk, and 1.0 GB", id="not even the files"),
        pytest.param(5.5e9, (1, 1), True, False, "", id="the files are with the engine"),
    ],
)
def test_a_disk_that_will_not_hold_it_is_told(
    free: float,
    devices: tuple[int, int],
    store: bool,
    files: bool,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    places = (tmp_path / "store", tmp_path / "files")
    disks: Mapping[Path, int] = dict(zip(places, devices, strict=True))
    stat: Callable[[Path], Any] = lambda place: SimpleNamespace(st_dev=disks[place])  # noqa: E731 - a stand-in
    monkeypatch.setattr(module, "os", SimpleNamespace(stat=stat))
    monkeypatch.setattr(module.shutil, "disk_usage", lambda place: SimpleNamespace(free=int(free)))
    sentence = SIZE.shortage(places[0] if store else None, places[1] if files else None)
    assert (told in sentence) if told else sentence == ""


def test_what_is_spilled_beside_the_store_counts_while_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = replace(SIZE, spilled_bytes=300_000_000)
    assert size.sentence().startswith("A run takes about 6.5 GB of disk while it goes on, of which 5.0 GB stay")
    monkeypatch.setattr(module.shutil, "disk_usage", lambda place: SimpleNamespace(free=5_200_000_000))
    assert "5.3 GB of disk, and 5.2 GB" in size.shortage(tmp_path, None)
    assert SIZE.shortage(tmp_path, None) == ""


def test_memory_follows_the_cores_and_one_epoch_not_the_run() -> None:
    small, large = RunSize(4_000_000, 0, 0, 0), RunSize(400_000_000, 0, 0, 0)
    assert small.memory_bytes(2) == large.memory_bytes(2)
    # Measured with 12 M events in 3 epochs: 774 + 464 + 2,164 MB.
    assert 2.4e9 < small.memory_bytes(2) < 4.8e9
