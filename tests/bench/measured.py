"""What a side is asked to do, and what it says of it. Both travel between processes as JSON; standard library only."""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.bench import process_tree


@dataclass(frozen=True)
class Job:
    """One measurement, of which every side reads what it needs.

    events: the CSV. first: a small one to warm up with, "" to begin cold. engine: Spark's master, whose cores are
    Flink's parallelism. epochs: None leaves them to the engine. scratch: a folder for what is written.
    """

    events: str = ""
    first: str = ""
    workload: str = ""
    engine: str = "local[2]"
    epochs: int | None = None
    scratch: str = "."


@dataclass(frozen=True)
class Spent:
    """What a part took. cpu: seconds of the process tree by role (`process_tree`), empty where unknown."""

    name: str
    wall_s: float
    cpu: Mapping[str, float] = field(default_factory=dict)

    @property
    def cpu_s(self) -> float | None:
        """Of the whole tree, None where unknown."""
        return sum(self.cpu.values()) if self.cpu else None


def added(name: str, parts: Iterable[Spent]) -> Spent:
    """Several parts as one."""
    wall_s = 0.0
    cpu: dict[str, float] = {}
    for part in parts:
        wall_s += part.wall_s
        cpu |= {role: cpu.get(role, 0) + seconds for role, seconds in part.cpu.items()}
    return Spent(name, wall_s, cpu)


@dataclass(frozen=True)
class NodeSpent:
    """What the engine says of one node: seconds of wall time, records given out."""

    name: str
    wall_s: float
    records: int


@dataclass(frozen=True)
class Measured:
    """What one process measured, part after part. records, file_bytes: kept, where something was."""

    parts: tuple[Spent, ...]
    nodes: tuple[NodeSpent, ...] = ()
    records: int | None = None
    file_bytes: int | None = None

    @property
    def whole(self) -> Spent:
        """All parts as one."""
        return added("whole", self.parts)

    def part(self, name: str) -> Spent:
        """The part of that name, the median where it was measured several times; nothing where there is none."""
        found = [part for part in self.parts if part.name == name]
        roles = {role for part in found for role in part.cpu}
        return Spent(
            name,
            statistics.median(part.wall_s for part in found) if found else 0,
            {role: statistics.median(part.cpu.get(role, 0) for part in found) for role in sorted(roles)},
        )

    @classmethod
    def from_json(cls, text: str) -> Measured:
        """The other side of `answer`."""
        found = json.loads(text)
        parts = tuple(Spent(**part) for part in found.pop("parts"))
        return cls(parts, tuple(NodeSpent(**node) for node in found.pop("nodes")), **found)


class Stopwatch:
    """Wall and CPU seconds of this process and those below it, from one `lap` to the next."""

    def __init__(self) -> None:
        self._began, self._burnt = time.perf_counter(), process_tree.cpu(os.getpid())

    def lap(self, name: str) -> Spent:
        """What was spent since the last one."""
        now, burnt = time.perf_counter(), process_tree.cpu(os.getpid())
        spent = {role: seconds - self._burnt.get(role, 0) for role, seconds in burnt.items()}
        lap = Spent(name, now - self._began, spent)
        self._began, self._burnt = now, burnt
        return lap


def answer(measure: Callable[[Job], Measured]) -> None:
    """Do the job of the first argument, and write what was measured to the file of the second."""
    job = Job(**json.loads(sys.argv[1]))
    Path(sys.argv[2]).write_text(json.dumps(asdict(measure(job))))
