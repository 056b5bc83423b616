"""Two plans compared, in the words of the forms."""

from __future__ import annotations

from typing import Any

import pytest

from storage.changelogs.run_differences import PlanDifference
from ui.components.runs.run_difference_tables import plan_differences

A = [{"function": "SUM", "argument": {"flink": "v / 2"}, "name": "s"}]


@pytest.mark.parametrize(
    ("operator", "what", "left", "right", "shown"),
    [
        ("csv", "watermark_delay_ms", 20_000, 176_002, ("Watermark delay", "20 s", "2 min 56 s 2 ms")),
        ("csv", "watermark_delay_ms", None, 1000, ("Watermark delay", "0 s", "1 s")),
        ("csv", "types", {"v": "bigint"}, {"v": "INT"}, ("Types", "v BIGINT", "v INT")),
        ("csv", "types", {"v": "bigint"}, {"v": "BIGINT"}, None),
        ("filter", "condition", "v > 1", {"flink": "v >= 10"}, ("Condition", "v > 1", "v >= 10")),
        ("window_aggregate", "allowed_lateness_ms", None, 0, None),
        ("deduplicate", "keys", ["a"], ["a", "b"], ("Key columns", "a", "a, b")),
        ("topn", "with_rank", None, True, ("Output the rank", "off", "on")),
        ("no such operator", "what_ever", {"a": 1}, None, ("what_ever", '{"a": 1}', "")),
        ("", "plan: upsert_keys", [["a"], ["b", "c"]], [], ("plan: upsert keys", "a or b, c", "")),
        ("", "plan: mode", "[I,UB,UA,D]", None, ("plan: mode", "+I -U +U -D", "")),
    ],
)
def test_a_difference_is_told_as_its_form_tells_it(
    operator: str, what: str, left: Any, right: Any, shown: tuple[str, str, str] | None
) -> None:
    found = plan_differences([PlanDifference("n", what, left, right, operator)])
    assert [(each.what, each.left, each.right) for each in found] == ([shown] if shown else [])


def test_expressions_of_lists_are_shown_as_they_were_typed() -> None:
    (found,) = plan_differences([PlanDifference("n", "aggregates", [], A, "aggregate")])
    assert found.right == '[{"function": "SUM", "argument": "v / 2", "name": "s"}]'
