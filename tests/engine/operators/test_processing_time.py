"""The processing time of changes: the latest time of all sources; windows over it are those of Flink.

Flink's answers are those of a job whose rows came one a second, in windows of the machine's clock.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from engine.errors import StudioError
from engine.model.combined_watermark import Latest
from engine.model.pipeline import Arrival
from engine.operators.processing_time import ProcessingTimeKernel
from engine.planner import plan
from tests.engine.batch_answer import checked, complaints
from tests.engine.cases import Case, check_cases
from tests.engine.planning import KnownTypes, pipeline_of, plan_of, rows, sql_of
from tests.engine.script.scripts import read, refusals
from tests.golden.trace import run_locally, run_pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

test_cases = check_cases(
    [
        Case(
            "a retraction has the time at which it comes, what the end brings the last time, 0 is before the first",
            """
                seq  kind  k  v  wm
                1    +I    a  1  .
                2    +I    b  2  1999
                3    -U    a  1  1999
                3    +U    a  3  1999
                4    +I    c  4  3999
                5    +I    d  5  MAX
            """,
            """
                seq  kind  k  v  proctime
                1    +I    a  1  0
                2    +I    b  2  2000000
                3    -U    a  1  2000000
                3    +U    a  3  2000000
                4    +I    c  4  4000000
                5    +I    d  5  4000000
            """,
            columnar=ProcessingTimeKernel,
            key=("k",),
        )
    ]
)

# Rows 1, 2, 13, 14, 25 and 26 seconds after a start: an id moves from x to y, or gets another value.
MOVED = """
-- studio.arrived: "came"
CREATE TABLE a (id INT, k STRING, v INT, came BIGINT) WITH ('connector' = 'kafka');
INSERT INTO a VALUES (1, 'x', 3, 1000), (2, 'x', 5, 2000), (1, 'y', 3, 13000), (3, 'x', 7, 14000), (2, 'y', 5, 25000),
  (3, 'x', 9, 26000);
