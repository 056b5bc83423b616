"""Repeat: each record is emitted as often as its count column says, with its own kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import PipelineError
from engine.operators.repeat import RepeatKernel
from engine.planner import plan
from tests.engine.cases import Case, check_cases
from tests.engine.planning import KnownTypes, pipeline_of, plan_of, rows

test_cases = check_cases(
    [
        Case(
            "as often as it says, not at all for NULL and below 1",
            """
                seq  kind  k  n
                1    +I    a  2
                2    -U    a  2
                2    +U    a  1
                3    +I    b  NULL
                4    +I    c  0
                5    +I    d  -1
                6    -D    a  1
            """,
            """
                seq  kind  k
                1    +I    a
                1    +I    a
                2    -U    a
                2    -U    a
                2    +U    a
                6    -D    a
            """,
            kernel=RepeatKernel,
            key=("k",),
            leaves_state=False,
        )
    ]
)


def test_the_number_does_not_come_out_and_updates_come_with_the_old_row() -> None:
    made = plan_of(
        "t -> more -> out",
        t=rows("k string, n bigint", changelog=True, primary_key=["k"]),
        more=("repeat", {"times_column": "n"}),
        out=("sink", {"mode": "changelog"}),
    )
    more = made.node("more")
    assert more.schema.names == ("k",)
    assert str(more.mode) == "[I,UB,UA,D]"
    assert more.derived.upsert_keys == frozenset()
    assert more.operator.flink_sql([("t", made.node("t").schema)]).endswith("WHERE `n` > 0")


@pytest.mark.parametrize(
    ("ddl", "column", "sentence"),
    [
        ("k string, n bigint", "k", "times_column: k is of type STRING, but a number of copies is an integer."),
        ("n int", "n", "times_column: n is the only column, so nothing would be left to repeat."),
    ],
)
def test_what_cannot_be_repeated_is_refused(ddl: str, column: str, sentence: str) -> None:
    pipeline = pipeline_of("t -> more", t=rows(ddl), more=("repeat", {"times_column": column}))
    with pytest.raises(PipelineError) as caught:
        plan(pipeline, KnownTypes(), Path())
    assert sentence in str(caught.value)
