"""Runs kept as tests: what they read and gave, as texts, run again, shrunk, and accepted."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from engine.__main__ import main
from engine.errors import PipelineError
from engine.examples import examples
from engine.expressions.analyzer import TypeRules
from engine.kept.answers import Output
from engine.kept.judging import judged
from engine.kept.keeping import Chosen, Recorded, keep
from engine.kept.kept_test import KeptTest
from engine.kept.manifest import Wanted
from engine.kept.replaying import InProcess
from engine.kept.shrinking import shrunk
from engine.model.changelog import SYMBOLS
from engine.model.pipeline import Pipeline
from engine.model.schema import Column
from engine.model.type_texts import type_from
from engine.reading.recorded import about
from engine.reading.recorded_text import TextPart, batch_of
from storage import Store
from tests.conformance.case import Case
from tests.storage.local_runs import no_spark, run_locally
from tests.storage.test_recordings import TWO as TWO_SOURCES

TWO = Pipeline.from_dict(
    {
        **json.loads(TWO_SOURCES.to_json()),
        "nodes": [
            *(
                node.with_parameters(
                    {**node.parameters, "late_records": "port"} if node.id == "windows" else node.parameters
                )
                for node in TWO_SOURCES.nodes
            ),
            {"id": "missed", "operator": "union"},
        ],
        "edges": [
            *TWO_SOURCES.model_dump()["edges"],
            {"source": "windows", "source_port": "late", "target": "missed"},
        ],
    }
)
HERE = InProcess(no_spark)
NEED_SPARK = ("q1", "q10", "q14", "q15", "q16", "q17", "q21", "q22")
CASES = Path(__file__).parents[1] / "conformance" / "cases"
ALL_TYPES = [
    ("text", "string", ["ü\n", "", None]),
    ("small", "tinyint", [1, -128, None]),
    ("real", "float", [24.6, "NaN", "-Infinity"]),
    ("wide", "double", [0.1, 1e300, None]),
    ("exact", "decimal(10,2)", ["1.50", "-0.01", None]),
    ("day", "date", ["2024-02-29", "0001-01-01", None]),
    ("at", "timestamp_ntz", ["2024-02-29T01:02:03.004005", "1969-12-31T23:59:59.999", None]),
    ("instant", "timestamp", ["2024-02-29T01:02:03.004Z", "1969-12-31T23:59:59.999Z", None]),
    ("bytes", "binary", ["a", "b", None]),
    ("list", "array<array<int>>", [[[1, None], []], [], None]),
    ("pairs", "map<string,decimal(4,1)>", [[["a", "1.5"]], [], None]),
    ("row", "struct<a:int,b:array<binary>>", [{"a": 1, "b": ["x"]}, {"a": None, "b": None}, None]),
]


def kept(store: Store, folder: Path, pipeline: Pipeline, chosen: Chosen | None = None, **wanted: Any) -> KeptTest:
    run = run_locally(store, folder, pipeline)
    edges = wanted.pop("edges", ("windows", "counts", "windows.late"))
    recorded = Recorded(pipeline, store.recordings.write(run))
    return keep(recorded, Wanted.of(name="two sources", edges=edges, **wanted), folder / "kept", HERE, chosen)


def lines(test: KeptTest, file: str) -> list[str]:
    return (test.folder / file).read_text(encoding="utf-8").splitlines()


def with_delay(pipeline: Pipeline, delay_ms: int) -> Pipeline:
    left = pipeline.node("left")
    patient = left.with_parameters(left.parameters | {"watermark_delay_ms": delay_ms})
    return pipeline.model_copy(update={"nodes": (patient, *pipeline.nodes[1:])})


def test_a_kept_run_is_texts_that_give_again_what_it_gave(store: Store, tmp_path: Path) -> None:
    test = kept(store, tmp_path, TWO)
    assert lines(test, "sources/left.jsonl")[1:-1] == [
        '["event","kind","k","v","at","tags"]',
        '[1,"+I","a","1.50","1970-01-01T00:00:01.000Z",[1]]',
        '[3,"+I","b","2.00","1970-01-01T00:00:03.000Z",null]',
        '[5,"+I","late","1.00","1970-01-01T00:00:00.900Z",[]]',
        '[8,"watermark",9000]',
    ]
    assert json.loads(lines(test, "sources/left.jsonl")[-1])[:3] == ["rejected", "left", 4]
    run = store.changelog.page(1, "counts")
    assert lines(test, "expected/counts.jsonl")[1:] == [
        json.dumps([record.seq, SYMBOLS[record.kind], *record.values], separators=(",", ":")) for record in run.records
    ]
    assert len(lines(test, "expected/windows.late.jsonl")) == 2
    verdict = judged(test, HERE)
    assert verdict.is_same, verdict.sentence
    assert "GROUP BY" in (test.folder / "pipeline.sql").read_text()


def test_values_of_every_type_come_back_as_they_were(store: Store, tmp_path: Path) -> None:
    columns = [{"name": name, "type": type_} for name, type_, _ in ALL_TYPES]
    rows = [[values[at] for _, _, values in ALL_TYPES] for at in range(3)]
    source = {"id": "s", "operator": "rows", "parameters": {"columns": columns, "rows": rows}}
    sink = {"id": "all", "operator": "sink", "parameters": {}}
    edges = [{"source": "s", "target": "all"}]
    test = kept(store, tmp_path, Pipeline.from_dict({"nodes": [source, sink], "edges": edges}), edges=("all",))
    assert len(lines(test, "expected/all.jsonl")) == 4
    # What is expected was computed from the texts; the run itself read the rows.
    assert lines(test, "expected/all.jsonl") == lines(test, "sources/s.jsonl")[1:]
    (recorded,) = store.recordings.write(1).values()
    first = pq.read_table(recorded)
    types = tuple(Column(name, type_from(type_)) for name, type_ in about(recorded).columns)
    again, _ = batch_of(TextPart(str(test.recordings()["s"]), "s"), types)
    typed = pa.Table.from_batches([again]).cast(first.schema)
    assert typed.drop_columns(["real"]).to_pylist() == first.drop_columns(["real"]).to_pylist()
    assert [json.loads(line)[4] for line in lines(test, "sources/s.jsonl")[2:]] == [24.6, "nan", "-inf"]


@pytest.mark.parametrize(
    ("wanted", "first", "count"),
    [
        ({}, '["event","kind","k","n"]', 5),
        ({"order": False}, '["kind","k","n"]', 5),
        ({"order": False, "kinds": False}, '["kind","k","n"]', 5),
        ({"expects": "table", "order": False}, '["k","n"]', 4),
    ],
)
def test_what_is_expected_is_what_counts(
    store: Store, tmp_path: Path, wanted: dict[str, Any], first: str, count: int
) -> None:
    test = kept(store, tmp_path, TWO, edges=("counts",), **wanted)
    found = lines(test, "expected/counts.jsonl")
    assert found[0] == first
    records = [json.loads(line) for line in found[1:]]
    if "order" in wanted:
        assert [record[-2:] for record in records] == sorted(record[-2:] for record in records)
    assert judged(test, HERE).is_same


def test_a_changed_delay_is_a_difference_with_its_event_and_is_kept_when_it_is_accepted(
    store: Store, tmp_path: Path
) -> None:
    test = kept(store, tmp_path, TWO)
    patient = with_delay(TWO, 5000)
    verdict = judged(test, HERE, patient)
    assert [each.edge for each in verdict.differences] == ["windows", "windows.late"]
    assert [who for who, _ in verdict.differences[1].first] == ["expected", "got"]
    assert verdict.differences[1].event == 5
    assert "windows.late: 1 missing, first at event 5." in verdict.sentence
    test.accept(verdict.answers, patient)
    again = KeptTest.in_folder(test.folder)
    assert judged(again, HERE).is_same
    assert again.pipeline().node("left").parameters["watermark_delay_ms"] == 5000


def test_late_records_are_expected_also_where_no_port_is_drawn(store: Store, tmp_path: Path) -> None:
    test = kept(store, tmp_path, TWO_SOURCES, edges=("windows", "windows.late"))
    names, *late = lines(test, "expected/windows.late.jsonl")
    assert names == (
        '["event","kind","event_time","window_start","window_end","watermark","lateness_ms","reason","is_dropped"]'
    )
    stored = store.late.page(1).records
    assert [json.loads(line)[0] for line in late] == [record.seq for record in stored]
    assert [json.loads(line)[6] for line in late] == [record.lateness_ms for record in stored]
    times = [datetime.fromisoformat(json.loads(line)[2]) for line in late]
    assert [round(each.timestamp() * 1000) for each in times] == [record.event_time_ms for record in stored]
    assert judged(test, HERE).is_same
    verdict = judged(test, HERE, with_delay(TWO_SOURCES, 5000))
    assert "windows.late: 1 missing, first at event 5." in verdict.sentence


@pytest.mark.slow
def test_tests_run_on_an_engine_too(
    store: Store, tmp_path: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also what is expected of late records, whose ledger workers write."""
    run = run_locally(store, tmp_path, TWO_SOURCES)
    place = str(tmp_path / "tests")
    edges = ["--edge", "counts", "--edge", "windows.late"]
    assert main(["keep", str(run), f"{place}/all", *edges, "--store", str(store.path)]) == 0
    assert main(["test", place, "--engine", "local[2]"]) == 0
    late = tmp_path / "tests" / "all" / "expected" / "windows.late.jsonl"
    late.write_text(late.read_text().replace("true", "false"))
    assert main(["test", place, "--engine", "local[2]"]) == 1
    assert "windows.late: 1 missing and 1 not expected" in capsys.readouterr().out


