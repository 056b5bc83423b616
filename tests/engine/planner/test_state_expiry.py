"""What frees the state of every stateful operator under a state TTL, beside Flink 2.3's function for it.

A kind of state that is neither here nor below another name does not exist: the last test compares the list with the
registry. That what is said is so is held by the cases in `tests/engine/operators` and by runs in `test_state_ttl`.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from engine.contract.expiry import Expiry
from engine.contract.explanation import NO_STATE
from engine.contract.operator import Operator
from engine.expressions.analyzer import TypeRules
from engine.planner import NodePlan, Plan, plan
from engine.registry import operators
from engine.script import script_of

TABLES = """
SET 'table.exec.state.ttl' = '1 h';
CREATE TABLE e (k STRING, v BIGINT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts)
  WITH ('connector' = 'datagen', 'number-of-rows' = '9');
CREATE TABLE f (k STRING, w BIGINT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts)
  WITH ('connector' = 'datagen', 'number-of-rows' = '9');
CREATE VIEW u AS SELECT k, w, ts FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS r FROM f) WHERE r = 1;
CREATE TABLE s (k STRING, v BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts, PRIMARY KEY (k) NOT ENFORCED)
  WITH ('connector' = 'upsert-kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'h:1', 'key.format' = 'json',
  'value.format' = 'json');
"""
RANKED = (
    "SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY {by} ORDER BY {order}) AS r FROM {of}) WHERE r {r}"
)
OVER = "SELECT k, {call} OVER (PARTITION BY k ORDER BY {order} {frame} PRECEDING AND CURRENT ROW) FROM {of}"
COUNTS = "(SELECT k, COUNT(*) AS v FROM e GROUP BY k)"
SUMS = "(SELECT k, SUM(v) AS v FROM e GROUP BY k)"


class Kept(NamedTuple):
    """A query, the operator in question, what frees its state, and Flink's function. where: it is in the plan."""

    title: str
    query: str
    operator: str
    expiry: Expiry | None
    flink: str
    strategy: str = ""


def over(order: str, frame: str, call: str = "SUM(v)", of: str = "e") -> str:
    return OVER.format(call=call, order=order, frame=frame, of=of)


def ranked(order: str, r: str, of: str = "e", by: str = "k") -> str:
    return RANKED.format(by=by, order=order, of=of, r=r)


