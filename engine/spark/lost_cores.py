"""Tasks that go on after their job was ended: Spark asks a task to end, and only between two records does it listen.

Such a task keeps a core of its engine for ever. Spark tells of none of them (its reaper does nothing where driver and
tasks share a process), Linux does: a thread that computes one record never waits, one that reads, writes or sends does.
"""

from __future__ import annotations

import time
from math import inf
from pathlib import Path
from typing import Final

from engine.spark.cpu_time import thread_seconds

# Linux keeps the first 15 characters of "Executor task launch worker for task 0.0 in stage 3.0 (TID 3)".
_TASK: Final = "Executor task l"
_LOOK_S: Final = 0.3
# A task is looked at while it computes for so long. On a busy machine that takes longer, up to a limit.
_COMPUTES_S: Final = 2.0
_LIMIT_S: Final = 60.0
# From then on, a thread that has computed less than this share of the time is idle.
_KNOWN_S: Final = 3.0
_IDLE: Final = 0.01
# It waits whenever memory is cleaned up.
_MOST_WAITS: Final = 20


def keeps_a_core(jvm: int) -> bool:
    """Whether a task of this process computes without a pause. Takes some seconds. False where Linux does not tell."""
    began = time.monotonic()
    waited = _waits(jvm)
    computed = {task: thread_seconds(jvm, task) for task in waited}
    while waited and (took := time.monotonic() - began) < _LIMIT_S:
        time.sleep(_LOOK_S)
        waits = _waits(jvm)
        waited = {task: before for task, before in waited.items() if waits.get(task, inf) - before <= _MOST_WAITS}
        took_s = {task: thread_seconds(jvm, task) - computed[task] for task in waited}
        if any(seconds >= _COMPUTES_S for seconds in took_s.values()):
            return True
        if took > _KNOWN_S:
            waited = {task: before for task, before in waited.items() if took_s[task] >= _IDLE * took}
    return False


def _waits(jvm: int) -> dict[str, int]:
    """How often each thread for tasks has waited."""
    waits: dict[str, int] = {}
    for thread in Path(f"/proc/{jvm}/task").glob("*"):
        try:
            told = dict(line.split(":\t", 1) for line in (thread / "status").read_text().splitlines() if ":\t" in line)
        except OSError:
            # It has ended.
            continue
        if told["Name"] == _TASK:
            waits[thread.name] = int(told["voluntary_ctxt_switches"])
    return waits
