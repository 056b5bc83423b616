"""The current watermark: its value is that before a record's event; and the inputs that it rejects."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from engine.errors import StudioError
from engine.operators.current_watermark import CurrentWatermarkKernel
from engine.planner import plan
from tests.engine.cases import Case, check_cases
from tests.engine.planning import KnownTypes, pipeline_of, plan_of, rows, sql_of

test_cases = check_cases(
    [
        Case(
            "no watermark yet, then that of the records before, which stands still for late ones",
            """
                seq  kind  k  rt
                1    +I    a  2000
                2    +I    b  3000
                3    +I    c  1000
                4    +I    d  5000
            """,
            """
                seq  kind  k  rt    watermark
                1    +I    a  2000  NULL
                2    +I    b  3000  1500000
                3    +I    c  1000  2500000
                4    +I    d  5000  2500000
            """,
            kernel=partial(CurrentWatermarkKernel, 1000),
            key=("rt",),
            watermark=("rt", 500),
        )
    ]
)


def test_it_adds_a_column_of_the_event_time_s_type_and_writes_itself_as_a_call() -> None:
    made = plan_of(
        "t -> marked -> out",
        t=rows("k string, rt timestamp_ltz(3)", event_time="rt"),
        marked=("current_watermark", {"name": "wm"}),
        out=("sink", {"mode": "changelog"}),
    ).node("marked")
    assert [(column.name, str(column.type)) for column in made.schema] == [
        ("k", "string"),
        ("rt", "timestamp"),
        ("wm", "timestamp"),
    ]
    sql = "SELECT `k`, `rt`, CURRENT_WATERMARK(`rt`) AS `wm` FROM `t`"
    assert sql_of(made) == sql


@pytest.mark.parametrize(
    ("source", "parameters", "sentence"),
    [
        (rows("k string"), {}, "a watermark needs an event time, but its input has none."),
        (rows("watermark int, rt timestamp", event_time="rt"), {}, "the input has a column 'watermark' already."),
        (rows("k string, rt timestamp", event_time="rt", changelog=True), {}, "needs an insert-only input"),
    ],
)
def test_what_it_cannot_be_computed_of(
    source: tuple[str, dict[str, Any]], parameters: dict[str, Any], sentence: str
) -> None:
    pipeline = pipeline_of("t -> marked", t=source, marked=("current_watermark", parameters))
    with pytest.raises(StudioError) as caught:
        plan(pipeline, KnownTypes(), Path())
    assert sentence in str(caught.value)
