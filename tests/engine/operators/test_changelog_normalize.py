"""Upserts completed, record for record, and where the planner puts the stage."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from engine.contract.operator import StepContext
from engine.contract.step import Keyed
from engine.errors import ExpressionError, PlanRejected, UnknownColumn
from engine.model.changelog import ChangelogMode
from engine.model.pipeline import Pipeline
from engine.operators.changelog_normalize import BundledChangelogNormalize, ChangelogNormalizeKernel
from engine.planner import Plan, plan
from tests.engine.cases import Case, check_cases
from tests.engine.planning import KnownTypes, pipeline_of, plan_of, rows

UPSERTS = rows("k string, v bigint", changelog=True, primary_key=["k"], updates_by_key=True)
CHANGES = rows("k string, v bigint", changelog=True, primary_key=["k"])
TOTAL = ("aggregate", {"aggregates": [{"function": "SUM", "argument": "v", "name": "s"}]})
CHANGELOG = ("sink", {})
UPSERT = ("sink", {"mode": "upsert", "keys": ["k"]})

GIVEN = """
seq kind k  v    wanted
1   +I   a  1    true
2   +U   a  2    true
3   +U   a  2    true
4   -U   a  2    true
5   -D   a  9    true
6   -D   a  2    true
7   +U   b  5    true
"""


test_in_mini_batch_the_last_record_of_a_key_and_bundle_counts = check_cases(
    [
        Case(
            "bundles of three",
            """
            seq kind k  v  wanted
            1   +I   a  1  true
            2   +U   a  2  true
            3   +U   a  3  true
            4   +U   b  5  true
            5   -D   a  3  true
            6   -D   a  3  true
            7   +U   a  2  true
            8   -D   c  1  true
            9   +I   b  6  true
            """,
            """
            seq kind k  v
            3   +I   a  3
            6   +I   b  5
            6   -D   a  3
            9   +I   a  2
            9   -U   b  5
            9   +U   b  6
            """,
            lambda: BundledChangelogNormalize(update_before=True, repeat=False),
            key=("k",),
            bundle=3,
        )
    ]
)


def case(title: str, given: str, expect: str, *, update_before: bool = True, repeat: bool = False) -> Case:
    def kernel() -> ChangelogNormalizeKernel:
        return ChangelogNormalizeKernel(update_before=update_before, repeat=repeat)

    return Case(title, given, expect, kernel, key=("k",))


test_the_changelog_is_completed = check_cases(
    [
        case(
            "the first is +I, repetitions and unknown deletes are dropped, a delete has the whole row",
            GIVEN,
            """
            seq kind k  v
            1   +I   a  1
            2   -U   a  1
            2   +U   a  2
            5   -D   a  2
            7   +I   b  5
            """,
        ),
        case(
            "without UPDATE_BEFORE",
            GIVEN,
            """
            seq kind k  v
            1   +I   a  1
            2   +U   a  2
            5   -D   a  2
            7   +I   b  5
            """,
            update_before=False,
        ),
        case(
            "with a state TTL what did not change goes out too",
            GIVEN,
            """
            seq kind k  v
            1   +I   a  1
            2   -U   a  1
            2   +U   a  2
            3   -U   a  2
            3   +U   a  2
            5   -D   a  2
            7   +I   b  5
            """,
            repeat=True,
        ),
        case(
            "a row that begins or ceases to meet the condition comes or goes",
            """
            seq kind k  v    wanted
            1   +I   a  1    false
            2   +U   a  20   true
            3   +U   a  30   true
            4   +U   a  2    false
            5   -D   a  2    false
            6   +U   a  40   true
            """,
            """
            seq kind k  v
            2   +I   a  20
            3   -U   a  20
            3   +U   a  30
            4   -D   a  30
            6   +I   a  40
            """,
        ),
    ]
)


def planned(pipeline: Pipeline) -> Plan:
    return plan(pipeline, KnownTypes({"v > 10": "boolean"}), Path())


def operators_of(plan: Plan) -> list[str]:
    return [node.operator.operator for node in plan.nodes]


def test_a_reader_that_needs_what_was_replaced_gets_a_normaliser() -> None:
    found = plan_of("t -> total -> out", t=UPSERTS, total=TOTAL, out=CHANGELOG)
    assert operators_of(found) == ["rows", "changelog_normalize", "aggregate", "sink"]
    normaliser = found.node("t normalised")
    assert str(normaliser.mode) == "[I,UB,UA,D]"
    assert str(normaliser.inputs[0].mode) == "[I,UA,D]"
    assert normaliser.derived.upsert_keys == {frozenset({"k"})}


def test_where_nobody_needs_it_the_normaliser_is_left_out() -> None:
    found = plan_of("t -> out", t=UPSERTS, out=UPSERT)
    assert operators_of(found) == ["rows", "sink"]
    assert found.node("out").mode == ChangelogMode(found.node("t").mode)


def test_a_condition_above_the_source_becomes_the_normalisers_own() -> None:
    document = pipeline_of("t -> big -> out", t=UPSERTS, big=("filter", {"condition": "v > 10"}), out=UPSERT)
    found = planned(document)
    assert operators_of(found) == ["rows", "changelog_normalize", "sink"]
    assert found.node("big").strategy.state == "per key: its last row, of those where v > 10"


def test_columns_that_a_projection_or_an_aggregate_leaves_out_are_left_out_before_rows_are_compared() -> None:
    wide = rows("k string, v bigint, w bigint, x bigint", changelog=True, updates_by_key=True, primary_key=["k"])
    only_v = ("project", {"columns": [{"name": "v", "expression": "v"}]})
    found = plan_of("t -> p -> total -> out", t=wide, p=only_v, total=TOTAL, out=CHANGELOG)
    assert operators_of(found) == ["rows", "project", "changelog_normalize", "project", "aggregate", "sink"]
    assert found.node("t normalised").schema.names == ("k", "v")
    assert plan_of("t -> total -> out", t=wide, total=TOTAL, out=CHANGELOG).node("t used").schema.names == ("k", "v")
    big = ("filter", {"condition": "w > 10"})
    chain = pipeline_of("t -> big -> p -> total -> out", t=wide, big=big, p=only_v, total=TOTAL, out=CHANGELOG)
    filtered = plan(chain, KnownTypes({"w > 10": "boolean"}), Path())
    assert filtered.node("big").schema.names == ("k", "v", "w")


def test_where_nobody_needs_the_normaliser_the_columns_stay_as_well() -> None:
    wide = rows("k string, v bigint, w bigint", changelog=True, updates_by_key=True, primary_key=["k"])
    both = ("project", {"columns": [{"name": "k", "expression": "k"}, {"name": "v", "expression": "v"}]})
    found = plan_of("t -> p -> out", t=wide, p=both, out=UPSERT)
    assert operators_of(found) == ["rows", "project", "sink"]


def test_a_changelog_that_may_repeat_is_normalised_whoever_reads_it() -> None:
    options = {"table.exec.source.cdc-events-duplicate": "true"}
    document = pipeline_of("t -> out", t=CHANGES, out=UPSERT).model_dump() | {"options": options}
    found = planned(Pipeline.from_dict(document))
    assert operators_of(found) == ["rows", "changelog_normalize", "sink"]


def test_upserts_without_a_key_are_refused() -> None:
    keyless = rows("k string, v bigint", changelog=True, updates_by_key=True)
    with pytest.raises(PlanRejected, match=r"t: an upsert source needs a primary key"):
        plan_of("t -> total -> out", t=keyless, total=TOTAL, out=CHANGELOG)


@pytest.mark.parametrize(
    ("parameters", "error", "match"),
    [
        ({"keys": ["x"]}, UnknownColumn, r"there is no column 'x'; the input has k, v"),
        (
            {"keys": ["k"], "condition": "v"},
            ExpressionError,
            r"it is of type bigint, but a condition must be true or false",
        ),
    ],
)
def test_wrong_parameters_are_named(parameters: Mapping[str, Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        plan_of("t -> n -> out", t=CHANGES, n=("changelog_normalize", parameters), out=CHANGELOG)


def test_unknown_conditions_count_as_not_met() -> None:
    found = plan_of("t -> n -> out", t=CHANGES, n=("changelog_normalize", {"keys": ["k"]}), out=CHANGELOG)
    node = found.node("n")
    made = node.operator.model_copy(update={"condition": "v > 10"})
    step = made.step(StepContext("n", 1, node.inputs, node.schema, node.mode, node.derived))
    assert isinstance(step, Keyed)
    assert step.inputs[0].values[-1] == "coalesce(v > 10, FALSE)"
