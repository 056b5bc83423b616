"""x IN (query) below OR, in CASE and in SELECT. Expected is what Flink 2.3 gives.

The first changelogs are equal. Where Flink counts rows, it may count a row before or after it finds it; so only the
tables in the end are compared.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.model.changelog import SYMBOLS
from tests.engine.script.scripts import read
from tests.golden.trace import run_locally
from tests.published.test_published import KINDS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = """
CREATE TABLE a (id INT, k STRING, v INT) WITH ('connector' = 'kafka');
CREATE TABLE b (id INT, k STRING, w INT) WITH ('connector' = 'kafka');
CREATE TABLE m (id INT NOT NULL, k STRING, w INT) WITH ('connector' = 'kafka');
CREATE TABLE n (id INT NOT NULL, k STRING, w INT) WITH ('connector' = 'kafka');
INSERT INTO a VALUES (1, 'x', 3), (2, 'y', 9), (1, 'x', 5), (CAST(NULL AS INT), 'x', 7);
INSERT INTO b VALUES (1, 'x', 3), (CAST(NULL AS INT), 'y', 4), (2, 'y', 9);
INSERT INTO m VALUES (1, 'x', 3), (3, 'x', 4);
INSERT INTO n VALUES (1, 'x', 3), (2, 'y', 4), (2, 'y', 9);
"""


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "SELECT id, k, id IN (SELECT id FROM n) AS f FROM m",
            "+I1xFalse +I3xFalse -D1xFalse +I1xTrue",
        ),
        (
            "SELECT id, k, id NOT IN (SELECT id FROM n) AS f FROM m",
            "+I1xTrue +I3xTrue -D1xTrue +I1xFalse",
        ),
        (
            "SELECT id, k, CASE WHEN id IN (SELECT id FROM n) THEN 1 ELSE 0 END AS f FROM m",
            "+I1x0 +I3x0 -D1x0 +I1x1",
        ),
        ("SELECT id, k FROM m WHERE w > 3 OR id IN (SELECT id FROM n)", "+I3x +I1x"),
        ("SELECT id, k FROM m WHERE w > 3 OR id NOT IN (SELECT id FROM n)", "+I1x +I3x -D1x"),
        ("SELECT SUM(CASE WHEN id IN (SELECT id FROM n) THEN 1 ELSE 0 END) AS c FROM m", "+I0 -U0 +U1"),
        # All rows of m again with each row of b, which may be NULL.
        (
            "SELECT id, k, CASE WHEN id IN (SELECT id FROM b) THEN 1 ELSE 0 END AS f FROM m",
            "+I1x1 +I3x0 -D1x1 -D3x0 +I1x1 +I3x0 -D1x1 -D3x0 +I1x1 +I3x0",
        ),
        # There is no row to count, so there is no result either.
        ("SELECT id, k, v FROM a WHERE v > 5 OR id IN (SELECT id FROM b WHERE id > 100)", ""),
        ("SELECT id, k FROM a WHERE (id IN (SELECT id FROM b)) IS TRUE", "+I1x +I1x +I2y"),
        (
            "SELECT id, k FROM a WHERE v > 8 OR id IN (SELECT MAX(w) FROM b GROUP BY id)",
            "+I2y -D2y +I2y -D2y +I2y",
        ),
    ],
)
def test_the_changelog_is_flinks(query: str, expected: str, spark: SparkSession) -> None:
    assert " ".join(changelog(query, spark)) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT id, v FROM a WHERE v > 5 OR id IN (SELECT id FROM b)", ["13", "15", "29", "None7"]),
        ("SELECT id, v FROM a WHERE v > 5 OR id NOT IN (SELECT id FROM b)", ["29", "None7"]),
        ("SELECT v, id IN (SELECT id FROM b) AS f FROM a", ["3True", "5True", "7None", "9True"]),
        ("SELECT v, id NOT IN (SELECT id FROM b) AS f FROM a", ["3False", "5False", "7None", "9False"]),
        ("SELECT id, id IN (SELECT id FROM b) AS f FROM m", ["1True", "3None"]),
        ("SELECT id, id NOT IN (SELECT id FROM b) AS f FROM m", ["1False", "3None"]),
        ("SELECT v, id IN (SELECT id FROM n) AS f FROM a", ["3True", "5True", "7None", "9True"]),
        ("SELECT v FROM a WHERE (id IN (SELECT id FROM b)) IS NULL", ["7"]),
        ("SELECT v FROM a WHERE v > 8 OR id IN (SELECT id FROM n WHERE n.k = a.k)", ["3", "5", "9"]),
        ("SELECT v, id IN (SELECT id FROM b WHERE b.k = a.k) AS f FROM a", ["3True", "5True", "7None", "9True"]),
        ("SELECT v FROM a WHERE v > 8 OR (id, k) IN (SELECT id, k FROM b)", ["3", "5", "9"]),
        ("SELECT v FROM a WHERE v > 8 OR id = ANY (SELECT id FROM b)", ["3", "5", "9"]),
        ("SELECT v FROM a WHERE v > 8 OR id + 1 IN (SELECT w - 1 FROM b WHERE w > 2)", ["3", "5", "9"]),
        ("SELECT k, COUNT(*) AS c FROM a GROUP BY k HAVING COUNT(*) > 2 OR k IN (SELECT k FROM b)", ["x3", "y1"]),
        ("SELECT COUNT(*) FILTER (WHERE id IN (SELECT id FROM b)) AS c FROM a", ["3"]),
        ("SELECT v FROM a WHERE id IN (1, 2) OR k IN (SELECT k FROM n)", ["3", "5", "7", "9"]),
        ("SELECT v FROM a WHERE v > 8 OR 1 IN (SELECT id FROM b)", ["3", "5", "7", "9"]),
        ("SELECT v FROM a WHERE v > 8 OR (SELECT MIN(id) FROM b) IN (SELECT id FROM n)", ["3", "5", "7", "9"]),
    ],
)
def test_the_table_is_flinks(query: str, expected: list[str], spark: SparkSession) -> None:
    table = Counter[str]()
    for record in changelog(query, spark):
        table[record[2:]] += KINDS[record[:2]]
    assert min(table.values()) >= 0
    assert sorted(table.elements()) == expected


def changelog(query: str, spark: SparkSession) -> list[str]:
    """The records of a query, each as its kind and values."""
    trace = run_locally(read(f"{TABLES}{query};", spark).pipeline, spark, Path())
    return [f"{SYMBOLS[record.kind]}{''.join(map(str, record.row))}" for record in trace.records["result"]]