CREATE VIEW v AS SELECT *, PROCTIME() AS pt FROM (SELECT id, LAST_VALUE(k) AS k, LAST_VALUE(v) AS v FROM a GROUP BY id);
"""
CALLS = "COUNT(*) AS n, SUM(v) AS s, MAX(v) AS high, MIN(v) AS low, AVG(v) AS mean, COUNT(DISTINCT v) AS d"
# By what they have: x with two rows; y with one; x with one row and three retractions.
X_2, Y_1, X_LESS = ("x", 2, 8, 5, 3, 4, 2), ("y", 1, 3, 3, 3, 3, 1), ("x", -1, -3, 9, 9, 3, 1)
Y_NEXT = ("y", 1, 5, 5, 5, 5, 1)
TUMBLED = [(0, *X_2), (10, *Y_1), (20, *X_LESS), (20, *Y_NEXT)]
HOPPED = [
    (-5, *X_2),
    (0, *X_2),
    (5, *Y_1),
    (10, *Y_1),
    (20, *X_LESS),
    (20, *Y_NEXT),
    (25, *X_LESS),
    (25, *Y_NEXT),
]
IN_SESSIONS = [(1, *X_2), (13, *Y_1), (25, *Y_NEXT), (25, *X_LESS)]


def seconds(trace: Any) -> list[tuple[Any, ...]]:
    """The records of the result, each with the second of its first column."""
    return [(int(start.timestamp()), *others) for start, *others in (r.row for r in trace.records["result"])]


@pytest.mark.parametrize(
    ("windows", "expected"),
    [
        ("TUMBLE(TABLE v, DESCRIPTOR(pt), INTERVAL '10' SECOND)", TUMBLED),
        ("HOP(TABLE v, DESCRIPTOR(pt), INTERVAL '5' SECOND, INTERVAL '10' SECOND)", HOPPED),
        (
            "CUMULATE(TABLE v, DESCRIPTOR(pt), INTERVAL '5' SECOND, INTERVAL '10' SECOND)",
            [(0, *X_2), (0, *X_2), (10, *Y_1), (10, *Y_1), (20, *X_LESS), (20, *Y_NEXT)],
        ),
        ("SESSION(TABLE v PARTITION BY k, DESCRIPTOR(pt), INTERVAL '5' SECOND)", IN_SESSIONS),
    ],
    ids=["tumble", "hop", "cumulate", "session"],
)
def test_windows_over_rows_that_are_taken_back_are_those_of_flink(
    windows: str, expected: list[tuple[Any, ...]], spark: SparkSession
) -> None:
    # x has no window from 10 on, or from 13 on: one row came and one went, so none is left.
    query = f"SELECT window_start, k, {CALLS} FROM TABLE({windows}) GROUP BY k, window_start, window_end;"
    assert seconds(run_locally(read(MOVED + query, spark).pipeline, spark, Path())) == expected


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ("TUMBLE(pt, INTERVAL '10' SECOND)", TUMBLED),
        ("HOP(pt, INTERVAL '5' SECOND, INTERVAL '10' SECOND)", HOPPED),
        ("SESSION(pt, INTERVAL '5' SECOND)", IN_SESSIONS),
    ],
    ids=["tumble", "hop", "session"],
)
def test_so_are_group_windows(window: str, expected: list[tuple[Any, ...]], spark: SparkSession) -> None:
    start = window.replace("(", "_START(", 1)
    query = f"SELECT {start} AS s, k, {CALLS} FROM v GROUP BY k, {window};"
    assert seconds(run_locally(read(MOVED + query, spark).pipeline, spark, Path())) == expected


JOINED = """
-- studio.arrived: "came"
CREATE TABLE a (id INT, k STRING, came BIGINT) WITH ('connector' = 'kafka');
-- studio.arrived: "came"
CREATE TABLE b (id INT, w INT, came BIGINT) WITH ('connector' = 'kafka');
INSERT INTO a VALUES (1, 'x', 1000), (2, 'y', 12000), (3, 'x', 21000);
INSERT INTO b VALUES (1, 3, 11000), (3, 4, 15000), (2, 5, 32000), (9, 9, 99000);
CREATE VIEW v AS SELECT a.id, a.k, w, PROCTIME() AS pt FROM a {kind} JOIN b ON a.id = b.id;
"""
COUNTED = (
    "SELECT window_start, k, COUNT(*) AS n, SUM(w) AS s FROM TABLE(TUMBLE(TABLE v, DESCRIPTOR(pt), INTERVAL '10' "
    "SECOND)) GROUP BY k, window_start, window_end;"
)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        # Of row 3 of b nothing comes before row 3 of a does.
        ("", [(10, "x", 1, 3), (20, "x", 1, 4), (30, "y", 1, 5)]),
        # The padded row goes where its partner comes: in another window, but for y, of which one went and one came.
        ("LEFT", [(0, "x", 1, None), (10, "y", 1, None), (20, "x", 1, 4)]),
    ],
)
@pytest.mark.parametrize(("epochs", "partitions"), [(1, 1), (1, 3), (3, 2), (7, 1)])
def test_the_clock_of_a_join_is_the_latest_of_both_sides_however_a_run_is_cut(
    kind: str, expected: list[Any], epochs: int, partitions: int, spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = read(JOINED.format(kind=kind) + COUNTED, spark).pipeline
    pipeline = pipeline.model_copy(update={"arrival": Arrival(mode="by_event_time")})
    local = run_locally(pipeline, spark, Path())
    cut = run_pipeline(pipeline, spark, Path(), tmp_path, epochs=epochs, partitions=partitions)
    assert seconds(local) == expected
    assert cut.records == local.records
    assert cut.late == local.late == []


@pytest.mark.parametrize("kind", ["", "LEFT"])
def test_a_group_window_goes_by_the_processing_time_of_rows_below_a_join(kind: str, spark: SparkSession) -> None:
    window = "TUMBLE(pt, INTERVAL '10' SECOND)"
    found = []
    for below in ("v", "(SELECT t.k, t.pt, b.w FROM t {kind} JOIN b ON t.id = b.id)"):
        query = f"""
        CREATE VIEW t AS SELECT *, PROCTIME() AS pt FROM a;
        SELECT TUMBLE_START(pt, INTERVAL '10' SECOND) AS s, k, COUNT(*) AS n FROM {below} GROUP BY k, {window};
        """
        pipeline = read((JOINED + query).format(kind=kind), spark).pipeline
        pipeline = pipeline.model_copy(update={"arrival": Arrival(mode="by_event_time")})
        found.append(seconds(run_locally(pipeline, spark, Path())))
    # As over a processing time that is made above the join.
    assert found[0] == found[1] != []


def test_the_batch_check_gives_each_row_the_same_time(spark: SparkSession) -> None:
    pipeline = read(JOINED.format(kind="") + COUNTED, spark).pipeline
    found = checked(pipeline.model_copy(update={"arrival": Arrival(mode="by_event_time")}), spark, epochs=3)
    assert complaints(found) == []
    assert {node.node: node.same for node in found.nodes}["result"] == 3


def test_a_delay_that_a_table_declares_does_not_hold_the_clock_back(spark: SparkSession) -> None:
    text = """
    CREATE TABLE a (k STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE)
      WITH ('connector' = 'kafka');
    INSERT INTO a VALUES ('x', TIMESTAMP '1970-01-01 00:00:15'), ('y', TIMESTAMP '1970-01-01 00:00:03'),
      ('x', TIMESTAMP '1970-01-01 00:00:25');
    CREATE VIEW v AS SELECT *, PROCTIME() AS pt FROM (SELECT DISTINCT k FROM a);
    """
    window = "TUMBLE(pt, INTERVAL '10' SECOND)"
    query = f"SELECT {window.replace('(', '_START(', 1)} AS s, COUNT(*) AS n FROM v GROUP BY {window};"
    # y came after x, when the clock showed 15.
    assert seconds(run_locally(read(text + query, spark).pipeline, spark, Path())) == [(10, 2)]


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        (
            "SELECT SUM(w) OVER (ORDER BY pt RANGE BETWEEN INTERVAL '1' MINUTE PRECEDING AND CURRENT ROW) AS s FROM v",
            "an over aggregate by time needs an insert-only input",
        ),
        (
            "SELECT COUNT(*) AS n FROM TABLE(TUMBLE(TABLE w, DESCRIPTOR(pt), INTERVAL '1' MINUTE)) "
            "GROUP BY window_start, window_end",
            "'pt' is a processing time of rows below a join or a group, and no time attribute above it.",
        ),
    ],
)
def test_what_flink_refuses_is_refused(query: str, sentence: str, spark: SparkSession) -> None:
    below = (
        "CREATE VIEW t AS SELECT *, PROCTIME() AS pt FROM a; CREATE VIEW w AS SELECT pt FROM t JOIN b ON t.id = b.id; "
    )
    assert sentence in refusals(JOINED.format(kind="LEFT") + below + query + ";", spark)


def test_it_adds_an_event_time_and_its_watermark_is_that_of_the_latest_source() -> None:
    joined = ("join", {"kind": "left", "left_keys": ["k"], "right_keys": ["k"]})
    made = plan_of(
        "a -> j:left -> p -> out\nb -> j:right",
        a=rows("k string, rt timestamp_ltz(3)", event_time="rt"),
        b=rows("k string, at timestamp_ltz(3)", event_time="at"),
        j=joined,
        p=("processing_time", {"name": "pt"}),
        out=("sink", {"mode": "changelog"}),
    ).node("p")
    assert made.schema.event_time is not None
    assert made.schema.event_time.name == "pt"
    assert made.derived.above == made.above == Latest(("a", "b"))
    assert sql_of(made).startswith("SELECT `k`, `rt`, ")
    assert "PROCTIME() AS `pt`" in sql_of(made)
    assert "a retraction, too, so it counts in the window that is open when it comes" in made.strategy.reason


def test_its_name_is_a_new_one() -> None:
    pipeline = pipeline_of("t -> p", t=rows("proctime int"), p=("processing_time", {}))
    with pytest.raises(StudioError, match="the input has a column 'proctime' already"):
        plan(pipeline, KnownTypes(), Path())
