"""Sorting by event time: ties by other columns, rows that are late after emitted ones, and rejections."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from engine.errors import StudioError
from engine.operators.sort import SortKernel
from engine.planner import plan
from engine.ranking.sort_keys import SortColumn
from tests.engine.cases import Case, check_cases
from tests.engine.planning import KnownTypes, pipeline_of, plan_of, rows

test_cases = check_cases(
    [
        Case(
            "in order of time, the larger value first, late behind a row that has gone out",
            """
                seq  kind  k  v  rt
                1    +I    a  1  2000
                2    +I    b  2  1000
                3    +I    c  3  2000
                4    +I    d  4  4000
                5    +I    e  5  1500
                6    +I    f  6  2500
                7    wm          MAX
            """,
            """
                seq  kind  k  v  rt
                4    +I    b  2  1000
                4    +I    c  3  2000
                4    +I    a  1  2000
                7    +I    f  6  2500
                7    +I    d  4  4000
            """,
            columnar=partial(SortKernel, 3, 2, (SortColumn(1, descending=True),)),
            key=(),
            watermark=("rt", 1000),
            late="""
                seq  time  start  end   wm    lateness
                5    1500  NULL   NULL  3000  1500
            """,
        )
    ]
)


def test_it_keeps_the_columns_and_is_order_by_in_flink_sql() -> None:
    made = plan_of(
        "t -> sorted -> out",
        t=rows("k string, v int, rt timestamp_ltz(3)", event_time="rt"),
        sorted=("sort", {"then_by": [{"column": "v", "descending": True}]}),
        out=("sink", {"mode": "changelog"}),
    ).node("sorted")
    assert str(made.mode) == "[I]"
    schema = made.inputs[0].schema
    assert made.operator.flink_sql([("t", schema)]) == "SELECT `k`, `v`, `rt` FROM `t` ORDER BY `rt` ASC, `v` DESC"


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (rows("k string, v int"), "sorting by time needs an event time, but its input has none."),
        (rows("k string, v int", changelog=True), "sorting by time"),
    ],
)
def test_what_has_no_order_in_time_is_refused(source: object, sentence: str) -> None:
    pipeline = pipeline_of("t -> sorted", t=source, sorted=("sort", {}))
    with pytest.raises(StudioError) as caught:
        plan(pipeline, KnownTypes(), Path())
    assert sentence in str(caught.value)
