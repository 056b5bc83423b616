"""A union accepts inputs with equal columns, and passes all records on."""

from __future__ import annotations

import pytest

from engine.contract.operator import StepContext
from engine.contract.step import Native
from engine.errors import PipelineError
from engine.planner.plan import NodePlan
from tests.engine.planning import plan_of, rows

UNION = ("union", {})
TIMED = rows("k string, rt bigint", event_time="rt")
PLAIN = rows("k string, rt bigint")
CDC = rows("k string, rt bigint", changelog=True, primary_key=["k"])


def union(a: tuple, b: tuple) -> NodePlan:
    return plan_of("a -> both\nb -> both", a=a, b=b, both=UNION).node("both")


def test_an_event_time_stays_one_where_all_inputs_have_it() -> None:
    assert union(TIMED, TIMED).schema.event_time is not None
    assert union(TIMED, PLAIN).schema.event_time is None


def test_kinds_are_those_of_all_inputs_and_there_is_no_key() -> None:
    found = union(CDC, PLAIN)
    assert str(found.mode) == "[I,UB,UA,D]"
    assert found.derived.upsert_keys == frozenset()


def test_it_takes_any_number_of_inputs_with_one_projection_each() -> None:
    arrows = "a -> all\nb -> all\nc -> all"
    found = plan_of(arrows, a=PLAIN, b=PLAIN, c=PLAIN, all=UNION).node("all")
    step = found.operator.step(StepContext("all", 3, found.inputs, found.mode, found.derived))
    assert isinstance(step, Native)
    assert [projection.values for projection in step.projections] == [("`k`", "`rt`")] * 3


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (rows("k string"), "but a has k, rt and b has k. Put a project before the union"),
        (rows("k string, rt int"), "column 2 is rt BIGINT in a and rt INT in b"),
        (rows("rt bigint, k string"), "column 1 is k STRING in a and rt BIGINT in b"),
        (rows("k string, rt bigint", event_time="rt", event_time_unit="epoch_s"), "is epoch_ms in a and epoch_s in b"),
    ],
    ids=["a column missing", "another type", "another order", "another unit of time"],
)
def test_inputs_that_differ_are_refused_with_where(other: tuple, sentence: str) -> None:
    with pytest.raises(PipelineError, match=f"^both: .*{sentence}"):
        union(TIMED, other)


def test_flink_sql_is_union_all() -> None:
    found = union(PLAIN, PLAIN)
    schema = found.schema
    sql = found.operator.flink_sql([("a", schema), ("b", schema)])
    assert sql == "SELECT `k`, `rt` FROM `a`\nUNION ALL\nSELECT `k`, `rt` FROM `b`"
