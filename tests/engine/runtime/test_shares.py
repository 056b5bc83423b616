"""What is kept of each edge, from scripts with their options."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.contract.recorder import ALL, NONE, Share
from engine.errors import PipelineError
from engine.expressions.analyzer import TypeRules
from engine.model.options import KEEP_KEYS, check_options
from engine.planner import plan
from engine.runtime.edges.shares import shares_of
from engine.runtime.edges.views import views_of
from engine.script import script_of

TABLES = """
CREATE TABLE a (id BIGINT, k STRING, v BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH
  ('connector' = 'datagen', 'number-of-rows' = '1');
CREATE TABLE b (k STRING, w BIGINT) WITH ('connector' = 'datagen', 'number-of-rows' = '1');
"""

CASES = [
    (
        "a count by key, and the counts counted",
        "SELECT n, COUNT(*) AS m FROM (SELECT k, COUNT(*) AS n FROM a GROUP BY k) GROUP BY n",
        {"a": ("k",), "aggregate": ("k",), "aggregate_2": None},
    ),
    (
        "keys under other names, through a filter and a projection",
        "SELECT word, SUM(v) AS s FROM (SELECT k AS word, v FROM a WHERE v > 1) GROUP BY word",
        {"a": ("k",), "filter": ("k",), "aggregate": ("k",), "project": ("word",)},
    ),
    ("no keyed step", "SELECT k FROM a WHERE v > 1", {"a": None}),
    ("a computed key", "SELECT UPPER(k) AS u, COUNT(*) AS n FROM a GROUP BY UPPER(k)", {"a": None, "aggregate": None}),
    (
        "windows of a key",
        "SELECT k, window_start, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) "
        "GROUP BY k, window_start, window_end",
        {"a": ("k",)},
    ),
    ("a join", "SELECT a.id, b.w, a.k FROM a JOIN b ON a.k = b.k", {"a": ("k",), "b": ("k",)}),
    (
        "a row may be padded: the other side's key",
        "SELECT a.id, b.k FROM a RIGHT JOIN b ON a.k = b.k",
        {"join": ("k0",)},
    ),
    (
        "rows of both sides may be padded",
        "SELECT a.id, b.k FROM a FULL JOIN b ON a.k = b.k",
        {"a": ("k",), "join": None},
    ),
]


@pytest.mark.parametrize(("query", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_the_keys_of_a_source_are_followed(query: str, expected: dict[str, tuple[str, ...] | None]) -> None:
    shares = shares_in(f"SET 'changelog-studio.keep.keys' = '100';{TABLES}{query};")
    found = {node: shares[node] for node in expected}
    assert found == {node: Share(100, by) if by else ALL for node, by in expected.items()}


def shares_in(script: str) -> dict[str, Share]:
    planned = plan(script_of(script, TypeRules(), Path()).pipeline, TypeRules(), Path())
    shares = shares_of(planned, views_of(planned))
    return {node if port == "out" else f"{node}.{port}": share for (node, port), share in shares.items()}


def test_chosen_outputs_are_kept_and_what_they_are_views_of() -> None:
    query = "SELECT k AS word, v FROM a"
    shares = shares_in(f"SET 'changelog-studio.keep.edges' = 'project';{TABLES}{query};")
    assert shares["project"] == shares["a"] == ALL
    counted = "SELECT k, COUNT(*) AS n FROM a GROUP BY k"
    shares = shares_in(f"SET 'changelog-studio.keep.edges' = 'aggregate';{TABLES}{counted};")
    assert (shares["a"], shares["aggregate"]) == (NONE, ALL)


def test_an_output_that_does_not_exist_is_told_with_those_that_do() -> None:
    with pytest.raises(PipelineError, match=r"keep.edges has 'x', which is no output. Available: a, "):
        shares_in(f"SET 'changelog-studio.keep.edges' = 'a, x';{TABLES}SELECT k FROM a;")


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "many", "1000001"])
def test_a_share_is_a_whole_number(text: str) -> None:
    with pytest.raises(PipelineError, match=r"keep.keys is a number from 1 \(all keys\) to 1000000, not"):
        check_options({KEEP_KEYS.name: text})
