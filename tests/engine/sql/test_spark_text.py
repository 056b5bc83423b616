"""Spark SQL that is written here has the tree that its parser would give it, and is not parsed."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from engine.expressions import parsing
from engine.expressions.analyzer import TypeRules
from engine.expressions.parsing import tree_of
from engine.functions import ROWS, spark_text
from engine.functions.spark_text import column_named, literal, noted, spark_sql, written_here
from engine.model.schema import Column, Schema
from engine.model.types import BIGINT, BOOLEAN, DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ, Array, Decimal, Row, Time
from engine.sql.typed import spark_of
from tests.engine.script.test_chains import planned

SCHEMA = Schema(
    tuple(
        Column(name, type_)
        for name, type_ in {
            "a": BIGINT,
            "b": Decimal(10, 2),
            "k": STRING,
            "it's `odd`": STRING,
            "yes": BOOLEAN,
            "d": DATE,
            "ts": TIMESTAMP_NTZ,
            "ltz": TIMESTAMP,
            "t": Time(0),
            "r": Row((("x", BIGINT), ("y", STRING))),
            "items": Array(BIGINT),
        }.items()
    )
)
EXPRESSIONS = (
    "a + 2 * -a / 3 - a % 7",
    "b * 0.25 + a",
    "NOT (a = 1 OR k <> 'it''s \\ here' AND yes)",
    "a BETWEEN SYMMETRIC 5 AND 1 AND a NOT IN (1, 2, 3)",
    "k LIKE 'a%' OR k LIKE '5!%' ESCAPE '!' OR k SIMILAR TO '[ab]+_%'",
    "a IS DISTINCT FROM 3 AND k IS NOT NULL AND yes IS NOT TRUE",
    "CASE k WHEN 'a' THEN 1 WHEN 'b' THEN a END",
    "CASE WHEN yes THEN b ELSE a END",
    "CAST(ts AS STRING) || CAST(d AS STRING) || `it's ``odd```",
    "CAST(k AS INT) + TRY_CAST(k AS DECIMAL(10, 3))",
    "CAST(k AS CHAR(3)) || CAST(a AS VARCHAR(2))",
    "ts + INTERVAL '1:30' MINUTE TO SECOND > TIMESTAMP '2024-01-01 10:00:00.5'",
    "EXTRACT(EPOCH FROM ts) + EXTRACT(HOUR FROM t)",
    "FLOOR(ts TO WEEK)",
    "CEIL(ltz TO QUARTER)",
    "FLOOR(b)",
    "(ts - ts) DAY TO SECOND",
    "TIMESTAMPADD(DAY, 1, d)",
    "TRIM(LEADING 'x' FROM k) || OVERLAY(k PLACING 'y' FROM 2) || SUBSTRING(k FROM 2 FOR a)",
    "POSITION('x' IN k)",
    "r.x + a",
    "(a, k) = (1, 'a')",
    "items[1] + CARDINALITY(items)",
    "ARRAY[a, 1]",
    "CAST(ROW(a, k) AS ROW<x BIGINT, y STRING>)",
    "JSON_OBJECT('k' VALUE k, 'l' VALUE items)",
    "(ts, INTERVAL '1' HOUR) OVERLAPS (ts, ts)",
    "RAND() + RAND_INTEGER(a)",
    "k IS JSON OBJECT",
    "CONVERT_TZ(k, k, 'Asia/Tokyo')",
    "HASH_CODE(b)",
)


@pytest.mark.parametrize(
    "expression",
    [*EXPRESSIONS, *(example for row in ROWS for example in (row.example, *(row.bad or ())[:1]) if example)],
)
def test_the_tree_is_the_one_that_the_text_is_parsed_into(expression: str) -> None:
    written = spark_of(expression, SCHEMA, TypeRules())
    assert tree_of(written) == parsing._parsed(str(written))


@pytest.mark.parametrize(
    "value",
    ["A.a > FIRST(`B 2`.a, 1) * 2 AND COUNT(A.k) > 1", "LAST(A.a + 1)", "MATCH_ROWTIME(A.ts) > A.ts", "A.k LIKE 'x%'"],
)
def test_so_do_values_of_a_match(value: str) -> None:
    written = spark_of(value, SCHEMA, TypeRules(), variables=("A", "B 2"))
    assert tree_of(written) == parsing._parsed(str(written))


def test_a_literal_keeps_its_backslashes_and_quotes() -> None:
    written = spark_sql("concat({})", [literal(r"\it's\\"), literal("{0}")])
    assert tree_of(written) == parsing._parsed(str(written))


def test_planning_parses_nothing_that_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    parse = parsing._parsed

    def noted(text: str) -> object:
        parsed.append(text)
        return parse(text)

    monkeypatch.setattr(parsing, "_parsed", noted)
    planned(
        """
        CREATE VIEW w AS SELECT k, CASE WHEN v > 3321 THEN CAST(v * 2 + 17 AS STRING) ELSE UPPER(k) END AS a,
        DATE_FORMAT(ts, 'yyyy-MM-dd') AS d, v / 3 + v * 29 - 1 AS n FROM t WHERE v BETWEEN 1 AND 5417 AND k LIKE 'q%';
        SELECT a, SUM(n) AS s, COUNT(*) FILTER (WHERE n > 1723) AS c FROM w WHERE d <> '2024-01-31' GROUP BY a;
        """,
        tmp_path,
    )
    # The shape of each template is read once in a process, with a name in the place of each part.
    assert not [text for text in parsed if any(number in text for number in ("3321", "17", "29", "5417", "1723"))]


def test_workers_get_texts_without_the_memory_of_what_was_written() -> None:
    written = noted(spark_sql("({} + {})", column_named("a"), literal("b")))
    assert pickle.loads(pickle.dumps(written)) == str(written)
    assert type(pickle.loads(pickle.dumps(written))) is str
    assert written_here(str(written)) is written
    assert pickle.loads(pickle.dumps(spark_text._WRITTEN)) == {}
