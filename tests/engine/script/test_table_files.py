"""Tables of files in Flink SQL: a script reads the statement that a source writes."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from engine.model.pipeline import Edge, Node, Pipeline
from tests.engine.script.scripts import read, written
from tests.engine.sources.workbooks import write_workbook

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pipeline_of(operator: str, **parameters: Any) -> Pipeline:
    nodes = (Node(id="t", operator=operator, parameters=parameters), Node(id="sink", operator="sink"))
    return Pipeline(name="p", nodes=nodes, edges=(Edge(source="t", target="sink"),))


CASES = {
    "sheet": ("excel", {"path": "book.xlsx", "table": "Orders", "event_time": "at", "watermark_delay_ms": 5000}),
    "cells": ("excel", {"path": "book.xlsx", "table": "Orders", "header": False}),
    "sqlite": ("sqlite", {"path": "shop.sqlite", "table": "orders", "primary_key": ["id"], "types": {"id": "INT"}}),
    "duckdb": ("duckdb", {"path": "shop.duckdb", "table": "orders", "event_time": "at", "watermark_delay_ms": 0}),
    "lines": ("text_lines", {"path": "app.log", "column": "text", "charset": "ISO-8859-1"}),
    "bytes": ("text_lines", {"path": "app.log", "column": "text", "types": {"text": "BYTES"}}),
    "kinds": ("sqlite", {"path": "shop.sqlite", "table": "changes", "kind_column": "op"}),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_workbook(tmp_path / "book.xlsx", {"More": {1: ["a"]}, "Orders": {1: ["id", "at"], 2: [1, (45413.5, 1)]}})
    with sqlite3.connect(tmp_path / "shop.sqlite") as shop:
        shop.execute("CREATE TABLE orders (id INTEGER, at TEXT)")
        shop.execute("CREATE TABLE changes (op TEXT, id INTEGER)")
    shop.close()
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as shop:
        shop.execute('CREATE TABLE orders (id INTEGER, "at" TIMESTAMP)')
    (tmp_path / "app.log").write_text("up\n")
    return tmp_path


@pytest.mark.parametrize("name", CASES)
def test_a_source_as_a_script_and_back_is_itself(name: str, folder: Path, spark: SparkSession) -> None:
    operator, parameters = CASES[name]
    pipeline = pipeline_of(operator, **parameters)
    script = written(pipeline, spark, folder)
    back = read(script.text, spark, folder)
    assert back.pipeline.nodes[0].operator == operator
    assert {name: each for name, each in back.pipeline.nodes[0].parameters.items() if name in parameters} == parameters
    assert written(back.pipeline, spark, folder).text == script.text


def test_a_table_of_an_unknown_database_has_no_rows_and_a_note_names_those_that_are_known(
    spark: SparkSession, folder: Path
) -> None:
    script = "CREATE TABLE t (a INT) WITH ('connector' = 'jdbc', 'url' = 'jdbc:db2://h/d'); SELECT * FROM t"
    back = read(script, spark, folder)
    assert back.pipeline.nodes[0].parameters["rows"] == []
    [note] = back.warnings
    assert "'jdbc:duckdb:FILE' or 'jdbc:mysql:" in note
