"""Where the event time is lost that an operator needs: the message names the place, the reason, and what helps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.expressions.analyzer import TypeRules
from engine.planner import check
from tests.engine.planning import pipeline_of, rows

COUNT = {"function": "COUNT", "name": "n"}
TIMED = rows("k string, ts timestamp(3)", event_time="ts")
PLAIN = rows("k string, ts timestamp(3)")
WINDOWS = (
    "window_aggregate",
    {"kind": "tumble", "size_ms": 1000, "group_by": ["k"], "aggregates": [COUNT]},
)
LOST = "a window needs an event time, but its input has none."


@pytest.mark.parametrize(
    ("drawn", "parts", "sentence"),
    [
        ("a -> w", {"a": PLAIN}, f"w: {LOST} Declare one in a."),
        ("a -> f -> w", {"a": PLAIN, "f": ("filter", {"condition": "k = 'x'"})}, f"w: {LOST} Declare one in a."),
        ("a -> u -> w\nb -> u", {"a": TIMED, "b": PLAIN, "u": ("union", {})}, f"w: {LOST} Declare one in b."),
        (
            "a -> f -> j:left\nb -> j:right\nj -> g -> w",
            {
                "a": TIMED,
                "b": PLAIN,
                "f": ("filter", {"condition": "k = 'x'"}),
                "j": ("join", {"left_keys": ["k"], "right_keys": ["k"]}),
                "g": ("filter", {"condition": "k = 'x'"}),
            },
            f"w: {LOST} j loses it: the pairs of a regular join come in no order of time. Use an interval "
            "join or a temporal join, or put this step before it.",
        ),
        (
            "a -> t -> w",
            {"a": TIMED, "t": ("aggregate", {"group_by": ["k"], "aggregates": [COUNT]})},
            f"w: {LOST} t loses it: its results change later. Put this step before it, or let it compute in windows.",
        ),
        (
            "a -> p -> w",
            {"a": TIMED, "p": ("project", {"columns": [{"name": "k", "expression": "k"}]})},
            f"w: {LOST} p loses it: add ts there, as it is.",
        ),
        (
            "a -> w",
            {"a": PLAIN, "w": ("deduplicate", {"keys": ["k"], "order": "event_time"})},
            "w: order needs an event time, but its input has none. Declare one in a. Or order by arrival.",
        ),
    ],
)
def test_the_place_where_the_event_time_is_lost_is_named(
    drawn: str, parts: dict[str, tuple[str, dict[str, Any]]], sentence: str, tmp_path: Path
) -> None:
    pipeline = pipeline_of(drawn, **{"w": WINDOWS, **parts})
    assert [str(problem) for problem in check(pipeline, TypeRules(), tmp_path).problems] == [sentence]
