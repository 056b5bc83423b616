"""Change data in the formats of Debezium, Canal and Maxwell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from engine.errors import SourceError
from engine.model.changelog import ALL_CHANGES, SYMBOLS, UpdateKind
from engine.reading.documents.envelopes import EnvelopeFile
from engine.sources.canal_json import CanalJson
from engine.sources.debezium_json import DebeziumJson
from engine.sources.maxwell_json import MaxwellJson
from tests.engine.sources.reading import types

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCES = {source.operator: source for source in (DebeziumJson, CanalJson, MaxwellJson)}
FULL = "in PostgreSQL set REPLICA IDENTITY FULL for the table, so that Debezium sees the old row"


def row(id_: Any, name: Any, weight: Any) -> dict[str, Any]:
    return {"id": id_, "name": name, "weight": weight}


def changes(spark: SparkSession, source: EnvelopeFile, folder: Path) -> tuple[list[str], list[tuple[int, str]]]:
    """The records, such as `+I 1 a 2.5`, and line and reason of the rejected rows."""
    frames = source.read(spark, "n", folder)
    assert frames.rejected is not None
    names = source.derive("n", folder).schema.names
    assert frames.records.columns == ["__ordinal", "__kind", "__watermark", *names]
    records = frames.records.orderBy("__ordinal").collect()
    assert len({record[0] for record in records}) == len(records)
    shown = [" ".join([SYMBOLS[each[1]], *("NULL" if x is None else str(x) for x in each[3:])]) for each in records]
    return shown, [tuple(each) for each in frames.rejected.orderBy("line").select("line", "reason").collect()]


def write(folder: Path, *lines: Any) -> None:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (folder / "in.json").write_text("\n".join(texts) + "\n", encoding="utf-8")


def test_debezium_updates_come_as_the_row_before_and_the_row_after(spark: SparkSession, tmp_path: Path) -> None:
    a, b = row(1, "scooter", 3.5), row(1, "scooter", None)
    write(
        tmp_path,
        {"before": None, "after": a, "source": {"table": "t"}, "op": "c", "ts_ms": 1},
        {"schema": {"type": "struct"}, "payload": {"before": None, "after": row(2, "rocks", 5), "op": "r"}},
        "null",
        {"schema": None, "payload": {"before": a, "after": b, "op": "u"}},
        "",
        {"before": b, "after": None, "op": "d"},
        {"before": None, "after": b, "op": "u"},
        {"before": None, "after": None, "op": "d"},
        {"op": "t"},
        {"after": a},
        {"after": None, "op": "c"},
        {"before": a, "after": {**b, "id": "two"}, "op": "u"},
        '{"before": null, "after"',
        '{"after": "x", "op": "c"}',
        row(1, "plain", 1),
        {"before": {"id": 2}, "after": None, "op": "d"},
    )
    source = DebeziumJson(path="in.json", types={"id": "INT"})
    assert types(source, tmp_path) == "id int, name string, weight double"
    records, rejected = changes(spark, source, tmp_path)
    assert records == [
        "+I 1 scooter 3.5",
        "+I 2 rocks 5.0",
        "-U 1 scooter 3.5",
        "+U 1 scooter NULL",
        "-D 1 scooter NULL",
        "-D 2 NULL NULL",
    ]
    assert rejected == [
        (7, f'the update has no "before"; {FULL}'),
        (8, f'the delete has no "before"; {FULL}'),
        (9, '"op" is "t", not c, r, u or d'),
        (10, 'the line has no "op" (c, r, u or d); is it another format?'),
        (11, 'the line has no "after", the new row'),
        (12, "column 'id': \"two\" is not an INT"),
        (13, "the line is broken JSON"),
        (14, 'the line has no "after", the new row'),
        (15, 'the line has no "op" (c, r, u or d); is it another format?'),
    ]


def test_canal_has_several_rows_per_line_and_only_the_old_values_that_changed(
    spark: SparkSession, tmp_path: Path
) -> None:
    a, b = row("1", "scooter", "3.5"), row("2", None, "5")
    write(
        tmp_path,
        {"data": [a, b], "old": None, "type": "INSERT", "isDdl": False, "pkNames": ["id"]},
        {"data": None, "type": "CREATE", "isDdl": True, "sql": "CREATE TABLE t"},
        {"data": [a, b], "old": [{"weight": "3.25"}, {"name": "rocks"}], "type": "UPDATE"},
        {"data": [a], "old": [{"weight": None}], "type": "UPDATE"},
        {"data": None, "type": "ALTER"},
        {"data": [b, a], "old": None, "type": "DELETE"},
        {"data": [a], "old": None, "type": "UPDATE"},
        {"data": [a, b], "old": [{"name": "x"}], "type": "UPDATE"},
        {"data": [a], "type": "UPSERT"},
        {"data": a, "type": "INSERT"},
        {"data": [a, row("two", "x", "1")], "type": "INSERT"},
        "{",
    )
    source = CanalJson(path="in.json", sample_rows=4)
    assert types(source, tmp_path) == "id bigint, name string, weight double"
    records, rejected = changes(spark, source, tmp_path)
    assert records == [
        "+I 1 scooter 3.5",
        "+I 2 NULL 5.0",
        "-U 1 scooter 3.25",
        "+U 1 scooter 3.5",
        "-U 2 rocks 5.0",
        "+U 2 NULL 5.0",
        "-U 1 scooter NULL",
        "+U 1 scooter 3.5",
        "-D 2 NULL 5.0",
        "-D 1 scooter 3.5",
    ]
    assert rejected == [
        (7, 'the update has no "old" for each row of "data"'),
        (8, 'the update has no "old" for each row of "data"'),
        (9, '"type" is "UPSERT", not INSERT, UPDATE or DELETE'),
        (10, '"data" is not a list of rows'),
        (11, "column 'id': \"two\" is not a BIGINT"),
        (12, "the line is broken JSON"),
    ]


def test_maxwell_has_one_row_per_line_and_only_the_old_values_that_changed(spark: SparkSession, tmp_path: Path) -> None:
    a = row(1, "scooter", 3.5)
    write(
        tmp_path,
        {"database": "d", "table": "t", "type": "insert", "ts": 1, "data": a},
        {"type": "update", "data": a, "old": {"weight": 3.25}},
        {"type": "update", "data": a, "old": {"name": None, "more": 1}},
        {"type": "delete", "data": a},
        {"type": "update", "data": a},
        {"type": "insert"},
        {"type": "bootstrap-start", "data": {}},
    )
    source = MaxwellJson(path="in.json", sample_rows=2)
    records, rejected = changes(spark, source, tmp_path)
    assert records == [
        "+I 1 scooter 3.5",
        "-U 1 scooter 3.25",
        "+U 1 scooter 3.5",
        "-U 1 NULL 3.5",
        "+U 1 scooter 3.5",
        "-D 1 scooter 3.5",
    ]
    assert rejected == [
        (5, 'the update has no "old", the fields that changed'),
        (6, 'the line has no "data", the row'),
        (7, '"type" is "bootstrap-start", not insert, update or delete'),
    ]


@pytest.mark.parametrize("name", SOURCES)
def test_the_source_is_a_changelog_with_updates_in_full_and_says_so_in_flink_sql(tmp_path: Path, name: str) -> None:
    write(tmp_path)
    source = SOURCES[name](path="in.json", types={"id": "INT"}, primary_key=("id",))
    derived = source.derive("n", tmp_path)
    assert (derived.modify, source.update_kind) == (ALL_CHANGES, UpdateKind.BEFORE_AND_AFTER)
    assert derived.upsert_keys == frozenset({frozenset({"id"})})
    assert source.flink_sql("n", derived.schema).endswith(
        "CREATE TABLE `n` (\n  `id` INT NOT NULL,\n  PRIMARY KEY (`id`) NOT ENFORCED\n) WITH (\n"
        "  'connector' = 'filesystem',\n  'path' = 'in.json',\n"
        f"  'format' = '{name.replace('_', '-')}',\n  '{name.replace('_', '-')}.ignore-parse-errors' = 'true'\n)"
    )


@pytest.mark.parametrize("name", SOURCES)
def test_a_file_of_another_format_is_a_sentence(tmp_path: Path, name: str) -> None:
    write(tmp_path, row(1, "plain", 1.5))
    source = SOURCES[name](path="in.json")
    with pytest.raises(SourceError, match=f"in.json has no {source.title} with a row in its first lines"):
        source.derive("n", tmp_path)
