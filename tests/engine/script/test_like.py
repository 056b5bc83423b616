"""CREATE TABLE ... LIKE, and options of SET, without Spark."""

from __future__ import annotations

import pytest

from engine.script.taken_apart import taken_apart
from engine.sql.rejected import SqlRejected

BASE = """CREATE TABLE t (k STRING, ts TIMESTAMP(3), big AS UPPER(k), WATERMARK FOR ts AS ts, PRIMARY KEY (k) NOT
ENFORCED) WITH ('connector' = 'filesystem', 'path' = 't.csv', 'format' = 'csv');
"""


def test_a_table_takes_over_what_another_one_has_and_its_own_options_win() -> None:
    parts = taken_apart(BASE + "CREATE TABLE d (v BIGINT, small AS LOWER(k)) WITH ('path' = 'd.csv') LIKE t;")
    made = parts.tables["d"]
    assert [column.name for column in made.columns] == ["k", "ts", "v"]
    assert [column.name for column in made.computed] == ["big", "small"]
    assert made.options == {"connector": "filesystem", "path": "d.csv", "format": "csv"}
    assert (made.watermark, made.primary_key) == (parts.tables["t"].watermark, ("k",))


def test_what_is_excluded_stays_out_and_what_is_overwritten_is_replaced() -> None:
    like = "LIKE t (EXCLUDING ALL INCLUDING OPTIONS OVERWRITING WATERMARKS)"
    made = taken_apart(BASE + f"CREATE TABLE d (WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) {like};").tables["d"]
    assert [column.name for column in made.columns] == ["k", "ts"]
    assert (made.computed, made.primary_key) == ((), ())
    assert made.watermark is not None
    assert made.watermark.delay_ms == 5000
    assert made.options["path"] == "t.csv"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("CREATE TABLE d LIKE s;", "line 3, column 1: d: LIKE: unknown table 's'. Available: t."),
        ("CREATE TABLE d (k STRING) LIKE t;", "d: the column 'k' is in t already. Leave it out here."),
        ("CREATE TABLE d (WATERMARK FOR ts AS ts) LIKE t;", "t has a watermark already. Write OVERWRITING WATERMARKS."),
        ("CREATE TABLE d LIKE t (SHARING ALL);", "LIKE takes INCLUDING, EXCLUDING, OVERWRITING and one of ALL,"),
        ("SET 'table.exec.mini-batch.enable' = 'true';", "Did you mean table.exec.mini-batch.enabled?"),
    ],
)
def test_what_cannot_be_is_said_with_its_place(text: str, sentence: str) -> None:
    with pytest.raises(SqlRejected) as refused:
        raise taken_apart(BASE + text).failures[0].error
    assert sentence in str(refused.value)


def test_an_option_that_changes_no_result_is_read_and_said() -> None:
    parts = taken_apart("SET 'table.exec.rank.topn-cache-size' = '5';")
    assert parts.warnings == ["line 1: the option 'table.exec.rank.topn-cache-size' has no effect here."]
    assert parts.options == {}


def test_a_time_zone_is_an_option_of_the_pipeline() -> None:
    zone = "SET 'table.local-time-zone' = '{}';"
    parts = taken_apart(zone.format("Asia/Tokyo"))
    assert (parts.options, parts.warnings) == ({"table.local-time-zone": "Asia/Tokyo"}, [])
    assert taken_apart(zone.format("Asia/Tokyo") + zone.format("UTC")).options == {}
    assert taken_apart("SET 'sql.local-time-zone' = 'GMT+02:00';").options == {"table.local-time-zone": "GMT+02:00"}
    assert "Did you mean Asia/Tokyo?" in str(taken_apart(zone.format("Asia/Tokio")).failures[0].error)
