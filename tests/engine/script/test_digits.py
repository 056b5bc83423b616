"""The digits of a second that a TIMESTAMP declares stay its digits: in text, when cut, in exports."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.expressions.analyzer import TypeRules
from engine.model.types import STRING
from engine.operators.project import Project
from engine.planner import plan
from engine.script import script_of, sql_of
from engine.script.flink_expressions import Translation
from engine.sql import SqlRejected
from tests.engine.script.scripts import rewritten, whole

TABLE = """
CREATE TABLE t (k STRING, t6 TIMESTAMP(6), td TIMESTAMP, t3 TIMESTAMP(3), t0 TIMESTAMP(0), l6 TIMESTAMP_LTZ(6))
WITH ('connector' = 'datagen', 'number-of-rows' = '3');
"""
PRINT = "CREATE TABLE p (x {type}) WITH ('connector' = 'print');\n"


def written(script: str) -> str:
    """The last column of a script's last projection, as Spark SQL."""
    pipeline = whole(script_of(TABLE + script, TypeRules(), Path())).pipeline
    projections = [node.operator for node in plan(pipeline, TypeRules(), Path()).nodes]
    return [each.columns[-1].expression for each in projections if isinstance(each, Project)][-1]


@pytest.mark.parametrize(
    ("query", "digits"),
    [
        ("SELECT CAST(t6 AS STRING) AS x FROM t", 6),
        ("SELECT CAST(td AS STRING) AS x FROM t", 6),
        ("SELECT CAST(t3 AS STRING) AS x FROM t", 3),
        ("SELECT CAST(t0 AS STRING) AS x FROM t", 0),
        ("SELECT CAST(l6 AS STRING) AS x FROM t", 6),
        ("SELECT CAST(m AS STRING) AS x FROM (SELECT k, MAX(t6) AS m FROM t GROUP BY k)", 6),
        ("SELECT CAST(b.t6 AS STRING) AS x FROM t AS a JOIN t AS b ON a.k = b.k", 6),
        ("SELECT CAST(u AS STRING) AS x FROM (SELECT t0 AS u FROM t UNION ALL SELECT t6 FROM t)", 6),
        ("SELECT CAST(u AS STRING) AS x FROM (SELECT DISTINCT CAST(t3 AS TIMESTAMP(6)) AS u FROM t)", 6),
        (
            "SELECT CAST(u AS STRING) AS x FROM (SELECT CAST(t3 AS TIMESTAMP(6)) AS u, COUNT(*) AS n FROM t "
            "GROUP BY CAST(t3 AS TIMESTAMP(6)))",
            6,
        ),
        ("SELECT CAST(u AS STRING) AS x FROM (SELECT MAX(CAST(t3 AS TIMESTAMP(0))) AS u FROM t GROUP BY k)", 0),
        ("SELECT CAST(u AS STRING) AS x FROM (VALUES (TIMESTAMP '2024-01-01 00:00:00.123456')) AS v (u)", 6),
        ("SELECT CAST(u AS STRING) AS x FROM (VALUES (TIMESTAMP '2024-01-01 00:00:00')) AS v (u)", 0),
        ("SELECT CAST(ROW(t6, k) AS STRING) AS x FROM t", 6),
        ("SELECT CAST(ARRAY[t0] AS STRING) AS x FROM t", 0),
        ("SELECT CAST(ARRAY[t3, t6] AS STRING) AS x FROM t", 6),
        ("SELECT CAST(MAP[k, td] AS STRING) AS x FROM t", 6),
    ],
)
def test_a_moment_as_text_has_the_digits_of_its_type(query: str, digits: int) -> None:
    fraction = f".{'S' * digits}" if digits else ""
    assert f", 'yyyy-MM-dd HH:mm:ss{fraction}')" in written(query + ";")


@pytest.mark.parametrize(
    ("type_", "is_cut"),
    [("TIMESTAMP(6)", False), ("TIMESTAMP", False), ("TIMESTAMP(3)", True), ("TIMESTAMP_LTZ(3)", True)],
)
def test_a_sink_with_fewer_digits_cuts_the_others(type_: str, is_cut: bool) -> None:
    assert ("MILLISECOND" in written(PRINT.format(type=type_) + "INSERT INTO p SELECT t6 FROM t;")) is is_cut


@pytest.mark.parametrize(
    "script",
    [
        "CREATE TABLE u (k TIMESTAMP(9)) WITH ('connector' = 'print');\nSELECT k FROM t;",
        "CREATE TABLE u (k TIMESTAMP_LTZ(7)) WITH ('connector' = 'print');\nSELECT k FROM t;",
        "SELECT CAST(k AS TIMESTAMP(9)) AS x FROM t;",
    ],
)
def test_nanoseconds_are_refused_and_never_cut_off_silently(script: str) -> None:
    with pytest.raises(SqlRejected, match=r"the last three digits would be lost here. Write TIMESTAMP\(6\)"):
        written(script)


