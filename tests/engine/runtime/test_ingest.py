"""The events of all sources have consecutive numbers from 1, in order of arrival; the end of a source is an event."""

from __future__ import annotations

import gzip
import signal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from engine.contract.scan import Scan
from engine.errors import PipelineError, SourceError
from engine.model.pipeline import Pipeline
from engine.runtime import run
from engine.sources.parquet import Parquet
from engine.spark.run_files import LocalFiles
from tests.engine.reading.large import large_values
from tests.golden.trace import TraceRecorder, plan_of, run_pipeline

FOLDER = Path(__file__).parent


def source(name: str, rows: list[Any], **parameters: Any) -> dict[str, Any]:
    columns = [{"name": "v", "type": "string"}, {"name": "at", "type": "bigint"}]
    return {"id": name, "operator": "rows", "parameters": {"columns": columns, "rows": rows, **parameters}}


def pipeline(*sources: dict[str, Any], **arrival: Any) -> Pipeline:
    edges = [{"source": one["id"], "target": "all"} for one in sources]
    union = {"id": "all", "operator": "union"}
    return Pipeline.from_dict({"nodes": [*sources, union], "edges": edges, "arrival": arrival})


A = source("a", [["a1", 10], ["a2", 40], ["a3", 50]], arrival_column="at")
B = source("b", [["b1", 10], ["b2", 20]], arrival_column="at")
EMPTY = source("c", [], arrival_column="at")


def order(trace: TraceRecorder) -> dict[int, str]:
    events = {one.seq: one.row[0] for one in trace.records["all"]}
    ends = {row["seq"]: f"end of {row['source']}" for row in trace.watermarks if row["is_end"]}
    return dict(sorted((events | ends).items()))


@pytest.mark.parametrize(
    ("arrival", "expected"),
    [
        ({"mode": "one_after_the_other"}, "end of c, a1, a2, a3, end of a, b1, b2, end of b"),
        ({"mode": "in_turn"}, "end of c, a1, b1, a2, b2, end of b, a3, end of a"),
        ({"mode": "by_column"}, "end of c, a1, b1, b2, end of b, a2, a3, end of a"),
        ({"mode": "listed", "order": list("abaab")}, "end of c, a1, b1, a2, a3, end of a, b2, end of b"),
        ({"mode": "in_turn", "ends": "together"}, "a1, b1, a2, b2, a3, end of a, end of b, end of c"),
    ],
)
def test_sources_interleave_as_asked_and_end_with_their_last_record(
    arrival: dict[str, Any], expected: str, spark: SparkSession, tmp_path: Path
) -> None:
    trace = run_pipeline(pipeline(A, B, EMPTY, **arrival), spark, FOLDER, tmp_path, epochs=3)
    found = order(trace)
    assert ", ".join(found.values()) == expected
    assert list(found) == list(range(1, len(found) + 1))


@pytest.mark.parametrize(
    ("arrival", "sentence"),
    [
        (
            {"mode": "listed", "order": ["a", "b"]},
            "a: arrival.order lists it 1 times, but it has 3 events, rejected rows not counted. "
            "List every event, or choose another order of arrival.",
        ),
        (
            {"mode": "listed", "order": ["x"]},
            "arrival.order: unknown source 'x'. Available: a, b, c.",
        ),
    ],
)
def test_an_order_that_does_not_fit_the_sources_is_refused(
    arrival: dict[str, Any], sentence: str, spark: SparkSession, tmp_path: Path
) -> None:
    with pytest.raises(PipelineError) as caught:
        run_pipeline(pipeline(A, B, EMPTY, **arrival), spark, FOLDER, tmp_path)
    assert str(caught.value) == sentence


def test_arrival_by_column_needs_a_column_of_every_source(spark: SparkSession, tmp_path: Path) -> None:
    without = source("b", [["b1", 10]])
    with pytest.raises(
        PipelineError, match="b: the sources are merged by a column, but this one has no arrival column"
    ):
        run_pipeline(pipeline(A, without, mode="by_column"), spark, FOLDER, tmp_path)