TTL, MARK, NEVER = Expiry.BY_TTL, Expiry.BY_WATERMARK, Expiry.NEVER
TVF = "TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '1' MINUTE))"
LIST = (
    Kept("a group", "SELECT k, SUM(v) FROM e GROUP BY k", "aggregate", TTL, "GroupAggFunction"),
    Kept("a DISTINCT", "SELECT COUNT(DISTINCT v) FROM e", "aggregate", TTL, "PerKeyStateDataViewStore"),
    Kept("SELECT DISTINCT", "SELECT DISTINCT k FROM e", "aggregate", TTL, "GroupAggFunction"),
    Kept("a LISTAGG", f"SELECT LISTAGG(k) FROM {COUNTS}", "aggregate", TTL, "StateListView"),
    Kept("UNION", "SELECT k FROM e UNION SELECT k FROM f", "aggregate", TTL, "GroupAggFunction"),
    Kept("UNION ALL", "SELECT k FROM e UNION ALL SELECT k FROM f", "union", None, "no state"),
    Kept("INTERSECT", "SELECT k FROM e INTERSECT SELECT k FROM f", "join", TTL, "StreamingSemiAntiJoinOperator"),
    Kept("EXCEPT", "SELECT k FROM e EXCEPT SELECT k FROM f", "join", TTL, "StreamingSemiAntiJoinOperator"),
    Kept("IN", "SELECT k FROM e WHERE k IN (SELECT k FROM f)", "join", TTL, "StreamingSemiAntiJoinOperator"),
    Kept(
        "NOT EXISTS",
        "SELECT k FROM e WHERE NOT EXISTS (SELECT 1 FROM f WHERE f.k = e.k)",
        "join",
        TTL,
        "StreamingSemiAntiJoinOperator",
    ),
    Kept("an inner join", "SELECT e.k FROM e JOIN f ON e.k = f.k", "join", TTL, "StreamingJoinOperator"),
    Kept(
        "the numbers of partners of an outer join",
        "SELECT e.k FROM e FULL JOIN f ON e.k = f.k",
        "join",
        TTL,
        "OuterJoinRecordStateViews",
    ),
    Kept(
        "an interval join",
        "SELECT e.k FROM e JOIN f ON e.k = f.k AND e.ts BETWEEN f.ts - INTERVAL '1' HOUR AND f.ts",
        "interval_join",
        MARK,
        "TimeIntervalJoin",
    ),
    Kept(
        "a temporal join by event time",
        "SELECT e.k FROM e JOIN u FOR SYSTEM_TIME AS OF e.ts ON e.k = u.k",
        "temporal_join",
        NEVER,
        "TemporalRowTimeJoinOperator: a key without rows for one and a half TTLs goes there",
    ),
    Kept(
        "a lookup",
        "SELECT e.k FROM e JOIN f FOR SYSTEM_TIME AS OF e.p ON e.k = f.k",
        "lookup_join",
        NEVER,
        "LookupJoinRunner: the table itself",
    ),
    Kept("the first row by arrival", ranked("p", "= 1"), "deduplicate", TTL, "ProcTimeDeduplicateKeepFirstRowFunction"),
    Kept("the last row by arrival", ranked("p DESC", "= 1"), "deduplicate", TTL, "ProcTimeDeduplicateKeepLastRow"),
    Kept("the first row by event time", ranked("ts", "= 1"), "deduplicate", TTL, "RowTimeDeduplicateKeepFirstRow"),
    Kept("the last row by event time", ranked("ts DESC", "= 1"), "deduplicate", TTL, "RowTimeDeduplicateFunction"),
    Kept("AppendFast", ranked("v", "<= 2"), "topn", TTL, "AppendOnlyTopNFunction", "AppendFast"),
    Kept("the best row", ranked("v", "= 1"), "topn", TTL, "FastTop1Function", "AppendFast"),
    Kept(
        "UpdateFast", ranked("v DESC", "<= 2", COUNTS, "MOD(v, 2)"), "topn", TTL, "RetractableTopNFunction", "Retract"
    ),
    Kept("UpdateFast by key", ranked("v DESC", "<= 2", COUNTS), "topn", TTL, "UpdatableTopNFunction", "UpdateFast"),
    Kept("Retract", ranked("v", "<= 2", SUMS), "topn", TTL, "RetractableTopNFunction", "Retract"),
    Kept("LIMIT", "SELECT k FROM e LIMIT 3", "topn", TTL, "StreamExecLimit, a rank"),
    Kept("ORDER BY with LIMIT", "SELECT k FROM e ORDER BY v LIMIT 3", "topn", TTL, "StreamExecSortLimit"),
    Kept("ORDER BY event time", "SELECT k FROM e ORDER BY ts", "sort", MARK, "RowTimeSortOperator"),
    Kept("OVER by arrival", over("p", "ROWS BETWEEN UNBOUNDED"), "over_aggregate", TTL, "ProcTimeUnboundedPreceding"),
    Kept("OVER rows by arrival", over("p", "ROWS BETWEEN 2"), "over_aggregate", TTL, "ProcTimeRowsBoundedPreceding"),
    Kept("OVER by event time", over("ts", "ROWS BETWEEN UNBOUNDED"), "over_aggregate", TTL, "RowTimeUnbounded...V2"),
    Kept("OVER rows by event time", over("ts", "ROWS BETWEEN 2"), "over_aggregate", TTL, "RowTimeRowsBounded"),
    Kept(
        "OVER a time by event time",
        over("ts", "RANGE BETWEEN INTERVAL '1' HOUR"),
        "over_aggregate",
        MARK,
        "RowTimeRangeBoundedPrecedingFunction has no TTL",
    ),
    Kept(
        "OVER in the order of a column",
        over("v", "ROWS BETWEEN UNBOUNDED"),
        "over_aggregate",
        TTL,
        "NonTimeRowsUnboundedPrecedingFunction",
    ),
    Kept("the normaliser", "SELECT k, v FROM s", "changelog_normalize", TTL, "ProcTimeDeduplicateKeepLastRow"),
    Kept(
        "a window",
        f"SELECT k, COUNT(*) FROM {TVF} GROUP BY k, window_start, window_end",
        "window_aggregate",
        MARK,
        "SlicingWindowOperator",
    ),
    Kept(
        "a window join",
        f"SELECT a.k FROM (SELECT * FROM {TVF}) a JOIN (SELECT * FROM {TVF}) b "
        "ON a.k = b.k AND a.window_start = b.window_start AND a.window_end = b.window_end",
        "window_join",
        MARK,
        "WindowJoinOperator",
    ),
    Kept(
        "a window's Top N",
        f"SELECT k FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY v) r FROM {TVF}) "
        "WHERE r <= 3",
        "window_topn",
        MARK,
        "WindowRankOperator",
    ),
    Kept(
        "MATCH_RECOGNIZE",
        "SELECT * FROM e MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.v AS av AFTER MATCH SKIP PAST LAST ROW "
        "PATTERN (A B) DEFINE A AS A.v > 1) AS m",
        "match_recognize",
        MARK,
        "CepOperator",
    ),
)


def planned(query: str, into: str = "") -> Plan:
    script = script_of(f"{TABLES}{into}{query};", TypeRules(), Path())
    assert not script.failures, script.failures
    return plan(script.pipeline, TypeRules(), Path())


def _name(node: NodePlan) -> str:
    return node.operator.operator


@pytest.mark.parametrize("kept", LIST, ids=lambda kept: kept.title)
def test_the_plan_says_what_frees_the_state(kept: Kept) -> None:
    found = [node for node in planned(kept.query).nodes if _name(node) == kept.operator]
    assert found, kept.operator
    for node in found:
        assert isinstance(node.operator, Operator)
        if kept.expiry is None:
            assert node.strategy.state == NO_STATE
            continue
        assert node.operator.expiry(node.inputs) is kept.expiry
        text = kept.expiry.value.format(ttl="1 h after its last write")
        assert node.strategy.state.endswith(f"; {text}")
        assert kept.strategy in node.strategy.name


def test_a_sink_keeps_what_it_materialises() -> None:
    table = "CREATE TABLE o (v BIGINT, k STRING, PRIMARY KEY (v) NOT ENFORCED) WITH ('connector' = 'print');\n"
    (sink,) = planned(f"SELECT v, k FROM {COUNTS}", f"{table}INSERT INTO o ").sinks
    assert sink.strategy.state.endswith("; each entry goes 1 h after its last write"), "Flink SinkUpsertMaterializer"


def test_nothing_that_keeps_state_is_missing() -> None:
    stateless = {
        "filter",
        "project",
        "repeat",
        "union",
        "unnest",
        "window_assign",
        "python_function",
        "current_watermark",
        "processing_time",
        "from_changelog",
        "to_changelog",
    }
    listed = {kept.operator for kept in LIST} | stateless | {"sink"}
    assert set(operators()) == listed
