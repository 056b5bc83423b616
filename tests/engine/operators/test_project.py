"""A projection processes records one by one; plain columns keep their properties (time, keys)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from engine.contract.derived import Derived, Monotonicity
from engine.contract.operator import StepContext
from engine.contract.step import Native
from engine.errors import ExpressionError, PipelineError
from engine.model.schema import TimeUnit
from engine.operators.project import Project
from engine.planner.plan import NodePlan
from tests.engine.planning import KnownTypes, plan_of, rows, sql_of

SOURCE = rows("k string, g string, v bigint, rt bigint", event_time="rt")
CDC = rows("k string, g string, v bigint", changelog=True, primary_key=["k", "g"])
TYPES = {"v * 2": "bigint", "rt + 1": "bigint", "make_dt_interval(1)": "interval day to second"}


def project(**expressions: str) -> tuple[str, Mapping[str, Any]]:
    return ("project", {"columns": [{"name": name, "expression": text} for name, text in expressions.items()]})


def node_plan(source: tuple[str, Mapping[str, Any]], **expressions: str) -> NodePlan:
    return plan_of("t -> p", TYPES, t=source, p=project(**expressions)).node("p")


def test_columns_are_computed_in_order_with_the_types_of_sparks_analyzer() -> None:
    schema = node_plan(SOURCE, double="v * 2", k="k").schema
    assert schema.ddl() == "`double` bigint, `k` string"


@pytest.mark.parametrize("text", ["rt", " `rt` ", "RT"])
def test_a_plain_event_time_stays_one_under_any_name(text: str) -> None:
    time = node_plan(SOURCE, happened=text).schema.event_time
    assert time is not None
    assert (time.name, time.time) == ("happened", TimeUnit.EPOCH_MS)


def test_a_computed_event_time_is_plain_data() -> None:
    assert node_plan(SOURCE, rt="rt + 1").schema.event_time is None


def test_plain_data_can_be_the_event_time_of_the_windows_above() -> None:
    operator, parameters = project(rt="rt + 1", k="k")
    schema = plan_of("t -> p", TYPES, t=SOURCE, p=(operator, {**parameters, "event_time": "rt"})).node("p").schema
    assert schema.event_time is not None
    assert (schema.event_time.name, schema.event_time.time) == ("rt", TimeUnit.EPOCH_MS)


@pytest.mark.parametrize(("name", "sentence"), [("k", "'k' is STRING"), ("q", "unknown column 'q'")])
def test_an_event_time_is_a_column_with_times(name: str, sentence: str) -> None:
    operator, parameters = project(k="k")
    with pytest.raises(PipelineError, match=sentence):
        plan_of("t -> p", TYPES, t=SOURCE, p=(operator, {**parameters, "event_time": name}))


def test_a_key_is_renamed_when_all_its_columns_are_passed_on() -> None:
    assert node_plan(CDC, a="k", b="g", v="v").derived.upsert_keys == {frozenset({"a", "b"})}


def test_a_key_passed_on_twice_is_two_keys() -> None:
    keys = node_plan(CDC, a="k", b="g", c="g").derived.upsert_keys
    assert keys == {frozenset({"a", "b"}), frozenset({"a", "c"})}


def test_a_key_without_one_of_its_columns_is_none() -> None:
    found = node_plan(CDC, a="k", v="v")
    assert found.derived.upsert_keys == frozenset()
    assert str(found.mode) == "[I,UB,UA,D]"


def test_monotonicity_follows_the_plain_columns() -> None:
    given = Derived(
        plan_of("t", t=CDC).node("t").schema,
        monotonic={"v": Monotonicity.INCREASING, "k": Monotonicity.CONSTANT},
    )
    operator = Project.model_validate(project(total="v", twice="v * 2")[1])
    found = operator.derive("p", [given], KnownTypes(TYPES))
    assert found.monotonic == {"total": Monotonicity.INCREASING, "twice": Monotonicity.NOT_MONOTONIC}


def test_two_columns_of_one_name_are_refused_whatever_their_case() -> None:
    with pytest.raises(PipelineError, match=r"p: columns\.1\.name: two columns are called 'V'"):
        node_plan(SOURCE, v="v", V="k")


def test_a_type_that_no_column_can_have_is_refused() -> None:
    with pytest.raises(ExpressionError, match=r"p: columns\.0\.expression: .* is not supported"):
        node_plan(SOURCE, s="make_dt_interval(1)")


def test_the_step_is_one_native_projection() -> None:
    found = node_plan(SOURCE, double="v * 2", k="k")
    step = found.operator.step(StepContext("p", 1, found.inputs, found.mode, found.derived))
    assert isinstance(step, Native)
    assert step.projections[0].values == ("v * 2", "k")
    assert step.projections[0].where is None


def test_flink_sql_names_every_column() -> None:
    found = node_plan(SOURCE, double="v * 2")
    assert sql_of(found) == "SELECT v * 2 AS `double` FROM `t`"