def test_a_source_merged_by_a_column_sends_its_watermark_by_what_has_arrived(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = [["x", 900], ["x", 100], ["x", 300], ["x", 200]]
    timed = source("a", rows, event_time="at", watermark_every=2, arrival_column="at")
    trace = run_pipeline(pipeline(timed, mode="by_column"), spark, FOLDER, tmp_path, epochs=2)
    assert [(row["event_time_ms"], row["watermark_ms"]) for row in trace.watermarks[:-1]] == [
        (100, None),
        (200, 200),
        (300, 200),
        (900, 900),
    ]


def test_a_watermark_sent_every_second_record_stays_in_between(spark: SparkSession, tmp_path: Path) -> None:
    rows = [["x", 100], ["x", 300], ["x", 200], ["x", 250], ["x", 900]]
    timed = source("a", rows, event_time="at", watermark_delay_ms=10, watermark_every=2)
    trace = run_pipeline(pipeline(timed), spark, FOLDER, tmp_path, epochs=2)
    assert [row["watermark_ms"] for row in trace.watermarks[:-1]] == [None, 290, 290, 290, 290]


def test_an_explicit_watermark_is_an_event_without_a_record(spark: SparkSession, tmp_path: Path) -> None:
    rows = [["x", 100], {"watermark": 500}, ["y", 400], {"watermark": 300}]
    timed = source("a", rows, event_time="at", watermark_delay_ms=None)
    trace = run_pipeline(pipeline(timed), spark, FOLDER, tmp_path, epochs=2)
    assert [one.seq for one in trace.records["all"]] == [1, 3]
    assert [row["watermark_ms"] for row in trace.watermarks[:-1]] == [None, 500, 500, 500]


@pytest.mark.parametrize("mode", ["one_after_the_other", "in_turn"])
def test_tables_over_one_file_share_its_reading_and_each_has_its_own_events(
    mode: str, spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in.csv").write_text("n,at\n1,30\n2,10\nx,20\n3,40\n")
    double = {"name": "more", "expression": "n * 2"}
    tables: dict[str, dict[str, Any]] = {
        "one": {"event_time": "at", "watermark_delay_ms": 5},
        "same": {"event_time": "at", "watermark_delay_ms": 20},
        "plain": {},
        "more": {"event_time": "at", "computed": [double]},
        "timed": {"event_time": "more", "computed": [double]},
    }
    types = {"n": "BIGINT"}
    nodes = [
        {"id": name, "operator": "csv", "parameters": {"path": "in.csv", "types": types, **given}}
        for name, given in tables.items()
    ]

    def of(*sources: dict[str, Any], folder: str) -> tuple[TraceRecorder, list[Path]]:
        document = Pipeline.from_dict({"nodes": [*sources], "edges": [], "arrival": {"mode": mode}})
        trace = run_pipeline(document, spark, tmp_path, tmp_path / folder, epochs=2)
        return trace, [*tmp_path.glob(f"{folder}/**/sources/**/*.parquet")]

    together, units = of(*nodes, folder="together")
    assert len(units) == len(nodes) - 1
    for node in nodes:
        name = str(node["id"])
        alone, _ = of(node, folder=name)
        assert [one.row for one in together.records[name]] == [one.row for one in alone.records[name]]
        for rows in ("rejected", "watermarks"):
            mine = [row for row in getattr(together, rows) if row.get("node", row.get("source")) == name]
            own = getattr(alone, rows)
            assert [{**row, "seq": None} for row in mine] == [{**row, "seq": None} for row in own], (name, rows)
        assert len(alone.rejected) == 1


def test_a_damaged_file_is_told_with_its_node_and_line(spark: SparkSession, tmp_path: Path) -> None:
    random = Random(7)
    lines = [f"{number},{random.randrange(1 << 60)}" for number in range(20_000)]
    packed = gzip.compress("\n".join(["n,x", *lines, ""]).encode())
    (tmp_path / "whole.csv.gz").write_bytes(packed)
    (tmp_path / "cut.csv.gz").write_bytes(packed[: len(packed) // 2])
    sources = ({"id": name, "operator": "csv", "parameters": {"path": f"{name}.csv.gz"}} for name in ("whole", "cut"))
    plan = plan_of(pipeline(*sources), spark, tmp_path)
    told = r"^cut: it cannot be read: cut\.csv\.gz is damaged after line \d+: Compressed file ended .*Save or copy"
    with pytest.raises(SourceError, match=told):
        run(plan, spark=spark, recorder=TraceRecorder(), folder=tmp_path, files=LocalFiles(tmp_path / "work"))


def test_a_damaged_page_of_parquet_is_told_with_its_node_and_file(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    texts = pa.array([f"{number:x}" * 5 for number in range(5_000)])
    pq.write_table(pa.table({"x": texts}), file, row_group_size=2_500, use_dictionary=False)
    content = bytearray(file.read_bytes())
    start = pq.read_metadata(file).row_group(1).column(0).data_page_offset
    content[start + 40 : start + 400] = bytes(360)
    file.write_bytes(content)
    plan = plan_of(pipeline({"id": "a", "operator": "parquet", "parameters": {"path": "t.parquet"}}), spark, tmp_path)
    with pytest.raises(
        SourceError, match=r"^a: it cannot be read: t\.parquet is damaged after record 0: .*[^.]\. Save or"
    ):
        run(plan, spark=spark, recorder=TraceRecorder(), folder=tmp_path, files=LocalFiles(tmp_path / "work"))


PARQUET = pipeline({"id": "in", "operator": "parquet", "parameters": {"path": "in.parquet"}})


def test_parquet_that_asks_a_worker_for_too_much_memory_is_told_with_its_node_and_file(
    spark: SparkSession, tmp_path: Path
) -> None:
    large_values(tmp_path / "in.parquet")
    plan = plan_of(PARQUET, spark, tmp_path)
    with pytest.raises(SourceError, match=r"in: it cannot be read: in.parquet takes more than [0-9,]+ MB of memory"):
        run(plan, spark=spark, recorder=TraceRecorder(), folder=tmp_path, files=LocalFiles(tmp_path / "work"))
    assert spark.range(3).count() == 3


def test_a_file_that_ends_its_worker_is_told_with_its_node(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a library does that meets what it never expected: the process that reads it is gone."""
    pq.write_table(pa.table({"a": [1]}), tmp_path / "in.parquet")
    fatal = Scan((signal.SIGABRT,), signal.raise_signal, is_foreign=True)
    monkeypatch.setattr(Parquet, "scan", lambda *_: fatal)
    plan = plan_of(PARQUET, spark, tmp_path)
    with pytest.raises(SourceError, match=r"in: path: the process that reads SIGABRT ended by itself \(status -6\)"):
        run(plan, spark=spark, recorder=TraceRecorder(), folder=tmp_path, files=LocalFiles(tmp_path / "work"))
    assert spark.range(3).count() == 3
