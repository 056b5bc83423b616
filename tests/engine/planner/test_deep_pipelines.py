"""What is long or nested deeply: planned in time that grows with it, and a sentence where Python cannot follow."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from engine.errors import StudioError
from engine.model.pipeline import Pipeline
from engine.model.schema import Schema
from engine.planner import check, plan
from engine.script import script_of

COLUMNS = {"columns": [{"name": "a", "type": "BIGINT"}, {"name": "b", "type": "BIGINT"}]}
DDL = "CREATE TABLE t (a BIGINT, b BIGINT) WITH ('connector' = 'filesystem', 'path' = 't.csv', 'format' = 'csv');\n"


class Types:
    """Says of every expression that it is a BIGINT."""

    def type_of(self, expression: str, schema: Schema, node: str, field: str) -> str:
        return "bigint"


def document(nodes: Sequence[Any], edges: Sequence[tuple[str, str]]) -> Pipeline:
    made = [{"id": name, "operator": operator, "parameters": parameters} for name, operator, parameters in nodes]
    return Pipeline.model_validate(
        {"nodes": made, "edges": [{"source": source, "target": target} for source, target in edges]}
    )


def test_a_chain_of_two_thousand_nodes_is_planned(tmp_path: Path) -> None:
    count = {"group_by": ["a"], "aggregates": [{"function": "COUNT", "name": "b"}]}
    names = ["s", *(f"n{at}" for at in range(2000)), "k"]
    nodes = [("s", "rows", COLUMNS), *((name, "aggregate", count) for name in names[1:-1]), ("k", "sink", {})]
    planned = plan(document(nodes, list(pairwise(names))), Types(), tmp_path)
    assert (str(planned.node("n0").mode), str(planned.node("n1999").mode)) == ("[I,UB,UA]", "[I,UB,UA,D]")


def test_what_branches_and_meets_again_sixty_times_is_planned(tmp_path: Path) -> None:
    """Of such a pipeline there are 2^60 ways from the sink to the source."""
    count = {"group_by": ["a"], "aggregates": [{"function": "COUNT", "name": "b"}]}
    names = ["n", *(f"u{at}" for at in range(60)), "k"]
    nodes = [("s", "rows", COLUMNS), ("n", "aggregate", count)]
    nodes += [(name, "union", {}) for name in names[1:-1]] + [("k", "sink", {})]
    edges = [("s", "n"), *((one, other) for one, other in pairwise(names) for _ in range(1 + (other != "k")))]
    planned = plan(document(nodes, edges), Types(), tmp_path)
    assert str(planned.node("u59").mode) == "[I,UB,UA]"


@pytest.mark.parametrize("levels", [60, 150])
def test_a_query_may_have_many_parentheses(tmp_path: Path, levels: int) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    script = script_of(f"{DDL}SELECT {'(' * levels}a{')' * levels} AS x FROM t;", Types(), tmp_path)
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
        script_of(text, Types(), tmp_path)


def test_an_expression_that_is_nested_too_deeply_is_a_problem_of_its_pipeline(tmp_path: Path) -> None:
    class Deep(Types):
        def type_of(self, expression: str, schema: Schema, node: str, field: str) -> str:
            raise RecursionError

    nodes = [("s", "rows", COLUMNS), ("f", "filter", {"condition": "a > 1"}), ("k", "sink", {})]
    checked = check(document(nodes, [("s", "f"), ("f", "k")]), Deep(), tmp_path)
    assert "nested too deeply" in str(checked.problems[0])
