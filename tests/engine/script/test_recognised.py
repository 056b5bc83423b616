"""Texts that are SQL, and rows that only look like it."""

import pytest

from engine.script import is_sql


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE a (x INT);",
        "create or replace temporary view v as select 1",
        "\ufeff-- a comment\n\n/* another\none */ SELECT a,\n b FROM t",
        "Flink SQL> SELECT * FROM t;",
        ";\nINSERT INTO a SELECT 1",
        "WITH t (a) AS (SELECT 1) SELECT * FROM t",
        "SET 'execution.runtime-mode' = 'streaming';\nSELECT 1;",
        "EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; END;",
        "DROP TABLE IF EXISTS a;",
        "select 1;",
    ],
)
def test_sql(text: str) -> None:
    assert is_sql(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "id,ts\n1,2\n",
        "select\tfrom\n1\t2\n",
        "select,from\n1,2\n",
        "create,table\n1,2\n",
        "with,as\n1,2\n",
        '{"sql": "SELECT a FROM t"}',
        "selected items from shops\n1\n",
        "update,delete;set\n",
        "set;value\na;1\n",
    ],
)
def test_rows(text: str) -> None:
    assert not is_sql(text)
