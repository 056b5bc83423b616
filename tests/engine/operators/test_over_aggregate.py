"""Over aggregation: Flink's changelogs, record for record; the batch answer; on Spark for any cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from engine.aggregates.function import AggregateCall
from engine.aggregates.over import FrameOf, OverKernel
from engine.aggregates.registry import function_named
from engine.columnar.in_process import ChunkLoop
from engine.contract.columnar_kernel import Layout
from engine.contract.kernel import Input, Output, run_key
from engine.errors import PipelineError, PlanRejected
from engine.model.timeline import MAX_WATERMARK, Timeline
from engine.operators.over_aggregate import OverAggregate
from engine.runtime.in_process import in_process
from tests.engine.cases import Case, check_cases
from tests.engine.planning import columns, pipeline_of, plan_of, rows, sql_of
from tests.golden.trace import run_pipeline

FUNCTIONS = ("SUM", "COUNT", "MIN", "MAX", "FIRST_VALUE", "LAST_VALUE", "AVG")
CALLS = [AggregateCall(function_named(name), 1) for name in FUNCTIONS]
INTEGERS = (pa.int64(), pa.int64())
SUM = {"function": "SUM", "argument": "v", "name": "s"}


Make = Callable[[Layout], OverKernel]


def by_time(frame: FrameOf, calls: Sequence[AggregateCall] = CALLS) -> Make:
    return partial(OverKernel, calls, 3, 2, frame)


def by_arrival(rows_back: int | None) -> Make:
    return partial(OverKernel, CALLS, 3, None, FrameOf(rows_back))


EVENTS = """
    seq  kind  k  v   rt
    1    +I    a  1   1000
    2    +I    a  2   2000
    3    +I    b  3   1500
    4    +I    a  4   2000
    5    +I    a  5   1500
    6    +I    b  6   4000
    7    +I    a  7   3000
    8    +I    a  8   2500
    9    +I    a  9   9000
    10   +I    b  10  3500
    11   +I    a  11  8000
    12   +I    a  12  20000
    13   +I    a  13  3000
    14   +I    b  14  15000
    15   +I    b  15  16000
    16   wm                 MAX
"""

BEHIND_THE_WATERMARK = """
    seq  time   start  end   wm     lateness
    3    1500   NULL   NULL  1500   0
    5    1500   NULL   NULL  1500   0
    7    3000   NULL   NULL  3500   500
    8    2500   NULL   NULL  3500   1000
    10   3500   NULL   NULL  8500   5000
    11   8000   NULL   NULL  8500   500
    13   3000   NULL   NULL  19500  16500
    14   15000  NULL   NULL  19500  4500
    15   16000  NULL   NULL  19500  3500
