"""Long or deeply nested pipelines: planned in linear time, or rejected if they exceed Python's recursion limit."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from cProfile import Profile
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from engine.errors import StudioError
from engine.model.pipeline import Pipeline
from engine.model.schema import Schema
from engine.model.types import Type
from engine.planner import check, plan
from engine.script import script_of
from tests.engine.planning import OneType
from tests.engine.script.scripts import whole

COLUMNS = {"columns": [{"name": "a", "type": "BIGINT"}, {"name": "b", "type": "BIGINT"}]}
DDL = "CREATE TABLE t (a BIGINT, b BIGINT) WITH ('connector' = 'filesystem', 'path' = 't.csv', 'format' = 'csv');\n"
BIGINTS = OneType("bigint")


def document(nodes: Sequence[Any], edges: Sequence[tuple[str, str]]) -> Pipeline:
    made = [{"id": name, "operator": operator, "parameters": parameters} for name, operator, parameters in nodes]
    return Pipeline.model_validate(
        {"nodes": made, "edges": [{"source": source, "target": target} for source, target in edges]}
    )


def test_a_chain_of_two_thousand_nodes_is_planned(tmp_path: Path) -> None:
    count = {"group_by": ["a"], "aggregates": [{"function": "COUNT", "name": "b"}]}
    names = ["s", *(f"n{at}" for at in range(2000)), "k"]
    nodes = [("s", "rows", COLUMNS), *((name, "aggregate", count) for name in names[1:-1]), ("k", "sink", {})]
    planned = plan(document(nodes, list(pairwise(names))), BIGINTS, tmp_path)
    assert (str(planned.node("n0").mode), str(planned.node("n1999").mode)) == ("[I,UB,UA]", "[I,UB,UA,D]")


def test_what_branches_and_meets_again_sixty_times_is_planned(tmp_path: Path) -> None:
    """Such a pipeline has 2^60 paths from the sink to the source."""
    count = {"group_by": ["a"], "aggregates": [{"function": "COUNT", "name": "b"}]}
    names = ["n", *(f"u{at}" for at in range(60)), "k"]
    nodes = [("s", "rows", COLUMNS), ("n", "aggregate", count)]
    nodes += [(name, "union", {}) for name in names[1:-1]] + [("k", "sink", {})]
    edges = [("s", "n"), *((one, other) for one, other in pairwise(names) for _ in range(1 + (other != "k")))]
    planned = plan(document(nodes, edges), BIGINTS, tmp_path)
    assert str(planned.node("u59").mode) == "[I,UB,UA]"


@pytest.mark.parametrize("levels", [60, 150])
def test_a_query_may_have_many_parentheses(tmp_path: Path, levels: int) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    script = script_of(f"{DDL}SELECT {'(' * levels}a{')' * levels} AS x FROM t;", BIGINTS, tmp_path)
    assert [node.operator for node in script.pipeline.nodes] == ["csv", "project", "sink"]


@pytest.mark.parametrize(
    "text",
    [
        f"{DDL}SELECT {'(' * 5000}a{')' * 5000} AS x FROM t;",
        f"{DDL}SELECT {' + '.join(['a'] * 5000)} AS x FROM t;",
        f"CREATE TABLE t (a {'ARRAY<' * 5000}INT{'>' * 5000}) WITH ('connector' = 'filesystem', 'path' = 't.csv', "
        "'format' = 'csv');\nSELECT * FROM t;",
    ],
)
def test_a_script_that_is_nested_too_deeply_is_told_so(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(StudioError, match="is nested too deeply. Split it"):
        whole(script_of(text, BIGINTS, tmp_path))


def test_an_expression_that_is_nested_too_deeply_is_a_problem_of_its_pipeline(tmp_path: Path) -> None:
    class Deep:
        def type_of(self, expression: str, schema: Schema, node: str, field: str) -> Type:
            raise RecursionError

    nodes = [("s", "rows", COLUMNS), ("f", "filter", {"condition": "a > 1"}), ("k", "sink", {})]
    checked = check(document(nodes, [("s", "f"), ("f", "k")]), Deep(), tmp_path)
    assert "nested too deeply" in str(checked.problems[0])


def calls_of(planning: Callable[[], object]) -> int:
    """The number of Python function calls: it does not depend on other work on the machine."""
    # A profiler in C counts without a call of its own for each of them.
    counted = Profile(subcalls=False, builtins=False)
    counted.runcall(planning)
    return sum(entry.callcount for entry in counted.getstats())


def views(number: int) -> str:
    below = ["t", *(f"v{at}" for at in range(number))]
    made = (f"CREATE VIEW v{at} AS SELECT b AS a, COUNT(*) AS b FROM {below[at]} GROUP BY b;" for at in range(number))
    return f"{DDL}{' '.join(made)} SELECT * FROM v{number - 1};"


def joins(number: int) -> str:
    joined = (f"JOIN t AS t{at} ON t{at - 1}.a = t{at}.a" for at in range(1, number + 1))
    return f"{DDL}SELECT t0.a FROM t AS t0 {' '.join(joined)};"


def cast_joins(number: int) -> str:
    """Joins whose keys get a common type."""
    joined = (f"JOIN t AS t{at} ON t{at - 1}.a = t{at}.a * 1.5" for at in range(1, number + 1))
    return f"{DDL}SELECT t0.a FROM t AS t0 {' '.join(joined)};"


def unions(number: int) -> str:
    return f"{DDL}{' UNION ALL '.join(f'SELECT a, b + {at} AS b FROM t' for at in range(number + 1))};"


# The factor is the limit, relative to half the length: the shorter the script, the closer to 2 it has to be for finding
# the same quadratic part. The columns of all joins grow with the square of their number.
LONG = [
    pytest.param(views, 100, 2.5, id="100 views, each on the one before"),
    pytest.param(joins, 60, 5.0, id="60 joins"),
    pytest.param(cast_joins, 40, 5.0, id="40 joins with casts"),
    pytest.param(unions, 150, 2.6, id="150 unions"),
]


@pytest.mark.parametrize(("script", "number", "most"), LONG)
def test_a_script_that_is_twice_as_long_takes_no_more_than_its_share(
    tmp_path: Path, script: Callable[[int], str], number: int, most: float
) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")

    def planned(length: int) -> None:
        made = script_of(script(length), BIGINTS, tmp_path).pipeline
        assert len(made.nodes) >= length
        plan(made, BIGINTS, tmp_path)

    # Do not count one-time loading and caching.
    planned(3)
    half = calls_of(lambda: planned(number // 2))
    assert calls_of(lambda: planned(number)) < most * half


def test_a_file_with_twice_as_many_columns_takes_twice_as_much(tmp_path: Path) -> None:
    def planned(columns: int) -> None:
        (tmp_path / f"{columns}.jsonl").write_text(json.dumps({f"c{at}": at for at in range(columns)}))
        count = {"group_by": ["c1"], "aggregates": [{"function": "COUNT", "name": "n"}]}
        nodes = [("s", "jsonl", {"path": f"{columns}.jsonl"}), ("n", "aggregate", count), ("k", "sink", {})]
        made = plan(document(nodes, [("s", "n"), ("n", "k")]), BIGINTS, tmp_path)
        assert len(made.node("s").schema.columns) == columns

    planned(3)
    half = calls_of(lambda: planned(1500))
    assert calls_of(lambda: planned(3000)) < 3 * half
