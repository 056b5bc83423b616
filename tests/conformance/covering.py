"""Which cases stand for the others where each of them would take seconds."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

# A line of Flink's plan, and what tells one use of an operator from another.
_OPERATOR: Final = re.compile(r"[\s:+-]*(\w+)\(")
_KIND: Final = re.compile(r"(joinType|strategy|rankType|window)=\[(\w+)")


def covering(paths: Sequence[Path], times: int = 1) -> list[Path]:
    """Few cases in which everything that Flink's plans have is there so many times, or as often as in all of them.

    Whichever cover the most of what is missing, one after the other; of equal ones the first.
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
    """What Flink's plan of a case consists of: `Join`, `Join joinType=LeftOuterJoin`, and so on."""
    plan = json.loads(path.with_suffix(".expected.json").read_text())["exec_plan"]
    found: set[str] = set()
    for line in plan:
        if operator := _OPERATOR.match(line):
            found |= {operator[1], *(f"{operator[1]} {name}={kind}" for name, kind in _KIND.findall(line))}
    return frozenset(found)