"""


def of_events(title: str, kernel: Make, expect: str, late: str = "") -> Case:
    return Case(title, EVENTS, expect, columnar=kernel, key=("k",), watermark=("rt", 500), late=late)


CASES = [
    of_events(
        "a range of all rows: peers together, late as soon as the watermark has reached a row",
        kernel=by_time(FrameOf(peers=True)),
        expect="""
            seq  kind  k  v   rt     sum  cnt  min  max  first  last  avg
            2    +I    a  1   1000   1    1    1    1    1      1     1
            6    +I    a  2   2000   7    3    1    4    1      4     2
            6    +I    a  4   2000   7    3    1    4    1      4     2
            9    +I    b  6   4000   6    1    6    6    6      6     6
            12   +I    a  9   9000   16   4    1    9    1      9     4
            16   +I    a  12  20000  28   5    1    12   1      12    5
        """,
        late=BEHIND_THE_WATERMARK,
    ),
    of_events(
        "all rows one by one: peers in order of arrival",
        kernel=by_time(FrameOf()),
        expect="""
            seq  kind  k  v   rt     sum  cnt  min  max  first  last  avg
            2    +I    a  1   1000   1    1    1    1    1      1     1
            6    +I    a  2   2000   3    2    1    2    1      2     1
            6    +I    a  4   2000   7    3    1    4    1      4     2
            9    +I    b  6   4000   6    1    6    6    6      6     6
            12   +I    a  9   9000   16   4    1    9    1      9     4
            16   +I    a  12  20000  28   5    1    12   1      12    5
        """,
        late=BEHIND_THE_WATERMARK,
    ),
    of_events(
        "one row back: late only when later rows of the key have gone out",
        kernel=by_time(FrameOf(1, judges_by_emitted=True)),
        expect="""
            seq  kind  k  v   rt     sum  cnt  min  max  first  last  avg
            2    +I    a  1   1000   1    1    1    1    1      1     1
            6    +I    b  3   1500   3    1    3    3    3      3     3
            6    +I    a  5   1500   6    2    1    5    1      5     3
            6    +I    a  2   2000   7    2    2    5    5      2     3
            6    +I    a  4   2000   6    2    2    4    2      4     3
            9    +I    a  8   2500   12   2    4    8    4      8     6
            9    +I    a  7   3000   15   2    7    8    8      7     7
            9    +I    b  6   4000   9    2    3    6    3      6     4
            12   +I    a  11  8000   18   2    7    11   7      11    9
            12   +I    a  9   9000   20   2    9    11   11     9     10
            16   +I    b  14  15000  20   2    6    14   6      14    10
            16   +I    b  15  16000  29   2    14   15   14     15    14
            16   +I    a  12  20000  21   2    9    12   9      12    10
        """,
        late="""
            seq  time  start  end   wm     lateness
            10   3500  NULL   NULL  8500   5000
            13   3000  NULL   NULL  19500  16500
        """,
    ),
    of_events(
        "one second back, both ends included: forgotten keys take late rows again",
        kernel=by_time(FrameOf(None, 1000, peers=True, judges_by_emitted=True)),
        expect="""
            seq  kind  k  v   rt     sum  cnt  min  max  first  last  avg
            2    +I    a  1   1000   1    1    1    1    1      1     1
            6    +I    b  3   1500   3    1    3    3    3      3     3
            6    +I    a  5   1500   6    2    1    5    1      5     3
            6    +I    a  2   2000   12   4    1    5    1      4     3
            6    +I    a  4   2000   12   4    1    5    1      4     3
            9    +I    a  7   3000   13   3    2    7    2      7     4
            9    +I    b  6   4000   6    1    6    6    6      6     6
            12   +I    b  10  3500   10   1    10   10   10     10    10
            12   +I    a  11  8000   11   1    11   11   11     11    11
            12   +I    a  9   9000   20   2    9    11   11     9     10
            16   +I    b  14  15000  14   1    14   14   14     14    14
            16   +I    b  15  16000  29   2    14   15   14     15    14
            16   +I    a  12  20000  12   1    12   12   12     12    12
        """,
        late="""
            seq  time  start  end   wm     lateness
            8    2500  NULL   NULL  3500   1000
            13   3000  NULL   NULL  19500  16500
        """,
    ),
    of_events(
        "one row back by arrival: at once",
        kernel=by_arrival(1),
        expect="""
            seq  kind  k  v   rt     sum  cnt  min  max  first  last  avg
            1    +I    a  1   1000   1    1    1    1    1      1     1
            2    +I    a  2   2000   3    2    1    2    1      2     1
            3    +I    b  3   1500   3    1    3    3    3      3     3
            4    +I    a  4   2000   6    2    2    4    2      4     3
            5    +I    a  5   1500   9    2    4    5    4      5     4
            6    +I    b  6   4000   9    2    3    6    3      6     4
            7    +I    a  7   3000   12   2    5    7    5      7     6
            8    +I    a  8   2500   15   2    7    8    7      8     7
            9    +I    a  9   9000   17   2    8    9    8      9     8
            10   +I    b  10  3500   16   2    6    10   6      10    8
            11   +I    a  11  8000   20   2    9    11   9      11    10
            12   +I    a  12  20000  23   2    11   12   11     12    11
            13   +I    a  13  3000   25   2    12   13   12     13    12
            14   +I    b  14  15000  24   2    10   14   10     14    12
            15   +I    b  15  16000  29   2    14   15   14     15    14
        """,
    ),
    of_events(
        "all rows by arrival: at once",
        kernel=by_arrival(None),
        expect="""
            seq  kind  k  v   rt     sum  cnt  min  max  first  last  avg
            1    +I    a  1   1000   1    1    1    1    1      1     1
            2    +I    a  2   2000   3    2    1    2    1      2     1
            3    +I    b  3   1500   3    1    3    3    3      3     3
            4    +I    a  4   2000   7    3    1    4    1      4     2
            5    +I    a  5   1500   12   4    1    5    1      5     3
            6    +I    b  6   4000   9    2    3    6    3      6     4
            7    +I    a  7   3000   19   5    1    7    1      7     3
            8    +I    a  8   2500   27   6    1    8    1      8     4
            9    +I    a  9   9000   36   7    1    9    1      9     5
            10   +I    b  10  3500   19   3    3    10   3      10    6
            11   +I    a  11  8000   47   8    1    11   1      11    5
            12   +I    a  12  20000  59   9    1    12   1      12    6
            13   +I    a  13  3000   72   10   1    13   1      13    7
            14   +I    b  14  15000  33   4    3    14   3      14    8
            15   +I    b  15  16000  48   5    3    15   3      15    9
        """,
    ),
    Case(
        "times before 1970 are times like others",
        columnar=by_time(FrameOf(peers=True)),
        key=("k",),
        given="""
            seq  kind  k  v  rt     wm
            1    +I    a  1  -1000  .
            2    +I    a  2  -1500  -1200
            3    +I    a  3  -1200  .
            4    +I    a  4  -900   -800
        """,
        expect="""
            seq  kind  k  v  rt     sum  cnt  min  max  first  last  avg
            2    +I    a  2  -1500  2    1    2    2    2      2     2
            4    +I    a  1  -1000  3    2    1    2    2      1     1
            4    +I    a  4  -900   7    3    1    4    2      4     2
        """,
        late="""
            seq  time   start  end   wm     lateness
            3    -1200  NULL   NULL  -1200  0
        """,
    ),
]

test_cases = check_cases(CASES)

events = st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 12)), max_size=14)


@given(events, st.sampled_from(["rows", "range", "all rows", "all range"]), st.integers(0, 4))
def test_every_row_sees_the_rows_of_its_frame(records: Sequence[tuple[int, int]], frame: str, back: int) -> None:
    calls = [AggregateCall(function_named("SUM"), 0), AggregateCall(function_named("COUNT"))]
    frames = {
        "rows": FrameOf(back, judges_by_emitted=True),
        "range": FrameOf(None, back, peers=True, judges_by_emitted=True),
        "all rows": FrameOf(),
        "all range": FrameOf(peers=True),
    }
    line = Timeline.of([(len(records) + 1, MAX_WATERMARK)])
    out = Output(line)
    loop = ChunkLoop(partial(OverKernel, calls, 2, 1, frames[frame]), Layout((), (INTEGERS,), INTEGERS * 2), line, out)
    run_key(loop, [Input(seq, 0, row) for seq, row in enumerate(records, start=1)], line, (), None)
    in_order = sorted(records, key=lambda row: row[1])
    for at, (emitted, row) in enumerate(zip(out.rows, in_order, strict=True)):
        seen = {
            "rows": in_order[max(0, at - back) : at + 1],
            "range": [other for other in in_order if row[1] - back <= other[1] <= row[1]],
            "all rows": in_order[: at + 1],
            "all range": [other for other in in_order if other[1] <= row[1]],
        }[frame]
        assert emitted == (*row, sum(value for value, _ in seen), len(seen))


def test_the_output_is_the_input_with_the_results_and_keeps_its_event_time() -> None:
    found = plan_of(
        "t -> o",
        t=rows("k string, v bigint, rt bigint", event_time="rt"),
        o=("over_aggregate", {"partition_by": ["k"], "aggregates": [SUM]}),
    ).node("o")
    assert found.schema.names == ("k", "v", "rt", "s")
    assert found.schema.event_time is not None
    assert str(found.mode) == "[I]"
    assert found.strategy.name == "Over[range, unbounded]"


def test_it_is_written_as_a_window_of_flink_sql() -> None:
    plan = plan_of(
        "t -> o", t=rows("k string, v bigint, rt bigint", event_time="rt"), o=("over_aggregate", {"aggregates": [SUM]})
    )
    schema = plan.node("t").schema
    bounded = OverAggregate.model_validate({"partition_by": ["k"], "preceding_ms": 1000, "aggregates": [SUM]})
    assert bounded.flink_sql([("t", schema)]) == (
        "SELECT `k`, `v`, `rt`, SUM(`v`) OVER w AS `s`\nFROM `t`\n"
        "WINDOW w AS (PARTITION BY `k` ORDER BY `rt` RANGE BETWEEN INTERVAL '1' SECOND PRECEDING AND CURRENT ROW)"
    )
    by_arrival = OverAggregate.model_validate(
        {"order": "arrival", "frame": "rows", "preceding_rows": 2, "aggregates": [SUM]}
    )
    assert by_arrival.flink_sql([("t", schema)]) == (
        "SELECT `k`, `v`, `rt`, SUM(`v`) OVER w AS `s`\nFROM (SELECT *, PROCTIME() AS `proctime` FROM `t`)\n"
        "WINDOW w AS (ORDER BY `proctime` ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)"
    )


@pytest.mark.parametrize(
    ("source", "parameters", "error", "sentence"),
    [
        (rows("k string, v bigint", changelog=True), {"order": "arrival"}, PlanRejected, "needs an insert-only input"),
        (rows("k string, v bigint"), {}, PlanRejected, "order needs an event time"),
        (rows("k string, v bigint"), {"order": "arrival", "preceding_ms": 5}, PlanRejected, "the clock of the machine"),
        (rows("k string, v bigint"), {"frame": "rows", "preceding_ms": 5}, PipelineError, "measured in rows"),
        (rows("k string, v bigint"), {"frame": "range", "preceding_rows": 5}, PipelineError, "measured in time"),
        (rows("k string, s bigint, v bigint"), {"order": "arrival"}, PipelineError, "two output columns"),
    ],
)
def test_what_makes_no_sense_is_refused(
    source: Any, parameters: dict[str, Any], error: type[PipelineError], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        plan_of("t -> o", t=source, o=("over_aggregate", {"aggregates": [SUM], **parameters}))


def test_on_spark_any_cut_gives_the_same(spark: SparkSession, tmp_path: Path) -> None:
    given = [
        ["a", 1, 1000],
        ["a", 2, 2000],
        ["b", 3, 1500],
        ["a", 4, 2000],
        ["a", 5, 1000],
        ["b", 6, 4000],
        ["a", 7, 3500],
    ]
    over = {"partition_by": ["k"], "aggregates": [SUM, {"function": "COUNT", "filter": "v > 2", "name": "n"}]}
    pipeline = pipeline_of(
        """
        t -> range
        t -> rows
        """,
        t=("rows", {"columns": columns("k string, v bigint, rt bigint"), "rows": given, "event_time": "rt"}),
        range=("over_aggregate", {**over, "preceding_ms": 1000}),
        rows=("over_aggregate", {**over, "order": "arrival", "frame": "rows", "preceding_rows": 1}),
    )
    with in_process():
        whole = run_pipeline(pipeline, spark, tmp_path, tmp_path / "whole")
    cut = run_pipeline(pipeline, spark, tmp_path, tmp_path / "cut", epochs=3, partitions=3)
    assert cut.text() == whole.text()
    assert whole.changelog("rows", "k", "v", "s", "n") == [
        "+I(a, 1, 1, 0)",
        "+I(a, 2, 3, 0)",
        "+I(b, 3, 3, 1)",
        "+I(a, 4, 6, 1)",
        "+I(a, 5, 9, 2)",
        "+I(b, 6, 9, 2)",
        "+I(a, 7, 12, 2)",
    ]
    assert [row["event_time_ms"] for row in whole.late] == [2000, 1000]


def test_in_the_order_of_a_column_any_input_will_do_and_rows_are_updated() -> None:
    made = plan_of(
        "t -> over -> out",
        t=rows("k string, v bigint", changelog=True),
        over=("over_aggregate", {"partition_by": ["k"], "order_column": "v", "aggregates": [SUM]}),
        out=("sink", {"mode": "changelog"}),
    ).node("over")
    assert str(made.mode) == "[I,UB,UA,D]"
    assert made.strategy.name == "Over[range, by value]"
    assert "WINDOW w AS (PARTITION BY `k` ORDER BY `v` RANGE BETWEEN" in sql_of(made)
