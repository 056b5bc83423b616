"""Time limits by what a process computes: a slow or busy machine does not use them up.

A job that never ends computes all the time. One that is only slow, since others have the cores, or Spark is cold, waits
for a core most of the time. Linux tells what a process and its children have computed; where nothing tells, the clock
counts.
"""

from __future__ import annotations

import os
from pathlib import Path
from time import monotonic
from typing import Final

_PROC: Final = Path("/proc")
# Of the limit, what has to be computed: a job also waits for disks and for its own workers.
_SHARE: Final = 0.5
# Who waits that often as long as the limit is stuck without computing.
_MOST_TIMES: Final = 5


def cpu_seconds(root: int) -> float | None:
    """What a process and its descendants have computed, with what ended among them. None where nothing tells it."""
    facts: dict[int, tuple[int, float]] = {}
    for folder in _PROC.glob("[0-9]*"):
        if (fact := _parent_and_seconds(folder / "stat")) is not None:
            facts[int(folder.name)] = fact
    if root not in facts:
        return None
    return sum(seconds for process, (_, seconds) in facts.items() if _is_below(process, root, facts))


def thread_seconds(process: int, thread: str) -> float:
    """What a thread has computed; zero once it has ended."""
    fact = _parent_and_seconds(_PROC / str(process) / "task" / thread / "stat")
    return 0.0 if fact is None else fact[1]


class TimeLimit:
    """A limit that begins now. seconds: of time in which the process computes at least half of it.

    process: its descendants count, too; None for one on another machine, for which only the clock counts.
    """

    def __init__(self, seconds: float, process: int | None) -> None:
        self._seconds, self._process = seconds, process
        self._began = monotonic()
        self._computed = None if process is None else cpu_seconds(process)

    def is_over(self) -> bool:
        """Whether it is used up. Takes milliseconds, from its end by the clock on."""
        took = monotonic() - self._began
        if took <= self._seconds:
            return False
        if self._process is None or self._computed is None or took > _MOST_TIMES * self._seconds:
            return True
        computed = cpu_seconds(self._process)
        return computed is None or computed - self._computed >= _SHARE * self._seconds


def _parent_and_seconds(stat: Path) -> tuple[int, float] | None:
    """By proc(5): the fields after the name, which may have spaces and parentheses."""
    try:
        fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(") ")[2].split()
        return int(fields[1]), sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        # It has ended.
        return None


def _is_below(process: int, root: int, facts: dict[int, tuple[int, float]]) -> bool:
    while process != root:
        if process not in facts:
            return False
        process = facts[process][0]
    return True
