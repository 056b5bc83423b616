"""Changelog normalization of upserts, record for record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest

from engine.contract.columnar_kernel import ColumnarKernel, Layout
from engine.contract.operator import StepContext
from engine.contract.step import Keyed
from engine.deduplication.columnar_normalize import ChangelogNormalizeColumns
from engine.errors import ExpressionError, UnknownColumn
from engine.mini_batch.kernels import BundledColumns, last_but_update_before
from tests.engine.cases import Case, check_cases
from tests.engine.planning import plan_of, rows

CHANGES = rows("k string, v bigint", changelog=True, primary_key=["k"])
CHANGELOG = ("sink", {})

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


def normalizing(*, update_before: bool = True, repeat: bool = False) -> Callable[[Layout], ColumnarKernel]:
    return partial(ChangelogNormalizeColumns, update_before=update_before, repeat=repeat)


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
            columnar=partial(BundledColumns, make=normalizing(), fold=last_but_update_before),
            key=("k",),
            bundle=3,
        )
    ]
)


def case(title: str, given: str, expect: str, *, update_before: bool = True, repeat: bool = False) -> Case:
    return Case(title, given, expect, key=("k",), columnar=normalizing(update_before=update_before, repeat=repeat))


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


@pytest.mark.parametrize(
    ("parameters", "error", "match"),
    [
        ({"keys": ["x"]}, UnknownColumn, r"unknown column 'x'. Available: k, v"),
        (
            {"keys": ["k"], "condition": "v"},
            ExpressionError,
            r"it is of type BIGINT, but a condition must be true or false",
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
    step = made.step(StepContext("n", 1, node.inputs, node.mode, node.derived))
    assert isinstance(step, Keyed)
    assert step.inputs[0].values[-1] == "coalesce(v > 10, FALSE)"
