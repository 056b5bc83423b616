"""Every function of deduplication, record for record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from engine.contract.operator import StepContext
from engine.contract.step import Keyed
from engine.errors import PlanRejected, UnknownColumn
from engine.operators.deduplicate import Deduplicate
from engine.planner.plan import NodePlan
from tests.engine.cases import Case, check_cases
from tests.engine.planning import plan_of, rows, sql_of

INSENSITIVE = {"table.exec.deduplicate.insert-update-after-sensitive-enabled": "false"}
TTL = {"table.exec.state.ttl": "1 h"}

EVENTS = rows("k string, v bigint, rt bigint", event_time="rt")
CDC = rows("k string, v bigint", changelog=True, primary_key=["k"])

LAST_BY_TIME = {"keys": ["k"], "order": "event_time", "keep": "last"}
FIRST_AT_ONCE = {"keys": ["k"], "order": "event_time", "keep": "first", "first_row": "at_once"}
FIRST_COMPLETE = {"keys": ["k"], "order": "event_time", "keep": "first", "first_row": "when_complete"}
LAST_BY_ARRIVAL = {"keys": ["k"], "order": "arrival", "keep": "last"}
FIRST_BY_ARRIVAL = {"keys": ["k"], "order": "arrival", "keep": "first"}


def node_plan(parameters: Mapping[str, Any], source: Any = EVENTS, sink: str = "changelog") -> NodePlan:
    """The plan of a deduplication between a source and a sink."""
    found = plan_of("t -> d -> out", t=source, d=("deduplicate", parameters), out=("sink", {"mode": sink}))
    return found.node("d")


def keyed(found: NodePlan, options: Mapping[str, str] | None = None) -> Keyed:
    context = StepContext("d", 1, found.inputs, found.mode, found.derived, options or {})
    step = found.operator.step(context)
    assert isinstance(step, Keyed)
    return step


def case(
    title: str,
    parameters: Mapping[str, Any],
    given: str,
    expect: str,
    *,
    source: Any = EVENTS,
    sink: str = "changelog",
    options: Mapping[str, str] | None = None,
    **more: Any,
) -> Case:
    """A case with the kernel and the mode that the planner chooses."""
    found = node_plan(parameters, source, sink)
    step = keyed(found, options)
    columnar = None if step.kernel is not None else step.columnar.make
    return Case(title, given, expect, step.kernel, key=("k",), mode=found.mode, columnar=columnar, **more)


# Out of order, with equal times: the rows of all Flink deduplication cases.
DISORDER = """
    seq  kind  k   v  rt
    1    +I    k1  1  1000
    2    +I    k1  2  900
    3    +I    k2  3  1500
    4    +I    k1  4  1000
    5    +I    k2  5  1400
    6    +I    k1  6  2000
    7    +I    k1  7  1999
    8    +I    k2  8  1500
"""

LAST_OF_DISORDER = """
    seq  kind  k   v  rt
    1    +I    k1  1  1000
    3    +I    k2  3  1500
    4    -U    k1  1  1000
    4    +U    k1  4  1000
    6    -U    k1  4  1000
    6    +U    k1  6  2000
    8    -U    k2  3  1500
    8    +U    k2  8  1500
"""

ARRIVALS_OF_DISORDER = """
    seq  kind  k   v  rt
    1    +I    k1  1  1000
    2    -U    k1  1  1000
    2    +U    k1  2  900
    3    +I    k2  3  1500
    4    -U    k1  2  900
    4    +U    k1  4  1000
    5    -U    k2  3  1500
    5    +U    k2  5  1400
    6    -U    k1  4  1000
    6    +U    k1  6  2000
    7    -U    k1  6  2000
    7    +U    k1  7  1999
    8    -U    k2  5  1400
    8    +U    k2  8  1500
