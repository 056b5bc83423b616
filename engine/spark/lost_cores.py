"""Tasks that go on after their job was ended: Spark asks a task to end, and only between two records does it listen.

Such a task keeps a core of its engine for ever. Spark tells of none of them (its reaper does nothing where driver and
tasks share a process), Linux does: a thread that computes one record never waits, one that reads, writes or sends does.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

# Linux keeps the first 15 characters of "Executor task launch worker for task 0.0 in stage 3.0 (TID 3)".
_TASK: Final = "Executor task l"
_LOOK_S: Final = 3.0
# It waits whenever memory is cleaned up.
_MOST_WAITS: Final = 20


def keeps_a_core(jvm: int) -> bool:
    """Whether a task of this process computes without a pause. Takes some seconds. False where Linux does not tell."""
    before = _waits(jvm)
    time.sleep(_LOOK_S)
    after = _waits(jvm)
    return any(waits - before[task] <= _MOST_WAITS for task, waits in after.items() if task in before)


def _waits(jvm: int) -> dict[str, int]:
    """How often each thread of a task that is at work has waited."""
    waits: dict[str, int] = {}
    for thread in Path(f"/proc/{jvm}/task").glob("*"):
        try:
            told = dict(line.split(":\t", 1) for line in (thread / "status").read_text().splitlines() if ":\t" in line)
        except OSError:
            # It has ended.
            continue
        if told["Name"] == _TASK and told["State"].startswith("R"):
            waits[thread.name] = int(told["voluntary_ctxt_switches"])
    return waits
