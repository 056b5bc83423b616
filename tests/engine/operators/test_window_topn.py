"""The best rows of each window, record for record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pytest

from engine.errors import PipelineError, PlanRejected, UnknownColumn
from engine.model.windowing import Windowing, WindowKind
from engine.operators.window_topn import WindowTopNKernel
from engine.ranking.sort_keys import SortColumn
from tests.engine.cases import Case, check_cases
from tests.engine.planning import plan_of, rows

EVENTS = rows("k string, v bigint, rt bigint", event_time="rt")
TENS = Windowing(WindowKind.TUMBLE, 10)
BEST = {"kind": "tumble", "size_ms": 10, "order_by": [{"column": "v", "descending": True}], "rank_end": 2}


def case(
    title: str,
    given: str,
    expect: str,
    *,
    windowing: Windowing | None = TENS,
    order: Sequence[SortColumn] = (SortColumn(1, descending=True),),
    ranks: tuple[int, int] = (1, 2),
    with_rank: bool = False,
    later_first: bool = False,
    **more: Any,
) -> Case:
    kernel = partial(WindowTopNKernel, windowing, order, *ranks, with_rank=with_rank, later_first=later_first)
    return Case(title, given, expect, columnar=kernel, **{"watermark": ("rt", 0), **more})


GIVEN = """
    seq kind rt k v
    1   +I   1  a 5
    2   +I   2  b 7
    3   +I   3  c 5
    4   +I   12 d 1
    5   +I   4  e 9
    6   wm   MAX
"""
LATE = """
    seq time start end wm lateness
    5   4    0     10  12 3
"""

test_each_window_goes_out_once = check_cases(
    [
        case(
            "the best two, the earlier of equal rows first, what is late in the ledger",
            GIVEN,
            """
            seq kind k v start end   time
            4   +I   b 7 0     10000 9000
            4   +I   a 5 0     10000 9000
            6   +I   d 1 10000 20000 19000
            """,
            late=LATE,
            leaves_state=False,
        ),
        case(
            "ranks two to three, with their number",
            GIVEN,
            """
            seq kind k v start end   time rank
            4   +I   a 5 0     10000 9000 2
            4   +I   c 5 0     10000 9000 3
            """,
            ranks=(2, 3),
            with_rank=True,
            late=LATE,
        ),
        case(
            "ascending by name",
            GIVEN,
            """
            seq kind k v start end   time
            4   +I   a 5 0     10000 9000
            6   +I   d 1 10000 20000 19000
            """,
            order=(SortColumn(0, descending=False),),
            ranks=(1, 1),
            late=LATE,
        ),
        case(
            "overlapping windows, each with its own rows",
            """
            seq kind rt k v
            1   +I   7  a 5
            2   +I   12 b 7
            3   wm   MAX
            """,
            """
            seq kind k v start end   time
            2   +I   a 5 0     10000 9000
            3   +I   b 7 5000  15000 14000
            3   +I   b 7 10000 20000 19000
            """,
            windowing=Windowing(WindowKind.HOP, 10, 5),
            ranks=(1, 1),
        ),
        case(
            "rows that have a window already",
            """
            seq kind start end k v wm
            1   +I   0     10  a 5 .
            1   +I   0     10  b 7 9
            2   +I   10    20  c 1 30
            """,
            """
            seq kind k v
            1   +I   b 7
            2   +I   c 1
            """,
            windowing=None,
            ranks=(1, 1),
            watermark=None,
        ),
        case(
            "of equal rows the last one is kept, if later rows are better",
            """
            seq kind rt k v
            1   +I   1  a 5
            2   +I   2  b 5
            3   +I   3  c 4
            4   +I   4  d 5
            5   wm   9
            """,
            """
            seq kind k v start end   time
            5   +I   d 5 0     10000 9000
            5   +I   b 5 0     10000 9000
            """,
            later_first=True,
        ),
    ]
)


def test_the_bounds_of_windows_made_here_are_columns_and_the_last_is_the_event_time() -> None:
    found = plan_of("t -> w -> out", t=EVENTS, w=("window_topn", {**BEST, "with_rank": True}), out=("sink", {}))
    node = found.node("w")
    assert node.schema.names == ("k", "v", "rt", "window_start", "window_end", "window_time", "rank")
    assert node.schema.event_time is not None
    assert node.schema.event_time.name == "window_time"
    assert str(node.mode) == "[I]"


@pytest.mark.parametrize(
    ("parameters", "error", "match"),
    [
        ({"size_ms": None}, PipelineError, "size_ms is needed with tumble windows"),
        ({"window_end": "rt"}, PipelineError, "set both window_start and window_end, or neither"),
        ({"kind": "session"}, PipelineError, "gap_ms is needed with session windows|size_ms is not used with session"),
        ({"rank_start": 3}, PipelineError, "the range of ranks ends at 2, before it starts at 3"),
        ({"partition_by": ["x"]}, UnknownColumn, "unknown column 'x'"),
        (
            {"size_ms": None, "window_start": "v", "window_end": "rt"},
            PipelineError,
            "v is of type BIGINT, not a timestamp",
        ),
        ({"with_rank": True, "rank_column": "K"}, PipelineError, "there is a column 'K' already"),
    ],
)
def test_wrong_parameters_are_named(parameters: Mapping[str, Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        plan_of("t -> w -> out", t=EVENTS, w=("window_topn", {**BEST, **parameters}), out=("sink", {}))


def test_columns_without_an_order_are_refused() -> None:
    lists = rows("k string, v array<int>, rt bigint", event_time="rt")
    with pytest.raises(PipelineError, match=r"order_by: v is of type ARRAY<INT>, which has no order"):
        plan_of("t -> w -> out", t=lists, w=("window_topn", BEST), out=("sink", {}))


def test_an_updating_input_is_refused() -> None:
    changes = rows("k string, v bigint, rt bigint", event_time="rt", changelog=True)
    with pytest.raises(PlanRejected, match=r"a window Top N needs an insert-only input, but t emits \+I -U \+U -D"):
        plan_of("t -> w -> out", t=changes, w=("window_topn", BEST), out=("sink", {}))