"""

test_last_by_event_time = check_cases(
    [
        case(
            "dedup_rowtime_last: a later row replaces, and so does one of the same time",
            LAST_BY_TIME,
            DISORDER,
            LAST_OF_DISORDER,
            watermark=("rt", 500),
        ),
        case(
            "dedup_rowtime_last_no_delay: late records are not dropped",
            LAST_BY_TIME,
            DISORDER,
            LAST_OF_DISORDER,
            watermark=("rt", 0),
        ),
        case(
            "dedup_rowtime_last_upsert_sink: no -U where nobody needs it",
            LAST_BY_TIME,
            DISORDER,
            """
            seq  kind  k   v  rt
            1    +I    k1  1  1000
            3    +I    k2  3  1500
            4    +U    k1  4  1000
            6    +U    k1  6  2000
            8    +U    k2  8  1500
            """,
            sink="upsert",
        ),
        case(
            "insensitive to insert and update-after: the first is +U too",
            LAST_BY_TIME,
            DISORDER,
            """
            seq  kind  k   v  rt
            1    +U    k1  1  1000
            3    +U    k2  3  1500
            4    +U    k1  4  1000
            6    +U    k1  6  2000
            8    +U    k2  8  1500
            """,
            sink="upsert",
            options=INSENSITIVE,
        ),
        case(
            "insensitive, but -U goes out: the first is +I",
            LAST_BY_TIME,
            DISORDER,
            LAST_OF_DISORDER,
            options=INSENSITIVE,
        ),
        case(
            "an identical row of the same time still goes out as -U +U",
            LAST_BY_TIME,
            """
            seq  kind  k  v  rt
            1    +I    a  1  1000
            2    +I    a  1  1000
            """,
            """
            seq  kind  k  v  rt
            1    +I    a  1  1000
            2    -U    a  1  1000
            2    +U    a  1  1000
            """,
        ),
        case(
            "NULL is a key, and a NULL payload is a row",
            LAST_BY_TIME,
            """
            seq  kind  k     v     rt
            1    +I    NULL  NULL  -5
            2    +I    a     1     0
            3    +I    NULL  2     -4
            """,
            """
            seq  kind  k     v     rt
            1    +I    NULL  NULL  -5
            2    +I    a     1     0
            3    -U    NULL  NULL  -5
            3    +U    NULL  2     -4
            """,
        ),
    ]
)

test_first_by_event_time_at_once = check_cases(
    [
        case(
            "a strictly older row replaces, one of the same time does not",
            FIRST_AT_ONCE,
            DISORDER,
            """
            seq  kind  k   v  rt
            1    +I    k1  1  1000
            2    -U    k1  1  1000
            2    +U    k1  2  900
            3    +I    k2  3  1500
            5    -U    k2  3  1500
            5    +U    k2  5  1400
            """,
            watermark=("rt", 0),
        ),
        case(
            "no -U where nobody needs it",
            FIRST_AT_ONCE,
            DISORDER,
            """
            seq  kind  k   v  rt
            1    +I    k1  1  1000
            2    +U    k1  2  900
            3    +I    k2  3  1500
            5    +U    k2  5  1400
            """,
            sink="upsert",
        ),
    ]
)

test_first_by_event_time_when_complete = check_cases(
    [
        case(
            "dedup_rowtime_first_then_tumble: each key once, and 500 is older than the watermark",
            FIRST_COMPLETE,
            """
            seq  kind  k  v  rt
            1    +I    a  1  1000
            2    +I    b  2  3000
            3    +I    a  3  500
            4    +I    c  4  12000
            5    +I    b  5  11000
            6    +I    a  6  26000
            7    wm          MAX
            """,
            """
            seq  kind  k  v  rt
            2    +I    a  1  1000
            4    +I    b  2  3000
            6    +I    c  4  12000
            """,
            watermark=("rt", 1000),
            late="""
            seq  time  start  end   wm    lateness
            3    500   NULL   NULL  2000  1500
            """,
        ),
        case(
            "an earlier row takes the candidate's place, one of the same time does not",
            FIRST_COMPLETE,
            """
            seq  kind  k  v  rt    wm
            1    +I    a  1  1000  .
            2    +I    a  2  800   .
            3    +I    a  3  800   .
            4    +I    b  4  900   .
            5    wm                850
            6    wm                2000
            """,
            """
            seq  kind  k  v  rt
            5    +I    a  2  800
            6    +I    b  4  900
            """,
        ),
        case(
            "a row at the watermark is in time and goes out with its next step",
            FIRST_COMPLETE,
            """
            seq  kind  k  v  rt    wm
            1    wm                1000
            2    +I    a  1  1000  .
            3    +I    b  2  999   .
            4    wm                1001
            """,
            """
            seq  kind  k  v  rt
            4    +I    a  1  1000
            """,
            late="""
            seq  time  start  end   wm    lateness
            3    999   NULL   NULL  1000  1
            """,
        ),
        case(
            "a key that is done ignores what is in time, and keeps what is late in the ledger",
            FIRST_COMPLETE,
            """
            seq  kind  k  v  rt    wm
            1    +I    a  1  1000  1500
            2    +I    a  2  2000  .
            3    +I    a  3  1400  .
            4    wm                MAX
            """,
            """
            seq  kind  k  v  rt
            1    +I    a  1  1000
            """,
            late="""
            seq  time  start  end   wm    lateness
            3    1400  NULL   NULL  1500  100
            """,
        ),
        case(
            "one advance sends keys by time, then by arrival, NULL among them",
            FIRST_COMPLETE,
            """
            seq  kind  k     v  rt    wm
            1    +I    late  1  3000  .
            2    +I    NULL  2  1000  .
            3    +I    b     3  1000  .
            4    +I    a     4  -500  .
            5    wm                   5000
            """,
            """
            seq  kind  k     v  rt
            5    +I    a     4  -500
            5    +I    NULL  2  1000
            5    +I    b     3  1000
            5    +I    late  1  3000
            """,
        ),
    ]
)

test_first_by_arrival = check_cases(
    [
        case(
            "dedup_proctime_first: the first row, whatever its time",
            FIRST_BY_ARRIVAL,
            DISORDER,
            """
            seq  kind  k   v  rt
            1    +I    k1  1  1000
            3    +I    k2  3  1500
            """,
        ),
    ]
)

REPEATED = """
    seq  kind  k  v
    1    +I    a  1
    2    +I    a  1
    3    +I    a  2