@pytest.mark.parametrize("call", ["TO_TIMESTAMP_LTZ(1, 9)", "TO_TIMESTAMP_LTZ(k, 'yyyy-MM-dd HH:mm:ss.SSSSSSSSS')"])
def test_an_instant_with_nanoseconds_is_refused(call: str) -> None:
    with pytest.raises(SqlRejected, match=r"has nanoseconds, which would be lost here. Use at most 6 digits"):
        written(f"SELECT {call} AS x FROM t;")


@pytest.mark.parametrize(
    ("text", "type_", "is_cut"),
    [
        ("k", "TIMESTAMP(3)", True),
        ("k", "TIMESTAMP(6)", False),
        ("k", "TIMESTAMP_LTZ(3)", True),
        ("'2024-01-01 00:00:00.123'", "TIMESTAMP(3)", False),
        ("'2024-01-01 00:00:00.1234'", "TIMESTAMP(3)", True),
    ],
)
def test_a_text_that_becomes_a_moment_has_the_digits_of_its_type(text: str, type_: str, is_cut: bool) -> None:
    assert ("MILLISECOND" in written(f"SELECT k, CAST({text} AS {type_}) AS x FROM t;")) is is_cut


def test_rows_with_microseconds_are_written_and_read() -> None:
    script = (
        "CREATE TABLE r (a TIMESTAMP(6), l TIMESTAMP_LTZ(6)) WITH ('connector' = 'filesystem', 'path' = 'r', "
        "'format' = 'json');\nINSERT INTO r VALUES (TIMESTAMP '2024-01-01 00:00:00.123456', "
        "TO_TIMESTAMP_LTZ(1704067200123456, 6));\nSELECT a, l FROM r;"
    )
    pipeline = script_of(script, TypeRules(), Path()).pipeline
    (rows,) = (node.parameters["rows"] for node in pipeline.nodes if node.operator == "rows")
    assert rows == [["2024-01-01 00:00:00.123456", "2024-01-01 00:00:00.123456"]]
    made = sql_of(rewritten(pipeline), TypeRules(), Path())
    assert "(TIMESTAMP '2024-01-01 00:00:00.123456', TO_TIMESTAMP_LTZ(1704067200123456, 6))" in made.text
    assert not made.warnings


def test_the_name_of_a_type_has_its_digits() -> None:
    assert written("SELECT TYPEOF(t6) AS x FROM t;") == "'TIMESTAMP(6)'"
    assert written("SELECT TYPEOF(CAST(t6 AS TIMESTAMP_LTZ(3))) AS x FROM t;") == "'TIMESTAMP_LTZ(3)'"


def test_a_written_table_declares_its_digits() -> None:
    pipeline = script_of(TABLE + "SELECT k FROM t;", TypeRules(), Path()).pipeline
    text = sql_of(rewritten(pipeline), TypeRules(), Path()).text
    assert "t6 TIMESTAMP(6)" in text
    assert "td TIMESTAMP(6)" in text
    assert "t0 TIMESTAMP(0)" in text
    assert "l6 TIMESTAMP_LTZ(6)" in text


def test_a_time_zone_that_no_text_is_read_past_is_refused() -> None:
    with pytest.raises(SqlRejected, match=r"the zone ZZZZ in the pattern of TO_TIMESTAMP is not supported"):
        written("SELECT TO_TIMESTAMP(k, 'yyyy-MM-dd HH:mm:ssZZZZ') AS x FROM t;")


@pytest.mark.parametrize(
    ("spark", "flink"),
    [
        ("CAST(a AS TIMESTAMP_NTZ)", "CAST(a AS TIMESTAMP(3))"),
        ("CAST(a AS MAP<STRING,TIMESTAMP_NTZ>)", "CAST(a AS MAP<STRING, TIMESTAMP(3)>)"),
        ("CAST(a AS STRUCT<x: TIMESTAMP>)", "CAST(a AS ROW<`x` TIMESTAMP_LTZ(3)>)"),
    ],
)
def test_a_written_cast_names_a_type_that_flink_has(spark: str, flink: str) -> None:
    assert Translation(lambda _: STRING).flink(spark) == flink


@pytest.mark.parametrize(
    "call",
    ["JSON_VALUE(k, '$.a')", "JSON_QUERY(k, '$.a')", "JSON_EXISTS(k, '$.a')", "JSON_QUOTE(k)", "JSON_UNQUOTE(k)"],
)
def test_a_call_that_was_read_is_written_as_this_call(call: str) -> None:
    pipeline = script_of(TABLE + f"SELECT {call} AS x FROM t;", TypeRules(), Path()).pipeline
    made = sql_of(rewritten(pipeline), TypeRules(), Path())
    assert call in made.text
    assert not any("may not support" in warning for warning in made.warnings)
