"""What is offered in place of what cannot be read: scripts, each with what makes all of it readable."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.expressions.analyzer import TypeRules
from engine.script import script_of
from engine.script.other_spelling import suggested
from engine.sql.rejected import SqlRejected

TABLE = "CREATE TABLE t (k INT, s STRING, ts TIMESTAMP(3)) WITH ('connector' = 'datagen', 'number-of-rows' = '5');\n"
TOPIC = (
    "CREATE TABLE k (k INT) WITH ('connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'b:9092', "
    "{option} 'json');\nSELECT k FROM k;"
)

CASES = {
    "a function": (TABLE + "SELECT SUBSTRNG(s, 1) AS m FROM t;", ["SUBSTRING", "SUBSTR"]),
    "a column": (TABLE + "SELECT t.kk, s FROM t;", ["k"]),
    "a table": (TABLE + "SELECT k FROM\n  tt;", ["t"]),
    "an option": (TOPIC.format(option="'formt' ="), ["format"]),
    "an option of another client": (
        TOPIC.replace("properties.", "").format(option="'format' ="),
        ["properties.bootstrap.servers"],
    ),
    "a word": (TABLE + "SELCT k FROM t;", ["SELECT"]),
    "a table without CREATE": ("TABLE u (k INT);\n" + TABLE + "SELECT k FROM t;", ["CREATE TABLE u"]),
    "a text in double quotes": (TABLE + 'SELECT k FROM t WHERE s = "x";', ["'x'"]),
    "a name in double quotes": (TABLE + 'SELECT k FROM t WHERE "k" > 1;', ["`k`", "'k'"]),
    "a function of other databases": (
        TABLE + "SELECT k, DATE_TRUNC('minute', ts) AS m FROM t;",
        ["FLOOR(ts TO MINUTE)"],
    ),
    "a function whose arguments are others": (TABLE + "SELECT DATEDIFF(ts, ts) AS m FROM t;", []),
    "no name at all": (TABLE + "SELECT (k FROM t;", []),
}


@pytest.mark.parametrize("title", CASES)
def test_what_is_offered_can_be_read(title: str) -> None:
    script, wanted = CASES[title]
    assert [new for new, text in offered(script) if not refused(text)] == wanted


def offered(script: str) -> list[tuple[str, str]]:
    (first, *_) = refused(script)
    return list(suggested(script, first))


def refused(script: str) -> list[str]:
    """Why statements of a script cannot be read."""
    try:
        return [failure.sentence for failure in script_of(script, TypeRules(), Path()).failures]
    except SqlRejected as error:
        return [str(error)]
