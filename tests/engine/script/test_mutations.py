"""Scripts with a token left out, or with only their beginning: reading them raises a StudioError or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.errors import StudioError
from engine.script import script_of
from engine.sql.parsing import tokens_of
from tests.engine.sql.queries import GuessedTypes

TABLES = """
CREATE TABLE t (k STRING, v INT, rt TIMESTAMP_LTZ(3), pt AS PROCTIME(), WATERMARK FOR rt AS rt)
WITH ('connector' = 'datagen', 'number-of-rows' = '3');
CREATE TABLE u (k STRING PRIMARY KEY NOT ENFORCED, w BIGINT, ut TIMESTAMP_LTZ(3), WATERMARK FOR ut AS ut)
WITH ('connector' = 'datagen', 'number-of-rows' = '3');
"""
WHOLE = {
    "a table": """
        CREATE TABLE b (x INT);
        CREATE TABLE o (
          k STRING COMMENT 'x', p AS UPPER(k), ts TIMESTAMP(3), r ROW<a INT, b DECIMAL(5, 2)>,
          WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, PRIMARY KEY (k) NOT ENFORCED
        ) WITH ('connector' = 'print') LIKE b (EXCLUDING OPTIONS);
        INSERT INTO o VALUES (1, 'a', NULL, NULL);
        SELECT k FROM o""",
    "rows, options and views": """
        SET 'table.exec.mini-batch.size' = '5';
        CREATE TABLE o (k STRING, v DECIMAL(9, 2), m MAP<STRING, INT>) WITH ('connector' = 'print');
        INSERT INTO o (k, v, m) VALUES ('a', -1.5, MAP['x', 1]), (NULL, CAST(2 AS DECIMAL(9, 2)), NULL);
        CREATE VIEW x (a, b) AS SELECT k, v FROM o;
        SELECT a FROM x WHERE b > 1""",
    "a script of the studio": """
        -- studio.pipeline: "p"
        CREATE TABLE r (k STRING, a INT) WITH ('connector' = 'print');
        CREATE VIEW c AS SELECT * FROM FROM_CHANGELOG(input => TABLE r, op => DESCRIPTOR(k));
        CREATE VIEW f AS SELECT * FROM c WHERE a > 1;
        INSERT INTO r VALUES ('+I', 1);
        INSERT INTO o SELECT a FROM f;
        CREATE TABLE o (a INT) WITH ('connector' = 'print')""",
}
QUERIES = {
    "an aggregate": "SELECT k, SUM(DISTINCT v) AS s, COUNT(*) FILTER (WHERE v > 1) AS n, LISTAGG(k, '|') AS l FROM t "
    "GROUP BY k HAVING COUNT(*) > 1",
    "conditions": "SELECT k FROM t WHERE v BETWEEN SYMMETRIC 5 AND 1 OR NULLIF(v, 1) = 2 AND k NOT IN ('a', 'b') "
    "OR rt > TIMESTAMP '2024-01-01 00:00:00' AND k LIKE 'a%' ESCAPE '!'",
    "functions": "SELECT CAST(v AS VARCHAR(3)), TIMESTAMPADD(DAY, 1, rt), CEIL(rt TO HOUR), EXTRACT(DAY FROM rt), "
    "TRIM(BOTH 'x' FROM k), IF(v > 1, k, 'b'), CASE v WHEN 1 THEN 'a' ELSE k END, ARRAY[1, v][1] FROM t",
    "functions of JSON": "SELECT JSON_OBJECT('a' VALUE k), JSON_ARRAY(k, 1 NULL ON NULL), "
    "JSON_VALUE(k, '$.a' RETURNING INT DEFAULT 1 ON EMPTY), JSON_OBJECTAGG(k VALUE v) FROM t GROUP BY k",
    "windows": "SELECT window_start, MAX(v) FROM TABLE(HOP(TABLE t, DESCRIPTOR(rt), SLIDE => INTERVAL '1' SECOND, "
    "SIZE => INTERVAL '1:30' MINUTE TO SECOND)) GROUP BY window_start, window_end",
    "sub-queries": "SELECT k, (SELECT MAX(w) FROM u WHERE u.k = t.k) AS m FROM t WHERE EXISTS (SELECT 1 FROM u WHERE "
    "u.k = t.k) AND v IN (SELECT w FROM u WHERE u.k = t.k) AND v NOT IN (VALUES (1), (2))",
    "joins": "SELECT a.k, b.v FROM t AS a LEFT JOIN t AS b ON a.k = b.k AND a.rt BETWEEN b.rt - INTERVAL '1' SECOND "
    "AND b.rt UNION ALL SELECT t.k, t.v FROM t JOIN u FOR SYSTEM_TIME AS OF t.pt ON u.k = t.k",
    "ranks": "SELECT k, v FROM (SELECT k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) AS rn FROM t) "
    "WHERE rn BETWEEN 1 AND 3 UNION ALL SELECT k, 1 FROM u ORDER BY v LIMIT 2 OFFSET 1",
    "frames": "SELECT k, SUM(v) OVER w AS s, LAST_VALUE(v) OVER w AS l FROM t WINDOW w AS (PARTITION BY k ORDER BY rt "
    "RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW)",
    "patterns": "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY rt MEASURES A.v AS a, LAST(B.v, 1) AS b "
    "AFTER MATCH SKIP TO NEXT ROW PATTERN (A B{2,3} C+?) WITHIN INTERVAL '1' HOUR DEFINE A AS A.v > 1) AS m",
    "grouping sets": "WITH x AS (SELECT k, v FROM t) SELECT k, v, GROUPING(k), COUNT(*) FROM x GROUP BY ROLLUP (k, v)",
}
SCRIPTS = WHOLE | {name: f"{TABLES}{query}" for name, query in QUERIES.items()}


def read(text: str) -> None:
    script_of(text, GuessedTypes(), Path())


def mutations(text: str, start: int) -> Iterator[str]:
    """The text up to each token, and the text without this token. start: the offset of the first such token."""
    for token in tokens_of(text):
        if token.start >= start:
            yield text[: token.start]
            yield text[: token.start] + text[token.end + 1 :]


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_with_a_token_less_or_cut_off_is_read_or_refused(name: str) -> None:
    unexpected = []
    for text in mutations(SCRIPTS[name], len(TABLES) if name in QUERIES else 0):
        try:
            read(text)
        except StudioError:
            continue
        except Exception as error:  # noqa: BLE001 - any other error is a bug
            unexpected.append(f"{error!r}: {text.removeprefix(TABLES)}")
    assert unexpected == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_these_scripts_are_read_as_they_are(name: str) -> None:
    read(SCRIPTS[name])
