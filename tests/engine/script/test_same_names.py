"""Tables of one name in several databases are several tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engine.script.same_names import told_apart
from engine.script.statements import statements
from tests.engine.script.scripts import read, refusals

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TWO = """
CREATE TABLE a.t (k INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen');
CREATE TABLE b.t (n INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen');
"""


def renamed(text: str) -> list[str]:
    """The words of the statements after TWO."""
    found, _ = told_apart(statements(TWO + text))
    return [" ".join(token.text for token in statement.tokens) for statement in found[2:]]


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("SELECT n FROM b.t", "SELECT n FROM b_t AS t"),
        ("SELECT b.t.n FROM b.t WHERE t.n > 1", "SELECT t . n FROM b_t AS t WHERE t . n > 1"),
        ("SELECT n FROM default_catalog.b.t x", "SELECT n FROM b_t x"),
        ("SELECT k, n FROM a.t, b.t AS u", "SELECT k , n FROM t AS t , b_t AS u"),
        ("SELECT n FROM TABLE(TUMBLE(TABLE b.t, 1))", "SELECT n FROM TABLE ( TUMBLE ( TABLE b_t , 1 ) )"),
        ("SELECT 1 FROM o JOIN b.t ON t.n = 1", "SELECT 1 FROM o JOIN b_t AS t ON t . n = 1"),
        ("INSERT INTO b.t SELECT t FROM o", "INSERT INTO b_t SELECT t FROM o"),
        ("USE b; SELECT t FROM t; DROP TABLE t", "USE b|SELECT t FROM b_t AS t|DROP TABLE b_t"),
        ("USE default_catalog.b; DESCRIBE t", "USE default_catalog . b|DESCRIBE b_t"),
        ("USE CATALOG other; SELECT t FROM t", "USE CATALOG other|SELECT t FROM t"),
        ("CREATE TABLE u LIKE b.t", "CREATE TABLE u LIKE b_t"),
        ("SELECT c.t FROM c.t", "SELECT c . t FROM c . t"),
        ("SELECT o.b.t FROM o", "SELECT o . b . t FROM o"),
    ],
)
def test_a_name_is_that_of_its_database(written: str, told: str) -> None:
    assert "|".join(renamed(written)) == told


def test_one_table_in_several_statements_keeps_its_name() -> None:
    found = statements("CREATE TABLE a.t (k INT); USE a; CREATE TABLE IF NOT EXISTS t (k INT); SELECT k FROM a.t")
    assert told_apart(found) == (found, [])


def test_a_table_of_another_database_is_filled_and_read_by_itself(spark: SparkSession) -> None:
    rows = "INSERT INTO b.t (n) VALUES (3);\nINSERT INTO a.t (k) VALUES (1), (2);\n"
    script = read(f"{TWO}{rows}SELECT n FROM b.t;\nSELECT k FROM a.t;", spark)
    assert [len(script.pipeline.node(name).parameters["rows"]) for name in ("b_t", "t")] == [1, 2]
    assert script.warnings[0] == "line 3: t of b is another table than that of a, and is called b_t here."
    assert "unknown column 'k'. Available: n, ts." in refusals(f"{TWO}{rows}SELECT k FROM b.t;", spark)
