"""What the planner knows of the numbers in a column decides the strategy of a Top N above their sum, as in Flink.

`known_numbers.txt` has queries with the columns g and s, and the strategy that Flink 2.3 takes (EXPLAIN
CHANGELOG_MODE) for their two best rows by s, in either order.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.expressions.analyzer import TypeRules
from engine.planner import plan
from engine.script import script_of

TABLES = """
CREATE TABLE rides (id INT, zone STRING, km INT, rated DOUBLE) WITH ('connector' = 'datagen');
CREATE TABLE payments (ride_id INT, fare INT, tip BIGINT, how STRING) WITH ('connector' = 'datagen');
"""
CASES = [
    line.split(maxsplit=2)
    for line in (Path(__file__).parent / "known_numbers.txt").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize(("strategy", "order", "query"), CASES, ids=lambda text: text)
def test_a_topn_is_planned_as_in_flink(strategy: str, order: str, query: str, tmp_path: Path) -> None:
    numbered = f"SELECT *, ROW_NUMBER() OVER (ORDER BY s {order}) AS place FROM ({query})"
    script = script_of(f"{TABLES}SELECT g, s FROM ({numbered}) WHERE place <= 2;", TypeRules(), tmp_path)
    planned = plan(script.pipeline, TypeRules(), tmp_path)
    ranked = [node.strategy.name for node in planned.nodes if node.operator.operator == "topn"]
    assert ranked[-1].partition("[")[0] == strategy
