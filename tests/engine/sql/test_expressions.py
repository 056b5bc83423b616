"""Expressions of Flink SQL and the values that Flink gives them, computed by Spark."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from engine.analyzer import SparkAnalyzer
from engine.pipeline import Node
from engine.sql import pipeline_of, table_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = {
    "i": "int",
    "j": "int",
    "b": "bigint",
    "d": "double",
    "s": "string",
    "n": "string",
    "f": "boolean",
    "m": "decimal(10,2)",
    "ts": "timestamp",
}
ROW = (7, -2, 40, 2.5, "Hello World", None, True, Decimal("12.50"), datetime(2024, 5, 17, 13, 45, 59, tzinfo=UTC))

VALUES: list[tuple[str, Any]] = [
    ("i / 2", 3),
    ("j / 4", 0),
    ("-7 / 2", -3),
    ("b / i", 5),
    ("d / 2", 1.25),
    ("i % 4", 3),
    ("MOD(b, i)", 5),
    ("i + j * 2", 3),
    ("s || '!'", "Hello World!"),
    ("s || n", None),
    ("CHAR_LENGTH(s)", 11),
    ("UPPER(s)", "HELLO WORLD"),
    ("SUBSTRING(s, 7)", "World"),
    ("SUBSTRING(s FROM 1 FOR 5)", "Hello"),
    ("POSITION('World' IN s)", 7),
    ("REPLACE(s, 'World', 'Spark')", "Hello Spark"),
    ("TRIM(BOTH 'H' FROM s)", "ello World"),
    ("LEFT(s, 4)", "Hell"),
    ("LPAD('7', 3, '0')", "007"),
    ("CONCAT_WS('-', 'a', n, 'b')", "a-b"),
    ("SPLIT_INDEX('a.b.c', '.', 1)", "b"),
    ("SPLIT_INDEX('a.b.c', '.', 7)", None),
    ("REGEXP_EXTRACT(s, 'o (W)', 1)", "W"),
    ("COALESCE(n, s)", "Hello World"),
    ("IFNULL(n, 'none')", "none"),
    ("NULLIF(i, 7)", None),
    ("IF(f, 1, 2)", 1),
    ("CASE WHEN i > 10 THEN 'big' WHEN i > 5 THEN 'middle' END", "middle"),
    ("CASE i WHEN 7 THEN 'seven' ELSE 'other' END", "seven"),
    ("i BETWEEN 1 AND 7 AND s LIKE 'H%' AND NOT i IN (1, 2)", True),
    ("n IS NULL", True),
    ("f IS NOT TRUE", False),
    ("n IS NOT DISTINCT FROM CAST(NULL AS STRING)", True),
    ("CAST('12' AS INT) + 1", 13),
    ("CAST(i AS VARCHAR(1))", "7"),
    ("CAST(s AS VARCHAR(5))", "Hello"),
    ("CAST(f AS STRING)", "TRUE"),
    ("CAST(d AS BIGINT)", 2),
    ("CAST(m AS DECIMAL(10, 1))", Decimal("12.5")),
    ("TRY_CAST(s AS INT)", None),
    ("ABS(j)", 2),
    ("ROUND(d)", 3.0),
    ("POWER(2, 3)", 8.0),
    ("FLOOR(d)", 2.0),
    ("CEIL(d)", 3.0),
    ("GREATEST(i, j)", 7),
    ("EXTRACT(HOUR FROM ts)", 13),
    ("EXTRACT(SECOND FROM ts)", 59),
    ("EXTRACT(DOW FROM ts)", 6),
    ("YEAR(ts)", 2024),
    ("HOUR(ts)", 13),
    ("DATE_FORMAT(ts, 'yyyy-MM-dd HH:mm')", "2024-05-17 13:45"),
    ("CAST(ts AS DATE)", date(2024, 5, 17)),
    ("FLOOR(ts TO HOUR)", datetime(2024, 5, 17, 13, tzinfo=UTC)),
    ("CEIL(ts TO DAY)", datetime(2024, 5, 18, tzinfo=UTC)),
    ("CEIL(FLOOR(ts TO DAY) TO DAY)", datetime(2024, 5, 17, tzinfo=UTC)),
    ("ts + INTERVAL '1:30' MINUTE TO SECOND", datetime(2024, 5, 17, 13, 47, 29, tzinfo=UTC)),
    ("TIMESTAMPDIFF(HOUR, TIMESTAMP '2024-05-17 00:00:00', CAST(ts AS TIMESTAMP(3)))", 13),
    ("TIMESTAMPADD(DAY, 1, ts)", datetime(2024, 5, 18, 13, 45, 59, tzinfo=UTC)),
    ("TO_TIMESTAMP_LTZ(1715953559000, 3)", datetime(2024, 5, 17, 13, 45, 59, tzinfo=UTC)),
    ("CARDINALITY(ARRAY[1, 2, 3])", 3),
    ("ARRAY[1, 2, 3][2]", 2),
]


@pytest.mark.slow
def test_expressions_have_the_values_that_flink_gives_them(spark: SparkSession) -> None:
    columns = [{"name": name, "type": type_} for name, type_ in COLUMNS.items()]
    table = table_of(Node(id="t", operator="rows", parameters={"columns": columns}), Path())
    sql = "SELECT " + ", ".join(f"{text} AS v{at}" for at, (text, _) in enumerate(VALUES)) + " FROM t"
    made = pipeline_of(sql, [table], SparkAnalyzer(lambda: spark), Path())
    (project,) = (node for node in made.nodes if node.operator == "project")
    frame = spark.createDataFrame([ROW], ", ".join(f"{name} {type_}" for name, type_ in COLUMNS.items()))
    found = frame.selectExpr(*(f"{c['expression']} AS {c['name']}" for c in project.parameters["columns"])).toArrow()
    wrong = []
    for (text, expected), value in zip(VALUES, found.to_pylist()[0].values(), strict=True):
        got = value.replace(tzinfo=UTC) if isinstance(value, datetime) else value
        if (got, type(got)) != (expected, type(expected)):
            wrong.append(f"{text}: expected {expected!r}, got {got!r}")
    assert not wrong, "\n".join(wrong)