"""
PLAIN = rows("k string, v bigint")

test_last_by_arrival = check_cases(
    [
        case(
            "dedup_proctime_last: each row replaces the one before",
            LAST_BY_ARRIVAL,
            DISORDER,
            ARRIVALS_OF_DISORDER,
        ),
        case(
            "dedup_proctime_last_upsert_sink_insensitive: all is +U, the first too",
            LAST_BY_ARRIVAL,
            DISORDER,
            """
            seq  kind  k   v  rt
            1    +U    k1  1  1000
            2    +U    k1  2  900
            3    +U    k2  3  1500
            4    +U    k1  4  1000
            5    +U    k2  5  1400
            6    +U    k1  6  2000
            7    +U    k1  7  1999
            8    +U    k2  8  1500
            """,
            sink="upsert",
            options=INSENSITIVE,
            leaves_state=False,
        ),
        case(
            "an unchanged row is left out",
            LAST_BY_ARRIVAL,
            REPEATED,
            """
            seq  kind  k  v
            1    +I    a  1
            3    -U    a  1
            3    +U    a  2
            """,
            source=PLAIN,
        ),
        case(
            "an unchanged row goes out where state may expire",
            LAST_BY_ARRIVAL,
            REPEATED,
            """
            seq  kind  k  v
            1    +I    a  1
            2    -U    a  1
            2    +U    a  1
            3    -U    a  1
            3    +U    a  2
            """,
            source=PLAIN,
            options=TTL,
        ),
    ]
)

test_last_on_a_changelog = check_cases(
    [
        case(
            "a delete by key takes back the stored row",
            LAST_BY_ARRIVAL,
            """
            seq  kind  k  v
            1    +I    a  1
            2    +U    a  2
            3    -D    a  NULL
            4    -D    a  NULL
            5    +U    a  3
            """,
            """
            seq  kind  k  v
            1    +I    a  1
            2    -U    a  1
            2    +U    a  2
            3    -D    a  2
            5    +I    a  3
            """,
            source=CDC,
        ),
        case(
            "a -U deletes, since no +U has to follow",
            LAST_BY_ARRIVAL,
            """
            seq  kind  k  v
            1    +I    a  1
            2    -U    a  1
            3    +U    a  2
            4    -U    a  2
            """,
            """
            seq  kind  k  v
            1    +I    a  1
            2    -D    a  1
            3    +I    a  2
            4    -D    a  2
            """,
            source=CDC,
            leaves_state=False,
        ),
        case(
            "an unchanged row is left out, taking back an unknown key does nothing",
            LAST_BY_ARRIVAL,
            """
            seq  kind  k     v
            1    -D    b     NULL
            2    +U    NULL  NULL
            3    +I    NULL  NULL
            4    -U    b     1
            5    -D    NULL  7
            """,
            """
            seq  kind  k     v
            2    +I    NULL  NULL
            5    -D    NULL  NULL
            """,
            source=CDC,
            leaves_state=False,
        ),
        case(
            "an unchanged row goes out where state may expire, without -U into an upsert sink",
            LAST_BY_ARRIVAL,
            """
            seq  kind  k  v
            1    +I    a  1
            2    +U    a  1
            3    -D    a  NULL
            """,
            """
            seq  kind  k  v
            1    +I    a  1
            2    +U    a  1
            3    -D    a  1
            """,
            source=CDC,
            sink="upsert",
            options=TTL,
        ),
    ]
)


@pytest.mark.parametrize(
    ("parameters", "source", "name", "mode"),
    [
        (LAST_BY_TIME, EVENTS, "RowTimeDeduplicateFunction, keep last", "[I,UB,UA]"),
        (FIRST_AT_ONCE, EVENTS, "RowTimeDeduplicateFunction, keep first", "[I,UB,UA]"),
        (FIRST_COMPLETE, EVENTS, "RowTimeDeduplicateKeepFirstRowFunction", "[I]"),
        (FIRST_BY_ARRIVAL, EVENTS, "ProcTimeDeduplicateKeepFirstRowFunction", "[I]"),
        (LAST_BY_ARRIVAL, EVENTS, "ProcTimeDeduplicateKeepLastRowFunction", "[I,UB,UA]"),
        (LAST_BY_ARRIVAL, CDC, "ProcTimeDeduplicateKeepLastRowFunction, on a changelog", "[I,UB,UA,D]"),
    ],
)
def test_the_strategy_is_flinks_function(parameters: Mapping[str, Any], source: Any, name: str, mode: str) -> None:
    found = node_plan(parameters, source)
    assert (found.strategy.name, str(found.mode)) == (name, mode)
    assert found.derived.upsert_keys == {frozenset({"k"})}


@pytest.mark.parametrize("parameters", [FIRST_COMPLETE, FIRST_BY_ARRIVAL, FIRST_AT_ONCE, LAST_BY_TIME])
def test_the_event_time_stays_one_so_that_the_last_rows_are_a_versioned_table(parameters: dict[str, Any]) -> None:
    assert node_plan(parameters).schema.event_time is not None


def test_rows_carry_their_milliseconds_where_no_column_is_just_that() -> None:
    in_seconds = rows("k string, ts bigint", event_time="ts", event_time_unit="epoch_s")
    step = keyed(node_plan(LAST_BY_TIME, in_seconds))
    assert step.inputs[0].values == ("`k`", "`ts`", "CAST(`ts` AS BIGINT) * 1000")
    assert step.inputs[0].keys == ("`k`",)
    assert keyed(node_plan(LAST_BY_TIME)).inputs[0].values == ("`k`", "`v`", "`rt`")


def test_only_the_first_row_when_complete_looks_at_the_watermark() -> None:
    assert keyed(node_plan(FIRST_COMPLETE)).uses_time
    assert not keyed(node_plan(LAST_BY_TIME)).uses_time


@pytest.mark.parametrize(
    ("parameters", "what"),
    [
        (LAST_BY_TIME, "rowtime deduplication"),
        (FIRST_COMPLETE, "rowtime deduplication"),
        (FIRST_BY_ARRIVAL, "keeping the first row"),
    ],
)
def test_an_updated_input_is_refused(parameters: Mapping[str, Any], what: str) -> None:
    arrows = "t -> totals -> latest"
    totals = ("deduplicate", LAST_BY_ARRIVAL)
    sentence = (
        rf"^latest: {what} needs an insert-only input, but totals emits \+I -U \+U\. "
        r"Deduplicate before the aggregate, or use TopN with N = 1\.$"
    )
    with pytest.raises(PlanRejected, match=sentence):
        plan_of(arrows, t=EVENTS, totals=totals, latest=("deduplicate", parameters))


def test_order_by_event_time_without_one_is_refused() -> None:
    with pytest.raises(PlanRejected, match="^d: order needs an event time, but its input has none"):
        node_plan(LAST_BY_TIME, PLAIN)


def test_an_unknown_key_column_is_refused_with_those_that_exist() -> None:
    with pytest.raises(UnknownColumn, match=r"^d: keys: unknown column 'key'. Available: k, v, rt"):
        node_plan({**LAST_BY_TIME, "keys": ["key"]})


FLINK_LAST = """SELECT `k`, `v`, `rt` FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY `k` ORDER BY `rt` DESC) AS `rownum`
  FROM `t`
) WHERE `rownum` = 1"""

FLINK_FIRST_BY_ARRIVAL = """SELECT `k`, `v`, `rt` FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY `k` ORDER BY `proctime` ASC) AS `rownum`
  FROM (SELECT *, PROCTIME() AS `proctime` FROM `t`)
) WHERE `rownum` = 1"""


@pytest.mark.parametrize(
    ("parameters", "sql"), [(LAST_BY_TIME, FLINK_LAST), (FIRST_BY_ARRIVAL, FLINK_FIRST_BY_ARRIVAL)]
)
def test_flink_sql_is_the_row_number_pattern(parameters: Mapping[str, Any], sql: str) -> None:
    found = node_plan(parameters)
    assert sql_of(found) == sql


def test_a_first_row_that_waits_for_the_watermark_cautions_of_rows_that_a_window_would_still_take() -> None:
    def caution(parameters: Mapping[str, Any]) -> str:
        return Deduplicate.model_validate(parameters).caution

    assert "even if its window, in a node below, is still open" in caution(FIRST_COMPLETE)
    assert [caution(each) for each in (LAST_BY_TIME, FIRST_AT_ONCE, FIRST_BY_ARRIVAL)] == ["", "", ""]
