"""Aggregates over attached windows: cases, a property against a batch answer, the plan."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.aggregates.function import AggregateCall
from engine.aggregates.registry import function_named
from engine.contract.kernel import Input, run
from engine.errors import PipelineError
from engine.model.timeline import MAX_WATERMARK, Timeline
from engine.windows.attached_kernel import AttachedWindowKernel
from tests.engine.cases import Case, check_cases
from tests.engine.planning import plan_of, rows

COUNT = {"function": "COUNT", "name": "n"}
ATTACHED = {"window_start": "window_start", "window_end": "window_end", "aggregates": [COUNT]}
EVENTS = rows("k string, v bigint, rt bigint", event_time="rt")
SINK: tuple[str, dict[str, Any]] = ("sink", {})

COUNTING = AggregateCall(function_named("COUNT"))


def counts(**settings: Any) -> AttachedWindowKernel:
    return AttachedWindowKernel([COUNTING], retracting=settings.pop("retracting", False), **settings)


test_cases = check_cases(
    [
        Case(
            "each window goes out once, when the watermark reaches its last millisecond",
            kernel=counts,
            given="""
                seq  kind  start  end  wm
                1    +I    0      10   .
                2    +I    5      20   .
                3    +I    0      10   9
                4    +I    0      10   .
                5    wm                19
            """,
            expect="""
                seq  kind  start  end    n
                3    +I    0      10000  2
                5    +I    5000   20000  1
            """,
            late="""
                seq  time  start  end  wm  lateness
                4    9     0      10   9   0
            """,
            leaves_state=False,
        ),
        Case(
            "a row taken back leaves its window, and an empty window is not emitted",
            kernel=lambda: counts(retracting=True),
            given="""
                seq  kind  start  end  wm
                1    +I    0      10   .
                2    +I    0      20   .
                3    -D    0      10   .
                4    wm                MAX
            """,
            expect="""
                seq  kind  start  end    n
                4    +I    0      20000  1
            """,
            leaves_state=False,
        ),
        Case(
            "with an allowed lateness a late row updates its window at once",
            kernel=lambda: counts(allowed_lateness_ms=5),
            given="""
                seq  kind  start  end  wm
                1    +I    0      10   9
                2    +I    0      10   14
                3    +I    0      10   .
            """,
            expect="""
                seq  kind  start  end    n
                1    +I    0      10000  1
                2    -U    0      10000  1
                2    +U    0      10000  2
            """,
            late="""
                seq  time  start  end  wm  lateness
                3    9     0      10   14  0
            """,
            used="""
                seq  time  start  end  wm  lateness
                2    9     0      10   9   0
            """,
            leaves_state=False,
        ),
        Case(
            "firing early with each record repeats nothing at the end",
            kernel=lambda: counts(early_fire_each_record=True),
            given="""
                seq  kind  start  end  wm
                1    +I    0      10   .
                2    +I    0      10   .
                3    wm                MAX
            """,
            expect="""
                seq  kind  start  end    n
                1    +I    0      10000  1
                2    -U    0      10000  1
                2    +U    0      10000  2
            """,
            leaves_state=False,
        ),
        Case(
            "firing early by event time says what has changed since",
            kernel=lambda: counts(early_fire_every_ms=4),
            given="""
                seq  kind  start  end  wm
                1    +I    0      10   3
                2    +I    0      10   5
                3    +I    0      10   7
                4    wm                9
            """,
            expect="""
                seq  kind  start  end    n
                1    +I    0      10000  1
                3    -U    0      10000  1
                3    +U    0      10000  3
            """,
            leaves_state=False,
        ),
    ]
)

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4), st.integers(0, 60)), max_size=30)


@given(ROWS)
def test_what_comes_out_is_the_batch_answer_over_rows_not_late(given_rows: list[tuple[int, int, int]]) -> None:
    inputs = [Input(seq, 0, (start * 10, (start + size) * 10)) for seq, (start, size, _) in enumerate(given_rows, 1)]
    marks = [(seq, mark) for seq, (_, _, mark) in enumerate(given_rows, 1)]
    line = Timeline.of([*marks, (len(given_rows) + 1, MAX_WATERMARK)])
    out, saved = run(counts(), inputs, line)
    expected: dict[tuple[int, int], int] = defaultdict(int)
    for item in inputs:
        if item.row[1] - 1 > line.at(item.seq - 1):
            expected[item.row] += 1
    got = {(row[0] // 1000, row[1] // 1000): row[2] for row in out.rows}
    assert (got, saved) == (dict(expected), None)
    assert len(out.lates) == len(inputs) - sum(expected.values())


def test_a_window_aggregate_takes_the_windows_of_another() -> None:
    planned = plan_of(
        "t -> w -> x -> out",
        t=EVENTS,
        w=("window_aggregate", {"size_ms": 1000, "group_by": ["k"], "aggregates": [COUNT]}),
        x=("window_aggregate", ATTACHED),
        out=SINK,
    )
    node = planned.node("x")
    assert node.schema.names == ("window_start", "window_end", "n")
    assert node.strategy.name == "attached without retraction"
    assert node.strategy.reason.startswith("the windows that the rows have; each is emitted once")
    operator: Any = node.operator
    assert operator.flink_sql([("w", node.inputs[0].schema)]) == (
        "SELECT `window_start` AS window_start, `window_end` AS window_end, COUNT(*) AS `n`\n"
        "FROM `w`\nGROUP BY `window_start`, `window_end`"
    )


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"window_end": None}, "set both window_start and window_end, or neither"),
        ({"size_ms": 1000}, "size_ms is not used with window_start and window_end"),
        ({"window_start": "k", "window_end": "rt"}, "window_start: k is of type STRING, not a timestamp"),
    ],
)
def test_wrong_windows_are_named(parameters: dict[str, Any], match: str) -> None:
    with pytest.raises(PipelineError, match=match):
        plan_of("t -> w -> out", t=EVENTS, w=("window_aggregate", {**ATTACHED, **parameters}), out=SINK)