def test_the_smallest_set_of_records_still_shows_the_chosen_one(store: Store, tmp_path: Path) -> None:
    """The late record needs the one that moves the watermark, and no other."""
    test = kept(store, tmp_path, TWO, Chosen("windows.late", 0), edges=("windows.late",))
    assert lines(test, "sources/left.jsonl")[2:] == [
        '[3,"+I","b","2.00","1970-01-01T00:00:03.000Z",null]',
        '[5,"+I","late","1.00","1970-01-01T00:00:00.900Z",[]]',
    ]
    assert '"late"' in lines(test, "expected/windows.late.jsonl")[1]
    assert judged(test, HERE).is_same


@pytest.mark.parametrize("needed", [(), (0,), (7,), (0, 9), (2, 3, 8)])
def test_nothing_is_left_that_could_be_left_out(needed: Sequence[int]) -> None:
    assert shrunk(range(10), lambda left: {*needed} <= {*left}) == [*needed]


def test_a_test_says_what_the_pipeline_lacks(store: Store, tmp_path: Path) -> None:
    test = kept(store, tmp_path, TWO)
    other = Pipeline.from_json(TWO.to_json().replace('"left"', '"lefty"'))
    assert "the pipeline lacks: unknown source 'left'" in judged(test, HERE, other).problem
    left = test.recordings()["left"]
    head = "\n".join(lines(test, "sources/left.jsonl")[:2])
    for wrong, problem in {
        '[1,"+I","a"]': "line 3: 1 values for 4 columns",
        '["+I","a"]': "line 3: it begins with the number of the event",
        '[1,"+I","a","one",1,[]]': "line 3: a value is not a DECIMAL",
        '[2,"+I","a","1",1,[]]\n[1,"+I","a","1",1,[]]': "line 4: the numbers of events do not rise",
        "nothing": "line 3: it is not JSON",
    }.items():
        left.write_text(f"{head}\n{wrong}\n")
        assert problem in judged(test, HERE).problem
    changed = test.folder / "expected" / "counts.jsonl"
    changed.write_text('["event","kind","k","n"]\nspoilt\n')
    left.write_text(f"{head}\n")
    verdict = judged(test, HERE)
    assert not verdict.problem
    (spoilt,) = (each for each in verdict.differences if each.edge == "counts")
    assert ("expected", ("spoilt",)) in spoilt.first
    left.write_text("{}\n")
    assert "left.jsonl is no recording" in judged(test, HERE).problem
    left.unlink()
    assert "left: the test lacks the records of a source, sources/left.jsonl." in judged(test, HERE).problem
    (test.folder / "test.json").write_text('{"name": "x", "edges": ["a"], "sources": ["a"], "wrong": 1}')
    with pytest.raises(PipelineError, match="wrong"):
        KeptTest.in_folder(test.folder)
    with pytest.raises(PipelineError, match="already exists"):
        keep(Recorded(TWO, {}), Wanted(name="again", edges=("counts",)), test.folder, HERE)


