"""A filter tests each record separately. It requires -U of its input, unless its condition is on the upsert key."""

from __future__ import annotations

import pytest

from engine.contract.operator import StepContext
from engine.contract.step import Native
from engine.errors import ExpressionError
from engine.model.changelog import UpdateKind
from engine.operators.filter import Filter
from engine.planner.plan import NodePlan
from tests.engine.planning import plan_of, rows

CDC = rows("k string, v bigint", changelog=True, primary_key=["k"])
TYPES = {"v > 10": "boolean", "k <> 'v'": "boolean", "v + 1": "bigint"}


def node_plan(condition: str, sink: str) -> NodePlan:
    found = plan_of(
        "t -> big -> out",
        TYPES,
        t=CDC,
        big=("filter", {"condition": condition}),
        out=("sink", {"mode": sink}),
    )
    return found.node("big")


def test_below_a_changelog_sink_it_asks_for_before_and_after() -> None:
    found = node_plan("v > 10", "changelog")
    assert (str(found.mode), found.needs[0].update_kind) == ("[I,UB,UA,D]", UpdateKind.BEFORE_AND_AFTER)


def test_below_an_upsert_sink_it_still_asks_for_before_and_after() -> None:
    assert str(node_plan("v > 10", "upsert").mode) == "[I,UB,UA,D]"


def test_a_condition_on_another_column_cannot_do_with_update_after_alone() -> None:
    given = plan_of("t", t=CDC).node("t").derived
    assert Filter(condition="v > 10").offers("big", [given], UpdateKind.ONLY_UPDATE_AFTER) == ()


def test_a_condition_on_the_upsert_key_forwards_what_is_wanted() -> None:
    given = plan_of("t", t=CDC).node("t").derived
    (offer,) = Filter(condition="k <> 'v'").offers("big", [given], UpdateKind.ONLY_UPDATE_AFTER)
    assert offer.needs == (UpdateKind.ONLY_UPDATE_AFTER,)


def test_an_update_below_it_may_stand_alone_unless_the_condition_is_on_the_key() -> None:
    assert node_plan("v > 10", "changelog").derived.lone_updates
    assert not node_plan("k <> 'v'", "changelog").derived.lone_updates


def test_schema_keys_and_event_time_stay_what_they_are() -> None:
    found = plan_of("t -> big", TYPES, t=rows("v bigint", event_time="v"), big=("filter", {"condition": "v > 10"}))
    assert found.node("big").schema == found.node("t").schema
    assert found.node("big").schema.event_time is not None
    assert str(found.node("big").mode) == "[I]"


def test_a_condition_that_is_no_boolean_is_refused_with_its_type() -> None:
    with pytest.raises(ExpressionError, match=r"big: condition: 'v \+ 1' cannot be used: it is of type BIGINT"):
        node_plan("v + 1", "changelog")


def test_the_step_is_one_native_projection_with_the_condition() -> None:
    found = node_plan("v > 10", "changelog")
    context = StepContext("big", 1, found.inputs, found.mode, found.derived)
    step = Filter(condition="v > 10").step(context)
    assert isinstance(step, Native)
    assert step.projections[0].values == ("`k`", "`v`")
    assert step.projections[0].where == "v > 10"
    assert step.kinds is None


def test_flink_sql_is_a_where() -> None:
    found = node_plan("v > 10", "changelog")
    assert Filter(condition="v > 10").flink_sql([("t", found.schema)]) == "SELECT `k`, `v` FROM `t` WHERE v > 10"
