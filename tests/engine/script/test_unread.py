"""What cannot be read does not stop the rest: a statement that failed is a node with its place and its reason."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.errors import NotRead
from engine.expressions.analyzer import TypeRules
from engine.planner import check, plan
from engine.script import Script, script_of, sql_of
from tests.engine.script.scripts import rewritten

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = (
    "CREATE TABLE t (k STRING, v INT) WITH ('connector' = 'kafka');\nINSERT INTO t VALUES ('a', 1);\n"
    "CREATE TABLE o (k STRING) WITH ('connector' = 'print');\n"
)
GOOD = "\nSELECT k FROM t;"


def opened(text: str, spark: SparkSession) -> Script:
    return script_of(text, TypeRules(), Path())


def red(script: Script) -> dict[str, list[str]]:
    """The nodes of statements that could not be read, with their inputs."""
    pipeline = script.pipeline
    names = [node.id for node in pipeline.nodes if node.operator == "unread"]
    return {name: [edge.source for edge in pipeline.inputs(name)] for name in names}


@pytest.mark.parametrize(
    ("statement", "nodes", "sentence"),
    [
        ("CREATE TABLE x (k WRONG);", {"x": []}, "line 4, column 19: k: unknown type 'WRONG'"),
        ("INSERT INTO o SELECT z FROM t;", {"o": ["t"]}, "line 4, column 22: unknown column 'z'. Available: k, v."),
        # A column that is called as a table is not that table.
        ("INSERT INTO o SELECT z, COUNT(*) AS t FROM seen AS s, t AS u;", {"o": ["t"]}, "line 4, column 44"),
        ("INSERT INTO o SELECT z AS t, k AS o FROM seen;", {"o": []}, "line 4"),
        ("CREATE MODEL m WITH ('a' = 'b');", {"statement_4": []}, "line 4, column 1: CREATE: models, connections"),
        ("SELECT 'it FROM t;", {"statement_4": []}, "line 4, column 8: the quote that opens here is never closed."),
        ("INSERT INTO o SELECT `k FROM t;", {"statement_4": []}, "line 4, column 22: the backtick that opens here"),
        (
            "-- studio.arrived: 1\nCREATE TABLE x (k INT);",
            {"x": []},
            "line 5, column 1: studio.arrived is 1, not",
        ),
        ("SET 'table.exec.mini-batch.enabled' = 'no';", {"statement_4": []}, "line 4, column 1: options: table.exec."),
    ],
)
def test_a_statement_that_fails_is_a_node_and_the_rest_is_planned(
    statement: str, nodes: dict[str, list[str]], sentence: str, spark: SparkSession
) -> None:
    script = opened(START + statement + GOOD, spark)
    assert red(script) == nodes
    assert script.failures[0].sentence.startswith(sentence)
    verdict = check(script.pipeline, TypeRules(), Path())
    assert [problem.node for problem in verdict.problems if isinstance(problem, NotRead)] == list(nodes)
    assert verdict.plan is not None
    assert [node.id for node in verdict.plan.nodes] == ["t", "project", "result"]


def test_what_needs_an_unread_statement_says_so_and_hangs_on_it(spark: SparkSession) -> None:
    script = opened(
        f"{START}CREATE VIEW v AS SELECT z FROM t;\nCREATE VIEW w AS SELECT * FROM v;\nINSERT INTO o SELECT z FROM w;\n"
        f"CREATE FUNCTION f AS 'com.example.F';\nINSERT INTO o SELECT f(k) FROM t;{GOOD}",
        spark,
    )
    assert red(script) == {"v": ["t"], "o": ["v"], "statement_7": [], "o_2": ["t"]}
    assert [failure.sentence for failure in script.failures][1:] == [
        "line 6, column 1: it needs v, whose statement in line 4 could not be read.",
        "line 7, column 22: functions in Java and Scala are not supported. Write it in Python: LANGUAGE PYTHON.",
        "line 8, column 1: it needs f, whose statement in line 7 could not be read.",
    ]


def test_the_tables_of_a_script_are_there_although_no_query_could_be_read(spark: SparkSession) -> None:
    script = opened(f"{START}CREATE TABLE u (k INT) WITH ('connector' = 'datagen');\nSELECT z FROM t;", spark)
    assert [node.id for node in script.pipeline.nodes] == ["t", "u", "statement_5"]
    assert script.jobs == ()
    assert [node.id for node in plan(script.pipeline, TypeRules(), Path()).nodes] == ["t", "u"]


def test_an_unread_statement_is_written_as_it_was_with_what_only_it_needs(spark: SparkSession) -> None:
    text = f"{START}CREATE VIEW v AS SELECT k FROM t;\nINSERT INTO o SELECT z FROM v;{GOOD}"
    first = opened(text, spark)
    written = sql_of(rewritten(first.pipeline), TypeRules(), Path())
    print_o = "CREATE TABLE o (k STRING) WITH ('connector' = 'print');"
    assert f"CREATE VIEW v AS SELECT k FROM t;\n\n{print_o}\n\nINSERT INTO o SELECT z FROM v;" in written.text
    again = opened(written.text, spark)
    assert red(again) == {"o": ["v"]}
    mended = opened(written.text.replace("SELECT z", "SELECT k"), spark)
    assert not mended.failures
    assert {"o", "result"} <= set(mended.jobs)


def test_the_secrets_of_a_script_are_kept_nowhere(spark: SparkSession) -> None:
    text = (
        "CREATE TABLE `m-1` (k INT) WITH ('connector' = 'mongodb', 'uri' = 'mongodb://u:hunter2@h:1',\n"
        "  'scan.api-key'='hunter2');\n"
        "CREATE TABLE IF NOT EXISTS j (k INT) WITH ('connector' = 'jdbc', 'url' = 'jdbc:mysql://h/db?password=hunter2',\n"
        "  'table-name' = 't', 'username' = 'u', 'password' = 'hunter2''s');\n"
        "CREATE TABLE e (k INT) WITH ('connector' = 'jdbc', 'url' = 'jdbc:mysql://h/db', 'table-name' = 't',\n"
        "  'username' = 'u', 'password' = '${env:OWN}');\n"
        "SELECT k FROM `m-1` UNION ALL SELECT k FROM j UNION ALL SELECT k FROM e;"
    )
    whole = opened(text, spark).pipeline.to_json()
    assert "hunter2" not in whole
    for name in ("M_1_API_KEY", "J_PASSWORD", "OWN"):
        assert f"${{env:{name}}}" in whole


def test_a_script_with_a_password_is_exported_with_its_name(spark: SparkSession) -> None:
    text = (
        "CREATE TABLE t (k INT) WITH ('connector' = 'jdbc', 'url' = 'jdbc:mysql://h/db', 'table-name' = 't',\n"
        "  'username' = 'u', 'password' = 'hunter2');  -- ours\nSELECT k FROM t;"
    )
    written = sql_of(opened(text, spark).pipeline, TypeRules(), Path())
    assert written.text == text.replace("hunter2", "${env:T_PASSWORD}")


def test_an_error_at_the_place_of_a_statement_that_failed_is_another_one_of_its_reader() -> None:
    """Blamed on the same statement again, it would be read anew for ever."""
    text = "CREATE TABLE t (k STRING) AS t) WITH ('connector' = 'datagen');\nSELECT k FROM FROM k, k (SELECT 1);"
    assert {failure.statement.place[0] for failure in script_of(text, TypeRules(), Path()).failures} == {1, 2}
