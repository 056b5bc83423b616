"""A selection of cases that covers all kinds of steps, where running every case would take too long."""

from __future__ import annotations

import heapq
import json
import re
from collections.abc import Sequence
from functools import cache
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
    missing: dict[str, int] = {}
    for found in steps.values():
        for step in found:
            missing[step] = min(times, missing.get(step, 0) + 1)
    chosen = []
    # What a case adds only becomes less: the first one that still adds what it did when it was counted is the best.
    left = [(-len(steps[path]), at) for at, path in enumerate(paths)]
    heapq.heapify(left)
    while left and left[0][0] < 0:
        counted, at = heapq.heappop(left)
        path = paths[at]
        adds = sum(missing[step] > 0 for step in steps[path])
        if adds != -counted:
            heapq.heappush(left, (-adds, at))
            continue
        chosen.append(path)
        for step in steps[path]:
            missing[step] = max(0, missing[step] - 1)
    return chosen


@cache
def steps_of(path: Path) -> frozenset[str]:
    """The kinds of steps in Flink's plan of a case: `Join`, `Join joinType=LeftOuterJoin`, and so on."""
    plan = json.loads(path.with_suffix(".expected.json").read_text())["exec_plan"]
    found: set[str] = set()
    for line in plan:
        if operator := _OPERATOR.match(line):
            found |= {operator[1], *(f"{operator[1]} {name}={kind}" for name, kind in _KIND.findall(line))}
    return frozenset(found)
