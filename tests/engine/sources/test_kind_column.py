"""Files with a changelog: a column has the kind of each row."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.errors import PipelineError
from engine.model.changelog import ALL_CHANGES, INSERT_ONLY, UpdateKind
from engine.reading.files.source import RowFile
from engine.sources.csv import Csv
from engine.sources.jsonl import JsonLines
from engine.sources.parquet import Parquet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WORDS = ["+I", "-U", "+U", "-D", "i", "U", "d", " Insert ", "UPDATE", "delete", "UPDATE_BEFORE", "ua"]
KINDS = [0, 1, 2, 3, 0, 2, 3, 0, 2, 3, 1, 2]
BAD = "upsert"
ADVICE = "use +I, -U, +U, -D, or insert, update, delete"


def csv(folder: Path, kinds: list[str | None]) -> RowFile:
    lines = ["k,op,v", *(f"a,{kind or ''},{at}" for at, kind in enumerate(kinds))]
    (folder / "in.csv").write_text("\n".join(lines), encoding="utf-8")
    return Csv(path="in.csv", kind_column="op", primary_key=("k",))


def jsonl(folder: Path, kinds: list[str | None]) -> RowFile:
    shown = [f', "op": "{kind}"' if kind else "" for kind in kinds]
    lines = [f'{{"k": "a"{kind}, "v": {at}}}' for at, kind in enumerate(shown)]
    (folder / "in.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return JsonLines(path="in.jsonl", kind_column="op", primary_key=("k",))


def parquet(folder: Path, kinds: list[str | None]) -> RowFile:
    columns = {"k": ["a"] * len(kinds), "op": pa.array(kinds, pa.string()), "v": list(range(len(kinds)))}
    pq.write_table(pa.table(columns), folder / "in.parquet")
    return Parquet(path="in.parquet", kind_column="op", primary_key=("k",))


MAKERS = pytest.mark.parametrize("make", [csv, jsonl, parquet])


@MAKERS
def test_every_row_has_the_kind_that_its_column_says(spark: SparkSession, tmp_path: Path, make: Any) -> None:
    source: RowFile = make(tmp_path, [*WORDS, BAD, None])
    derived = source.derive("n", tmp_path)
    assert derived.schema.names == ("k", "v")
    assert derived.modify == ALL_CHANGES
    assert derived.upsert_keys == frozenset({frozenset({"k"})})
    frames = source.read(spark, "n", tmp_path)
    records = [tuple(row) for row in frames.records.orderBy("__ordinal").select("__kind", "k", "v").collect()]
    assert records == [(kind, "a", at) for at, kind in enumerate(KINDS)]
    assert frames.rejected is not None
    first = len(WORDS) + (2 if make is csv else 1)
    assert [tuple(row) for row in frames.rejected.orderBy("line").select("line", "reason").collect()] == [
        (first, f"column 'op': \"upsert\" is not a row kind; {ADVICE}"),
        (first + 1, f"column 'op': the row kind is missing; {ADVICE}"),
    ]


@MAKERS
def test_a_kind_column_that_is_not_there_or_alone_is_a_sentence(tmp_path: Path, make: Any) -> None:
    source: RowFile = make(tmp_path, ["+I"])
    with pytest.raises(PipelineError, match=r"kind_column: unknown column 'kind'. Available: k, op, v"):
        source.model_copy(update={"kind_column": "kind"}).derive("n", tmp_path)
    with pytest.raises(PipelineError, match=r"primary_key: unknown column 'op'. Available: k, v"):
        source.model_copy(update={"primary_key": ("op",)}).derive("n", tmp_path)


def test_without_a_kind_column_all_rows_are_inserts_and_a_key_may_be_declared(tmp_path: Path) -> None:
    source = jsonl(tmp_path, ["+I"]).model_copy(update={"kind_column": None})
    derived = source.derive("n", tmp_path)
    assert (derived.schema.names, derived.modify) == (("k", "op", "v"), INSERT_ONLY)
    assert derived.upsert_keys == frozenset({frozenset({"k"})})


def test_updates_by_key_come_without_the_row_before(tmp_path: Path) -> None:
    source = jsonl(tmp_path, ["+I"])
    assert source.update_kind is UpdateKind.BEFORE_AND_AFTER
    assert source.model_copy(update={"updates_by_key": True}).update_kind is UpdateKind.ONLY_UPDATE_AFTER


def test_in_flink_sql_a_view_takes_the_rows_for_a_changelog(tmp_path: Path) -> None:
    source = jsonl(tmp_path, ["+I"])
    schema = source.derive("n", tmp_path).schema
    assert source.flink_sql("n", schema) == (
        "CREATE TABLE `n rows` (\n  `op` STRING,\n  `k` STRING,\n  `v` BIGINT\n) WITH (\n"
        "  'connector' = 'filesystem',\n  'path' = 'in.jsonl',\n  'format' = 'json',\n"
        "  'json.ignore-parse-errors' = 'true'\n);\n\n"
        "CREATE VIEW `n` AS SELECT * FROM FROM_CHANGELOG(\n  input => TABLE `n rows`,\n"
        "  op => DESCRIPTOR(`op`),\n  op_mapping => MAP[\n"
        "    '+I, +i, I, i, INSERT, insert', 'INSERT',\n"
        "    '-U, -u, UB, ub, UPDATE_BEFORE, update_before', 'UPDATE_BEFORE',\n"
        "    '+U, +u, U, u, UA, ua, UPDATE, update, UPDATE_AFTER, update_after', 'UPDATE_AFTER',\n"
        "    '-D, -d, D, d, DELETE, delete', 'DELETE'\n  ]\n)"
    )
    upserts = source.model_copy(update={"updates_by_key": True})
    assert "-- Upserts by `k`: Flink replaces rows" in upserts.flink_sql("n", schema)
