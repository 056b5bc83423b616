"""A selection of cases that covers all kinds of steps, where running every case would take too long."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

# An operator in a line of Flink's plan, and the properties that distinguish its uses.
_OPERATOR: Final = re.compile(r"[\s:+-]*(\w+)\(")
_KIND: Final = re.compile(r"(joinType|strategy|rankType|window)=\[(\w+)")


def covering(paths: Sequence[Path], times: int = 1) -> list[Path]:
    """Few cases that contain every kind of step of Flink's plans `times` times, or as often as all cases do.

    Greedy: the next case is always the one with the most missing steps; on a tie, the first.
    """
    steps = {path: steps_of(path) for path in paths}
    left = list(paths)
    missing: dict[str, int] = {}
    for found in steps.values():
        for step in found:
            missing[step] = min(times, missing.get(step, 0) + 1)
    chosen = []
    while any(missing.values()):
        best = max(left, key=lambda path: sum(missing[step] > 0 for step in steps[path]))
        left.remove(best)
        chosen.append(best)
        for step in steps[best]:
            missing[step] = max(0, missing[step] - 1)
    return chosen


def steps_of(path: Path) -> frozenset[str]:
    """The kinds of steps in Flink's plan of a case: `Join`, `Join joinType=LeftOuterJoin`, and so on."""
    plan = json.loads(path.with_suffix(".expected.json").read_text())["exec_plan"]
    found: set[str] = set()
    for line in plan:
        if operator := _OPERATOR.match(line):
            found |= {operator[1], *(f"{operator[1]} {name}={kind}" for name, kind in _KIND.findall(line))}
    return frozenset(found)
