"""EXISTS below OR, in CASE and in SELECT is a column of a left join. The changelogs are those of Flink 2.3.

Only for HAVING it has none: it takes the outer column of the sub-query for another one, and refuses their types.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.model.changelog import SYMBOLS
from tests.engine.script.scripts import read, refusals
from tests.golden.trace import run_locally

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = """
CREATE TABLE a (id INT, k STRING, v INT) WITH ('connector' = 'kafka');
CREATE TABLE b (id INT, k STRING, w INT) WITH ('connector' = 'kafka');
INSERT INTO a VALUES (1, 'x', 3), (2, 'y', 9), (1, 'x', 5), (3, 'x', 7);
INSERT INTO b VALUES (1, 'x', 3), (2, 'y', 4), (3, 'y', 9);
"""


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "SELECT id, k, v FROM a WHERE v > 5 OR EXISTS (SELECT 1 FROM b WHERE b.id = a.id)",
            "+I2y9 +I3x7 +I1x3 +I1x5 -D2y9 +I2y9 -D3x7 +I3x7",
        ),
        (
            "SELECT id, k, v FROM a WHERE v > 5 OR NOT EXISTS (SELECT 1 FROM b WHERE b.id = a.id AND b.w > 3)",
            "+I1x3 +I2y9 +I1x5 +I3x7 -D2y9 +I2y9 -D3x7 +I3x7",
        ),
        (
            "SELECT id, k, v FROM a WHERE v > 5 OR EXISTS (SELECT 1 FROM b WHERE w > 8)",
            "+I2y9 +I3x7 +I1x3 +I1x5 -D2y9 +I2y9 -D3x7 +I3x7",
        ),
        (
            "SELECT id, k, CASE WHEN EXISTS (SELECT * FROM b WHERE b.id = a.id) THEN 1 ELSE 0 END AS f FROM a",
            "+I1x0 +I2y0 +I1x0 +I3x0 -D1x0 +I1x1 -D1x0 +I1x1 -D2y0 +I2y1 -D3x0 +I3x1",
        ),
        (
            "SELECT COUNT(*) AS n, k FROM a GROUP BY k HAVING COUNT(*) > 3 OR EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
            "+I3x +I1y",
        ),
        (
            "SELECT id, k FROM a WHERE v > 8 OR EXISTS (SELECT id FROM b GROUP BY id HAVING COUNT(*) > 0)",
            "+I2y +I1x +I1x -D2y +I2y +I3x",
        ),
        ("SELECT id, k FROM a WHERE v > 8 OR EXISTS (SELECT MAX(w) FROM b)", "+I1x +I2y +I1x +I3x"),
        (
            "SELECT COUNT(*) AS n FROM a WHERE v < 6 OR EXISTS (SELECT 1 FROM b LIMIT 1)",
            "+I1 -U1 +U2 -U2 +U1 -U1 +U2 -U2 +U1 -U1 +U2 -U2 +U3 -U3 +U4",
        ),
        (
            "SELECT SUM(CASE WHEN EXISTS (SELECT 1 FROM b WHERE b.id = a.id) THEN 1 ELSE 0 END) AS c FROM a",
            "+I0 -U0 +U1 -U1 +U2 -U2 +U3 -U3 +U4",
        ),
    ],
)
def test_rows_come_and_go_with_their_partners(query: str, expected: str, spark: SparkSession) -> None:
    trace = run_locally(read(f"{TABLES}{query};", spark).pipeline, spark, Path())
    found = [f"{SYMBOLS[record.kind]}{''.join(map(str, record.row))}" for record in trace.records["result"]]
    assert " ".join(found) == expected


@pytest.mark.parametrize(
    ("condition", "sentence"),
    [
        ("EXISTS (SELECT nope FROM b WHERE b.id = a.id)", "unknown column 'nope'. Available: id, k, w."),
        ("EXISTS (SELECT 1 FROM b WHERE b.id > a.id)", "a sub-query and the outer query are related by equality"),
        ("EXISTS (SELECT w FROM b WHERE b.id = a.id GROUP BY w)", "has a FROM and a WHERE only. Write it as a join"),
        ("id IN (SELECT id, k FROM b)", "the query of IN has to give one column, but it gives id, k."),
        ("(id, k) IN (SELECT id FROM b)", "the query of IN has to give 2 columns, but it gives id."),
        ("id IN (SELECT MAX(id) FROM b WHERE b.k = a.k)", "has a FROM and a WHERE only. Write it as a join"),
    ],
)
def test_what_is_not_read_is_told(condition: str, sentence: str, spark: SparkSession) -> None:
    assert sentence in refusals(f"{TABLES}SELECT id FROM a WHERE v > 5 OR {condition};", spark)
