"""The first pipeline for a dropped file."""

from __future__ import annotations

from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.contract.scan import LINE_BYTES
from engine.errors import PipelineError, StudioError
from engine.examples.from_file import first_pipeline, sources_beside
from engine.model.pipeline import Pipeline
from engine.planner import check
from tests.engine.planning import NoAnalyzer


def wrong(pipeline: Pipeline, folder: Path) -> tuple[StudioError, ...]:
    return check(pipeline, NoAnalyzer(), folder).problems


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "orders.csv").write_text("order_id,amount,created_at\n1,5,2024-01-01 10:00:00\n")
    (tmp_path / "words.jsonl").write_text('{"word": "Hello", "n": 1}\n{"word": "World", "n": 2}\n')
    (tmp_path / "tabs.tsv").write_text("city\tinhabitants\nPotsdam\t180000\n")
    (tmp_path / "semicolons.csv").write_text("user_id;name;at\n1;a, b;2024-01-01 10:00:00\n")
    pq.write_table(pa.table({"key": ["a"], "ts": [1000]}), tmp_path / "events.parquet")
    kept_at = {"type": "long", "logicalType": "timestamp-millis"}
    fields = [{"name": "order_id", "type": "int"}, {"name": "kept_at", "type": kept_at}]
    with (tmp_path / "kept.avro").open("wb") as file:
        fastavro.writer(file, {"type": "record", "name": "Order", "fields": fields}, [{"order_id": 1, "kept_at": 1000}])
    return tmp_path


@pytest.mark.parametrize(
    ("file", "operators", "time"),
    [
        ("orders.csv", ["csv", "deduplicate", "sink"], "created_at"),
        ("words.jsonl", ["jsonl", "aggregate", "sink"], None),
        ("semicolons.csv", ["csv", "deduplicate", "sink"], "at"),
        ("tabs.tsv", ["csv", "aggregate", "sink"], None),
        ("events.parquet", ["parquet", "deduplicate", "sink"], "ts"),
        ("kept.avro", ["avro", "deduplicate", "sink"], "kept_at"),
    ],
)
def test_a_file_becomes_a_pipeline_with_nothing_wrong(
    folder: Path, file: str, operators: list[str], time: str | None
) -> None:
    pipeline = first_pipeline(file, folder)
    assert [node.operator for node in pipeline.nodes] == operators
    assert pipeline.nodes[0].parameters.get("event_time") == time
    assert wrong(pipeline, folder) == ()


def test_several_files_become_sources_beside_each_other(folder: Path) -> None:
    (folder / "more").mkdir()
    (folder / "more" / "rides.csv").write_text("id,at\n1,2024-01-01 10:00:00\n")
    (folder / "rides.csv").write_text("id,at\n1,2024-01-01 10:00:00\n")
    pipeline = sources_beside(["rides.csv", "more/rides.csv"], folder)
    assert [(node.id, node.parameters["event_time"]) for node in pipeline.nodes] == [("rides", "at"), ("rides_2", "at")]
    assert pipeline.edges == ()


def test_a_few_odd_values_are_rejected_in_columns_of_numbers_as_in_those_of_times(tmp_path: Path) -> None:
    good = "".join(f"{n},{n}.5,2024-01-01 10:00:{n % 60:02}\n" for n in range(100))
    (tmp_path / "rides.csv").write_text(f"ride_id,fare,at\n{good}100,abc,2024-01-01 11:00:00\n101,2.5,never\n")
    pipeline = first_pipeline("rides.csv", tmp_path)
    assert pipeline.nodes[0].parameters["types"] == {"fare": "DOUBLE", "at": "TIMESTAMP(3)"}
    (tmp_path / "mixed.csv").write_text(f"ride_id,fare,at\n{good}" + "7,abc,2024-01-01 11:00:00\n" * 50)
    assert "types" not in first_pipeline("mixed.csv", tmp_path).nodes[0].parameters


def test_a_file_that_cannot_be_read_opens_all_the_same_with_the_reason_at_its_node(tmp_path: Path) -> None:
    (tmp_path / "broken.parquet").write_bytes(b"this is no parquet")
    pipeline = first_pipeline("broken.parquet", tmp_path)
    assert [node.operator for node in pipeline.nodes] == ["parquet", "sink"]
    assert [problem.node for problem in wrong(pipeline, tmp_path)] == ["broken"]


@pytest.mark.parametrize("name", ["a.csv", "a.txt", "a.jsonl", "a.log"])
def test_a_file_of_one_long_line_opens_all_the_same(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("x" * (LINE_BYTES + 1))
    (tmp_path / f"field-{name}").write_text(f'"{"x" * 200_000}",b\n1,2\n')
    for file in (name, f"field-{name}"):
        assert first_pipeline(file, tmp_path).nodes[0].parameters["path"] == file


def test_an_empty_file_opens_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "nothing.csv").write_text("")
    assert [node.operator for node in first_pipeline("nothing.csv", tmp_path).nodes] == ["csv", "sink"]


def test_a_kind_of_file_that_is_not_read_is_refused_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match=r"photo\.png is not a file type .*; it reads \.avro, \.csv, .*\.parquet"):
        first_pipeline("photo.png", tmp_path)


def test_rows_are_not_counted_by_what_each_has_alone(tmp_path: Path) -> None:
    lines = [f"P{at},{'north' if at % 3 else 'south'},{at}.5" for at in range(30)]
    (tmp_path / "parcels.csv").write_text("\n".join(["parcel,depot,weight", *lines]))
    assert first_pipeline("parcels.csv", tmp_path).node("counts").parameters["group_by"] == ["depot"]
    (tmp_path / "few.csv").write_text("\n".join(["parcel,depot,weight", *lines[:3]]))
    assert first_pipeline("few.csv", tmp_path).node("counts").parameters["group_by"] == ["parcel"]
