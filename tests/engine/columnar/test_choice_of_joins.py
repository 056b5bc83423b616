"""Which joins the planner runs with columnar kernels, and its explanation."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from engine.contract.operator import StepContext
from engine.contract.step import Keyed
from tests.engine.planning import plan_of, rows

MINI_BATCH = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.size": "3",
    "table.exec.mini-batch.allow-latency": "5 s",
}
ARROWS = "s -> a -> j:left\ns -> b -> j:right\nj -> out"
SOURCE = rows("k string, v bigint, w double")


def aggregate(function: str) -> tuple[str, dict[str, object]]:
    call = (
        {"function": "SUM", "argument": "v", "name": "s"} if function == "SUM" else {"function": "COUNT", "name": "s"}
    )
    return ("aggregate", {"group_by": ("k",), "aggregates": [call]})


def columns(*names: str) -> tuple[str, dict[str, object]]:
    return ("project", {"columns": [{"expression": name, "name": name} for name in names]})


def choice(left: tuple[str, dict[str, object]], kind: str, options: Mapping[str, str], **more: object) -> str:
    keys = {"left_keys": ("k",), "right_keys": ("k",)}
    join = ("join", {"kind": kind, **keys, **more})
    plan = plan_of(ARROWS, {"s > s0": "boolean"}, s=SOURCE, a=left, b=aggregate("COUNT"), j=join, out=("sink", {}))
    found = plan.node("j")
    step = found.operator.step(StepContext("j", 1, found.inputs, found.mode, found.derived, options))
    assert isinstance(step, Keyed)
    assert (step.columnar.make is not None) == step.columnar.why.startswith("columnar")
    return step.columnar.why


@pytest.mark.parametrize(
    ("left", "kind", "options", "why"),
    [
        (aggregate("SUM"), "left", {}, "columnar: rows meet by the join key alone"),
        (aggregate("SUM"), "anti", MINI_BATCH, "columnar: rows meet by the join key alone"),
        (aggregate("SUM"), "left", MINI_BATCH, "columnar: rows meet by the join key alone, bundle by bundle"),
        (columns("k", "v"), "inner", {}, "columnar: rows meet by the join key alone"),
        (columns("k", "w"), "inner", {}, "columnar: rows meet by the join key alone"),
    ],
)
def test_a_join(left: tuple[str, dict[str, object]], kind: str, options: Mapping[str, str], why: str) -> None:
    assert choice(left, kind, options) == why


def test_a_join_with_a_further_condition() -> None:
    why = choice(aggregate("SUM"), "inner", {}, condition="s > s0")
    assert why == "columnar: a further condition is checked pair by pair"
