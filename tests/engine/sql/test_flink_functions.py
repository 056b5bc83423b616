"""Every function of Flink is supported, or rejected with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.aggregates.registry import functions
from engine.functions import FUNCTIONS
from engine.functions.refused import REFUSED
from engine.sql import SqlRejected
from tests.engine.sql.queries import read

LINES = (Path(__file__).parent / "flink_functions.txt").read_text(encoding="utf-8").splitlines()
FLINKS = frozenset(" ".join(line for line in LINES if not line.startswith("#")).split())
# Functions for special places.
READ = {
    "CURRENT_WATERMARK": "SELECT CURRENT_WATERMARK(rt) AS x FROM t",
    "DENSE_RANK": "SELECT k FROM (SELECT k, DENSE_RANK() OVER (ORDER BY v) AS n FROM t) WHERE n <= 2",
    "FROM_CHANGELOG": "SELECT v FROM FROM_CHANGELOG(input => TABLE t, op => DESCRIPTOR(k))",
    "GROUPING": "SELECT k, GROUPING(k) AS x FROM t GROUP BY ROLLUP (k)",
    "GROUPING_ID": "SELECT k, GROUPING_ID(k) AS x FROM t GROUP BY ROLLUP (k)",
    "JSON_ARRAYAGG": "SELECT JSON_ARRAYAGG(v) AS x FROM t",
    "JSON_OBJECTAGG": "SELECT JSON_OBJECTAGG(KEY k VALUE v) AS x FROM t",
    "RANK": "SELECT k FROM (SELECT k, RANK() OVER (ORDER BY v) AS n FROM t) WHERE n <= 2",
    "ROW_NUMBER": "SELECT k FROM (SELECT k, ROW_NUMBER() OVER (ORDER BY v) AS n FROM t) WHERE n <= 2",
    "STDDEV": "SELECT STDDEV(v) AS x FROM t",
    "TO_CHANGELOG": "SELECT v FROM TO_CHANGELOG(input => TABLE t)",
    "VARIANCE": "SELECT VARIANCE(v) AS x FROM t",
}
# Flink 2.3 rejects these in streaming, and so does the studio.
AS_IN_FLINK = {
    name: f"SELECT {name}({argument}) OVER (ORDER BY rt) AS x FROM t"
    for name, argument in (("CUME_DIST", ""), ("LEAD", "v"), ("NTILE", "2"), ("PERCENT_RANK", ""))
}


def test_every_function_of_flink_is_known() -> None:
    known = {*FUNCTIONS, *functions(), *READ, *AS_IN_FLINK, *REFUSED}
    assert sorted(FLINKS - known) == []
    assert sorted({*FUNCTIONS, *REFUSED} - FLINKS) == []


@pytest.mark.parametrize("name", READ)
def test_a_function_for_a_special_place_is_read(name: str) -> None:
    assert read(READ[name]).nodes


@pytest.mark.parametrize("name", REFUSED)
def test_a_function_that_is_refused_says_why_and_what_to_write(name: str) -> None:
    queries = [f"SELECT {name}(k) AS x FROM t", f"SELECT * FROM TABLE({name}(TABLE t))"]
    for query in queries if name == "ML_PREDICT" else queries[:1]:
        with pytest.raises(SqlRejected) as refused:
            read(query)
        assert str(refused.value).partition(": ")[2] == REFUSED[name]
        assert REFUSED[name].count(". ") == 1


@pytest.mark.parametrize("query", AS_IN_FLINK.values())
def test_what_flink_refuses_is_refused(query: str) -> None:
    with pytest.raises(SqlRejected):
        read(query)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("SELECT k FROM t WHERE rt > CURRENT_TIMESTAMP", "line 1, column 28: CURRENT_TIMESTAMP tells the time"),
        ("SELECT UNIX_TIMESTAMP() AS x FROM t", "line 1, column 8: UNIX_TIMESTAMP() tells the time"),
        ("SELECT BITMAP_BUILD_AGG(v) FILTER (WHERE v > 1) AS x FROM t", "BITMAP_BUILD_AGG works on bitmaps"),
        ("SELECT BITMAP_BUILD_AGG(v) OVER (ORDER BY rt) AS x FROM t", "BITMAP_BUILD_AGG works on bitmaps"),
        (
            "SELECT MEDIAN(v) FILTER (WHERE v > 1) AS x FROM t",
            "unknown aggregate function 'MEDIAN'. Available: ARRAY_AGG",
        ),
        ("SELECT * FROM ML_PREDICT(TABLE t, MODEL m, DESCRIPTOR(k))", "line 1, column 15: ML_PREDICT asks a model"),
    ],
)
def test_a_function_is_refused_wherever_it_stands(query: str, told: str) -> None:
    with pytest.raises(SqlRejected) as refused:
        read(query)
    assert told in str(refused.value)
