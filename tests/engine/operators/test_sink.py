"""The modes of a sink: the inputs that they accept, their requirements, and the records that they pass on."""

from __future__ import annotations

from typing import Any

import pytest

from engine.contract.operator import StepContext
from engine.contract.step import Keyed, Native
from engine.errors import PipelineError, PlanRejected, UnknownColumn
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER, UpdateKind
from engine.planner.plan import NodePlan
from tests.engine.planning import plan_of, rows

PLAIN = rows("k string, v bigint")
CDC = rows("k string, v bigint", changelog=True, primary_key=["k"])
NO_KEY = rows("k string, v bigint", changelog=True)


def node_plan(source: Any, **parameters: Any) -> NodePlan:
    return plan_of("t -> out", t=source, out=("sink", parameters)).node("out")


def step_of(found: NodePlan) -> Native:
    step = found.operator.step(StepContext("out", 1, found.inputs, found.mode, found.derived))
    assert isinstance(step, Native)
    return step


def test_a_changelog_sink_asks_for_before_and_after_and_writes_every_kind() -> None:
    found = node_plan(CDC)
    assert (str(found.mode), found.needs[0].update_kind) == ("[I,UB,UA,D]", UpdateKind.BEFORE_AND_AFTER)
    assert step_of(found).kinds is None
    assert step_of(found).forward


def test_an_upsert_sink_drops_the_update_before_of_a_source_that_cannot_leave_it_out() -> None:
    plan = plan_of("t -> out", t=CDC, out=("sink", {"mode": "upsert"}))
    found = plan.node("out")
    assert str(plan.node("t").mode) == "[I,UB,UA,D]"
    assert [str(given.mode) for given in found.inputs] == ["[I,UA,D]"]
    assert str(found.mode) == "[I,UA,D]"
    assert found.derived.upsert_keys == {frozenset({"k"})}


def test_an_upsert_sink_drops_the_update_before_that_another_reader_needs() -> None:
    plan = plan_of(
        "t -> n -> out\nn -> log",
        t=rows("k string, v bigint"),
        n=("aggregate", {"group_by": ["k"], "aggregates": [{"function": "COUNT", "name": "c"}]}),
        out=("sink", {"mode": "upsert"}),
        log=("sink", {"mode": "changelog"}),
    )
    assert step_of(plan.node("out")).kinds == {INSERT, UPDATE_AFTER, DELETE}


def test_an_upsert_sink_below_a_filter_sees_update_before_so_that_no_row_is_left_behind() -> None:
    found = plan_of(
        "t -> big -> out",
        {"v > 10": "boolean"},
        t=CDC,
        big=("filter", {"condition": "v > 10"}),
        out=("sink", {"mode": "upsert"}),
    ).node("out")
    assert str(found.mode) == "[I,UB,UA,D]"
    assert step_of(found).kinds is None


def test_an_upsert_sink_with_more_than_the_key_sees_update_before() -> None:
    assert str(node_plan(CDC, mode="upsert", keys=["k", "v"]).mode) == "[I,UB,UA,D]"


def test_an_append_sink_takes_rows_that_are_only_added() -> None:
    found = node_plan(PLAIN, mode="append")
    assert (str(found.mode), found.needs[0].update_kind) == ("[I]", UpdateKind.NONE)


def test_an_append_sink_refuses_an_updating_input() -> None:
    sentence = r"^out: an append sink needs an insert-only input, but t emits \+I -U \+U -D\. Choose the mode changelog"
    with pytest.raises(PlanRejected, match=sentence):
        node_plan(CDC, mode="append")


def test_an_upsert_sink_over_insert_only_rows_takes_any_key() -> None:
    assert node_plan(PLAIN, mode="upsert", keys=["v"]).derived.upsert_keys == {frozenset({"v"})}


@pytest.mark.parametrize(("source", "keys"), [(CDC, ["v"]), (NO_KEY, ["k"])])
def test_a_sink_whose_key_several_rows_share_is_materialised(source: Any, keys: list[str]) -> None:
    found = node_plan(source, mode="upsert", keys=keys)
    assert (str(found.mode), found.needs[0].update_kind) == ("[I,UA,D]", UpdateKind.BEFORE_AND_AFTER)
    assert found.strategy.name == "upsert, materialised"
    step = found.operator.step(StepContext("out", 1, found.inputs, found.mode, found.derived))
    assert isinstance(step, Keyed)
    assert step.inputs[0].keys == (f"`{keys[0]}`",)


@pytest.mark.parametrize(
    ("source", "parameters", "error", "sentence"),
    [
        (PLAIN, {"mode": "upsert"}, PlanRejected, "an upsert sink needs a key, and t has none"),
        (CDC, {"mode": "upsert", "keys": ["x"]}, UnknownColumn, "unknown column 'x'. Available: k, v"),
        (CDC, {"keys": ["k"]}, PipelineError, "a sink in mode changelog has no key"),
    ],
    ids=["no key", "an unknown column", "a key without a use"],
)
def test_a_key_that_does_not_fit_is_refused(
    source: Any, parameters: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=f"^out: keys: {sentence}"):
        node_plan(source, **parameters)
