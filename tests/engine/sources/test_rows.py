"""Rows in the document: values, kinds, watermark events and rejected rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from engine.contract.frames import REJECTED_COLUMNS
from engine.errors import PipelineError
from engine.model.changelog import ALL_CHANGES, INSERT_ONLY
from engine.model.schema import TimeUnit
from engine.model.timeline import MAX_WATERMARK
from engine.sources.rows import Rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path()
KTV = [{"name": "k", "type": "STRING"}, {"name": "ts", "type": "BIGINT"}, {"name": "v", "type": "INT"}]


def rows(*items: Any, columns: list[dict[str, str]] | None = None, **parameters: Any) -> Rows:
    return Rows.model_validate({"columns": columns or KTV, "rows": items, **parameters})


def read(spark: SparkSession, source: Rows) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    found = [tuple(row) for row in source.read(spark, "n", HERE).rows.orderBy("__ordinal").collect()]
    records = [row[: -len(REJECTED_COLUMNS)] for row in found if row[-1] is None]
    return records, [row[-len(REJECTED_COLUMNS) :] for row in found if row[-1] is not None]


def test_lists_and_objects_become_inserts_in_their_order(spark: SparkSession) -> None:
    records, rejected = read(spark, rows(["a", 1, 2], {"v": 4, "k": "b"}, [None, None, None]))
    assert records == [(1, 0, None, "a", 1, 2), (2, 0, None, "b", None, 4), (3, 0, None, None, None, None)]
    assert rejected == []


def test_a_watermark_item_is_an_event_without_a_row(spark: SparkSession) -> None:
    records, _ = read(spark, rows({"watermark": 9}, ["a", 1, 2], {"watermark": "max"}))
    assert records[0] == (1, None, 9, None, None, None)
    assert records[2] == (3, None, MAX_WATERMARK, None, None, None)


def test_a_column_called_watermark_is_a_column(spark: SparkSession) -> None:
    records, _ = read(spark, rows({"watermark": 9}, columns=[{"name": "watermark", "type": "bigint"}]))
    assert records == [(1, 0, None, 9)]


def test_with_a_changelog_each_row_starts_with_its_kind(spark: SparkSession) -> None:
    source = rows(["+I", "a", 1, 2], {"kind": "-U", "k": "a"}, ["+U", "a", 1, 3], ["-D", "a", 1, 3], changelog=True)
    records, rejected = read(spark, source)
    assert [record[1] for record in records] == [0, 1, 2, 3]
    assert rejected == []


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (["a", 1], "2 values for 3 columns (k, ts, v)"),
        (["a", 1, 2, 3], "4 values for 3 columns (k, ts, v)"),
        (["a", "soon", 2], "column 'ts': \"soon\" is not a BIGINT"),
        (["a", 1, 2.5], "column 'v': 2.5 is not an INT"),
        (["a", 1, True], "column 'v': true is not an INT"),
        (["a", 1, 3_000_000_000], "column 'v': 3000000000 does not fit an INT"),
        (["a", None, 2], "column 'ts': the event time is null"),
        ({"k": "a", "w": 1}, "unknown column 'w'. Available: k, ts, v"),
        ([["a"], 1, 2], "column 'k': [\"a\"] is not a STRING"),
    ],
)
def test_a_row_that_does_not_fit_is_rejected_with_its_number(spark: SparkSession, item: Any, reason: str) -> None:
    records, rejected = read(spark, rows(["a", 1, 2], item, ["b", 3, 4], event_time="ts"))
    assert [record[3:] for record in records] == [("a", 1, 2), ("b", 3, 4)]
    assert [(file, line, why) for file, line, _, why in rejected] == [("n", 2, reason)]


def test_a_row_without_a_kind_is_rejected_where_kinds_are_expected(spark: SparkSession) -> None:
    _, rejected = read(spark, rows(["a", 1, 2], changelog=True))
    assert rejected[0][3] == "2 values for 3 columns (k, ts, v)"
    _, rejected = read(spark, rows(["I", "a", 1, 2], changelog=True))
    assert rejected[0][3] == 'the row starts with "I", which is not a row kind; use +I, -U, +U, -D'


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        ("TIMESTAMP_LTZ(3)", 1500, "1970-01-01 00:00:01.5"),
        ("TIMESTAMP(3)", 1500, "1970-01-01 00:00:01.5"),
        ("TIMESTAMP(3)", -1, "1969-12-31 23:59:59.999"),
        ("TIMESTAMP", "2024-05-01T10:00:00+02:00", "2024-05-01 08:00:00"),
        ("TIMESTAMP(3)", "2024-05-01 10:00:00", "2024-05-01 10:00:00"),
        ("DATE", "2024-05-01", "2024-05-01"),
        ("DECIMAL(10,2)", "1.105", "1.11"),
        ("DECIMAL(10,2)", 2, "2.00"),
        ("DOUBLE", "-0.5", "-0.5"),
        ("BOOLEAN", "TRUE", "true"),
        ("STRING", 12, "12"),
        ("BIGINT", "12", "12"),
        ("ARRAY<INT>", [1, None], "[1, null]"),
        ("MAP<STRING, BIGINT>", {"a": 1}, "{a -> 1}"),
    ],
)
def test_values_are_read_as_their_type(spark: SparkSession, type_: str, value: Any, expected: str) -> None:
    frames = rows([value], columns=[{"name": "odd `name`.x", "type": type_}]).read(spark, "n", HERE)
    assert frames.rejected is not None
    assert frames.rejected.count() == 0
    text = frames.records.selectExpr("CAST(`odd ``name``.x` AS STRING)").collect()
    assert [row[0] for row in text] == [expected]


def test_without_rows_the_frames_are_empty_and_typed(spark: SparkSession) -> None:
    frames = rows().read(spark, "n", HERE)
    assert frames.records.count() == 0
    assert frames.records.dtypes[3:] == [("k", "string"), ("ts", "bigint"), ("v", "int")]


def test_derive_marks_event_time_key_and_kinds() -> None:
    derived = rows(event_time="ts", changelog=True, primary_key=["k"]).derive("n", HERE)
    assert derived.schema.event_time == derived.schema.column("ts")
    assert derived.schema.column("ts").time is TimeUnit.EPOCH_MS
    assert derived.modify == ALL_CHANGES
    assert derived.upsert_keys == frozenset({frozenset({"k"})})
    assert rows().derive("n", HERE).modify == INSERT_ONLY


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"event_time": "when"}, "n: event_time: unknown column 'when'. Available: k, ts, v."),
        (
            {"event_time": "k"},
            "n: event_time: the column 'k' is STRING; an event time is a timestamp, or an integer that counts ms or s "
            "since 1970. Choose another column or give this one such a type.",
        ),
        (
            {"event_time": "ts", "event_time_unit": "timestamp"},
            "n: event_time_unit: the column 'ts' is BIGINT, so its unit cannot be timestamp; use epoch_ms or epoch_s.",
        ),
        ({"primary_key": ["id"]}, "n: primary_key: unknown column 'id'. Available: k, ts, v."),
        ({"columns": [{"name": "a"}, {"name": "A"}]}, "have the same name"),
        ({"columns": [{"name": "__kind"}]}, "a column '__kind' of its own"),
        ({"columns": [{"name": "a", "type": "NUMBER"}]}, "n: columns: unknown type 'NUMBER'. Available: STRING"),
    ],
)
def test_a_wrong_declaration_is_a_sentence(parameters: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PipelineError) as caught:
        rows(**parameters).derive("n", HERE)
    assert sentence in str(caught.value)


def test_a_watermark_that_is_no_number_is_an_error(spark: SparkSession) -> None:
    with pytest.raises(PipelineError, match='a watermark is a number of ms or "max", not "soon"'):
        rows({"watermark": "soon"}).read(spark, "n", HERE)


def test_flink_sql_declares_the_watermark_on_a_computed_time() -> None:
    source = rows(event_time="ts", watermark_delay_ms=5100, primary_key=["k"])
    sql = source.flink_sql("n", source.derive("n", HERE).schema)
    assert "`ts_time` AS TO_TIMESTAMP_LTZ(`ts`, 3)" in sql
    assert "WATERMARK FOR `ts_time` AS `ts_time` - INTERVAL '0 00:00:05.100' DAY TO SECOND(3)" in sql
    assert "PRIMARY KEY (`k`) NOT ENFORCED" in sql
