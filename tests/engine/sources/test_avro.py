"""Avro files on Spark and in process."""

from __future__ import annotations

from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastavro
import pytest

from engine.errors import PipelineError, SourceError
from engine.sources.avro import AvroFiles
from tests.engine.script.scripts import content, written
from tests.engine.script.scripts import read as read_script
from tests.engine.sources.reading import read, types

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "at", "type": MILLIS},
        {"name": "price", "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 8, "scale": 2}]},
        {"name": "who", "type": {"type": "record", "name": "Who", "fields": [{"name": "name", "type": "string"}]}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
    ],
}
ID = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}]}


def order(number: int, **others: Any) -> dict[str, Any]:
    return {"id": number, "at": 1000 * number, "price": None, "who": {"name": "ä"}, "tags": ["a", "b"], **others}


def write(folder: Path, schema: Any, rows: list[Any], name: str = "in.avro", **options: Any) -> None:
    with (folder / name).open("wb") as file:
        fastavro.writer(file, schema, rows, **options)


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "bzip2", "xz"])
def test_columns_and_records_are_those_of_the_file(spark: SparkSession, tmp_path: Path, codec: str) -> None:
    write(tmp_path, ORDER, [order(1), order(2, price=Decimal("1.50"))], codec=codec)
    source = AvroFiles(path="in.avro", event_time="at")
    assert types(source, tmp_path) == (
        "id bigint, at timestamp, price decimal(8,2), who struct<`name`:string>, tags array<string>"
    )
    records, rejected = read(spark, source, tmp_path)
    assert rejected == []
    assert records == [
        ("1", "1970-01-01 00:00:01", None, "{ä}", "[a, b]"),
        ("2", "1970-01-01 00:00:02", "1.50", "{ä}", "[a, b]"),
    ]


def test_records_of_many_blocks_and_files_come_in_order(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, ID, [{"id": n} for n in range(25_000)], "b.avro", sync_interval=500)
    write(
        tmp_path,
        {**ID, "fields": [{"name": "more", "type": "string"}, *ID["fields"]]},
        [{"id": -1, "more": ""}],
        "a.avro",
    )  # type: ignore[misc]
    declared = AvroFiles(path=".", types={"id": "BIGINT", "gone": "STRING"}, fixed_columns=True)
    records, rejected = read(spark, declared, tmp_path)
    assert records == [(str(n), None) for n in range(-1, 25_000)]
    assert rejected == []


def test_a_record_that_does_not_fit_is_rejected_with_its_number(spark: SparkSession, tmp_path: Path) -> None:
    schema = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "op", "type": "string"}, {"name": "v", "type": ["null", "int", "string"]}],
    }
    rows = [{"op": "+I", "v": 1}, {"op": "+I", "v": "x"}, {"op": "?", "v": 3}, {"op": "-D", "v": None}]
    write(tmp_path, schema, rows)
    source = AvroFiles(
        path="in.avro", types={"op": "STRING", "v": "INT"}, fixed_columns=True, kind_column="op", not_null=("v",)
    )
    records, rejected = read(spark, source, tmp_path)
    assert records == [("1",)]
    assert rejected == [
        ("in.avro", 2, '{"op": "+I", "v": "x"}', "column 'v': it was written as string, not as int"),
        (
            "in.avro",
            3,
            '{"op": "?", "v": 3}',
            "column 'op': \"?\" is not a row kind; use +I, -U, +U, -D, or insert, update, delete",
        ),
        ("in.avro", 4, '{"op": "-D", "v": null}', "column 'v': it is null, and the column is NOT NULL"),
    ]
    with pytest.raises(SourceError, match="'v' of in.avro is null or int or string, for which Flink has no type"):
        AvroFiles(path="in.avro").derive("n", tmp_path)


def test_a_file_that_is_none_or_damaged_is_told(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "text.avro").write_text("id\n1\n")
    with pytest.raises(SourceError, match=r"text.avro is not an Avro file"):
        AvroFiles(path="text.avro").derive("n", tmp_path)
    write(tmp_path, {"type": "array", "items": "int"}, [[1]], "list.avro")
    with pytest.raises(SourceError, match=r"list.avro has values of array, and no records"):
        AvroFiles(path="list.avro").derive("n", tmp_path)
    node = {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}
    write(tmp_path, node, [{"next": None}], "chain.avro")
    with pytest.raises(SourceError, match=r"its schema contains itself \(N\)"):
        AvroFiles(path="chain.avro").derive("n", tmp_path)
    file = BytesIO()
    fastavro.writer(file, ID, [{"id": 1}])
    (tmp_path / "odd.avro").write_bytes(file.getvalue().replace(b"avro.codec\x08null", b"avro.codec\x12zstandard"))
    with pytest.raises(
        SourceError, match=r"odd.avro is compressed with zstandard, which is not read. Write it with null"
    ):
        AvroFiles(path="odd.avro").derive("n", tmp_path)
    (tmp_path / "cut.avro").write_bytes(file.getvalue()[:-3])
    scan = AvroFiles(path="cut.avro").scan("n", tmp_path)
    with pytest.raises(OSError, match=r"cut.avro is damaged after record 0"):
        list(scan.read(scan.parts[0]))
    with pytest.raises(PipelineError, match=r"the keys of a map are texts in Avro"):
        AvroFiles(path="cut.avro", types={"t": "MAP<INT, INT>"}, fixed_columns=True).derive("n", tmp_path)


def test_the_first_records_of_a_file_are_copied(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, ORDER, [order(n) for n in range(9)], codec="snappy")
    into = tmp_path / "head"
    into.mkdir()
    head = AvroFiles(path="in.avro").head(2, "n", tmp_path, into)
    assert [row[0] for row in read(spark, head, tmp_path)[0]] == ["0", "1"]


def test_a_table_over_files_and_back_is_itself(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, ORDER, [order(1)])
    monkeypatch.chdir(tmp_path)
    script = f"""
        CREATE TABLE orders (id BIGINT NOT NULL, at TIMESTAMP(3), missing INT, WATERMARK FOR at AS at) WITH (
          'connector' = 'filesystem', 'path' = '{tmp_path}/in.avro', 'format' = 'avro'
        );
        SELECT id, missing FROM orders;
    """
    pipeline = read_script(script, spark).pipeline
    source = pipeline.nodes[0]
    assert source.operator == "avro"
    assert source.parameters["legacy_timestamps"] is True
    text = written(pipeline, spark).text
    assert "'format' = 'avro'" in text
    assert "id BIGINT NOT NULL" in text
    assert content(read_script(text, spark).pipeline) == content(pipeline)
    records, _ = read(spark, AvroFiles.model_validate(source.parameters), tmp_path)
    assert records == [("1", "1970-01-01 00:00:01", None)]