def test_a_table_without_retractions_is_folded_by_its_key() -> None:
    records = ((1, "+I", "a", 1), (2, "+I", "b", 1), (3, "+U", "a", 2), (4, "-D", "b", 1))
    assert Output(("k", "n"), records, ("k",)).table() == [("a", 2)]
    assert Output(("k", "n"), (*records[:2], (3, "-U", "a", 1), records[2]), None).table() == [("b", 1), ("a", 2)]


def test_the_command_line_keeps_tests_and_runs_them(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_locally(store, tmp_path, TWO)
    at = ["--store", str(store.path)]
    tests = tmp_path / "tests"
    assert main(["keep", str(run), str(tests / "all"), "--name", "Two <sources>", "--edge", "counts", *at]) == 0
    assert "8 events" in capsys.readouterr().err
    assert main(["keep", str(run), str(tests / "all"), *at]) == 2
    table = ["--edge", "windows", "--table"]
    assert main(["keep", str(run), str(tests / "table"), *table, *at]) == 0
    assert main(["keep", str(run), str(tests / "few"), "--edge", "counts", "--smallest", "1", *at]) == 0
    assert main(["test", str(tests)]) == 0
    assert "3 of 3 tests are as expected." in capsys.readouterr().out
    changed = tmp_path / "changed.json"
    changed.write_text(with_delay(TWO, 5000).to_json())
    junit = tmp_path / "results.xml"
    assert main(["test", str(tests), "--pipeline", str(changed), "--junit", str(junit)]) == 1
    said = capsys.readouterr().out
    assert "FAIL" in said
    assert "got" in said
    suite = ElementTree.parse(junit).getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "0")
    assert [case.get("name") for case in suite] == ["Two <sources>", "few", "table"]
    # Nothing is accepted without an answer.
    update = ["test", str(tests / "table"), "--pipeline", str(changed), "--update"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    assert main(update) == 1
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert main(update) == 0
    assert main(["test", str(tests / "table")]) == 0
    assert main(["test", str(tmp_path / "nothing")]) == 2
    assert main(["test", str(tests), "--yes"]) == 2


def pipelines() -> dict[str, Pipeline]:
    """The gallery, and Nexmark's queries but for those whose expressions need Spark."""
    nexmark = sorted(path for path in CASES.glob("nexmark_q*.json") if ".expected" not in path.name)
    nexmark = [path for path in nexmark if path.stem.removeprefix("nexmark_") not in NEED_SPARK]
    return examples() | {path.stem: Case.read(path).pipeline(TypeRules()) for path in nexmark}


@pytest.mark.parametrize("name", pipelines())
def test_the_gallery_and_nexmark_are_kept_and_give_again_what_their_runs_gave(
    name: str, store: Store, tmp_path: Path
) -> None:
    pipeline = pipelines()[name]
    run = run_locally(store, tmp_path, pipeline)
    sinks = tuple(edge.node for edge in store.runs.edges(run) if edge.role == "sink") or (pipeline.nodes[-1].id,)
    recorded = Recorded(pipeline, store.recordings.write(run))
    test = keep(recorded, Wanted(name=name, edges=sinks), tmp_path / name, HERE)
    assert judged(KeptTest.in_folder(test.folder), HERE).is_same
    for sink in sinks:
        records = store.changelog.page(run, sink, limit=1000).records
        assert records
        found = [json.loads(line)[:2] for line in lines(test, f"expected/{sink}.jsonl")[1:]]
        assert found == [[record.seq, SYMBOLS[record.kind]] for record in records]
