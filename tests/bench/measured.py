"""The job of a side and its measurement. Both pass between processes as JSON. Standard library only."""

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
    """The parameters of one measurement. Every side reads those that it needs.

    events: the CSV. first: a small CSV for the warm-up, "" to begin cold. engine: Spark's master, whose cores are
    Flink's parallelism. epochs: None leaves the number to the engine. scratch: a folder for output. store: a new file
    for our store, which stays, or "".
    """

    events: str = ""
    first: str = ""
    workload: str = ""
    engine: str = "local[2]"
    epochs: int | None = None
    scratch: str = "."
    store: str = ""


@dataclass(frozen=True)
class Timed:
    """Something that was measured, with its seconds of wall time."""

    name: str
    wall_s: float


@dataclass(frozen=True)
class Spent(Timed):
    """The time of a part. cpu: CPU seconds of the process tree by role (`process_tree`), empty if unknown."""

    cpu: Mapping[str, float] = field(default_factory=dict)

    @property
    def cpu_s(self) -> float | None:
        """The CPU seconds of the whole tree, None if unknown."""
        return sum(self.cpu.values()) if self.cpu else None


def added(name: str, parts: Iterable[Spent]) -> Spent:
    """The sum of several parts."""
    wall_s = 0.0
    cpu: dict[str, float] = {}
    for part in parts:
        wall_s += part.wall_s
        cpu |= {role: cpu.get(role, 0) + seconds for role, seconds in part.cpu.items()}
    return Spent(name, wall_s, cpu)


@dataclass(frozen=True)
class NodeSpent(Timed):
    """The engine's figures of one node. records: those that it emitted."""

    records: int


@dataclass(frozen=True)
class EpochSpent(Spent):
    """An epoch up to its commit. peak: resident bytes by role (`process_tree.Peak`). file_bytes: of the store then."""

    peak: Mapping[str, float] = field(default_factory=dict)
    file_bytes: int = 0


@dataclass(frozen=True)
class Measured:
    """The measurement of one process, part by part. records, file_bytes: the stored ones, if there is a store.

    epochs: with what the store computes in the background, which the parts end before.
    """

    parts: tuple[Spent, ...]
    nodes: tuple[NodeSpent, ...] = ()
    epochs: tuple[EpochSpent, ...] = ()
    records: int | None = None
    file_bytes: int | None = None

    @property
    def whole(self) -> Spent:
        """The sum of all parts."""
        return added("whole", self.parts)

    def part(self, name: str) -> Spent:
        """The part of that name, the median if it was measured several times; 0 seconds if it is missing."""
        found = [part for part in self.parts if part.name == name]
        roles = {role for part in found for role in part.cpu}
        return Spent(
            name,
            statistics.median(part.wall_s for part in found) if found else 0,
            {role: statistics.median(part.cpu.get(role, 0) for part in found) for role in sorted(roles)},
        )

    @classmethod
    def from_json(cls, text: str) -> Measured:
        """Read the output of `answer`."""
        found = json.loads(text)
        parts = tuple(Spent(**part) for part in found.pop("parts"))
        nodes = tuple(NodeSpent(**node) for node in found.pop("nodes"))
        return cls(parts, nodes, tuple(EpochSpent(**epoch) for epoch in found.pop("epochs")), **found)


class Stopwatch:
    """Wall and CPU seconds of this process and its descendants, from one `lap` to the next."""

    def __init__(self) -> None:
        self._began, self._burnt = time.perf_counter(), process_tree.cpu(os.getpid())

    def lap(self, name: str) -> Spent:
        """The time since the last lap."""
        now, burnt = time.perf_counter(), process_tree.cpu(os.getpid())
        spent = {role: seconds - self._burnt.get(role, 0) for role, seconds in burnt.items()}
        lap = Spent(name, now - self._began, spent)
        self._began, self._burnt = now, burnt
        return lap


def answer(measure: Callable[[Job], Measured]) -> None:
    """Do the job in the first argument, and write the measurement to the file in the second."""
    job = Job(**json.loads(sys.argv[1]))
    Path(sys.argv[2]).write_text(json.dumps(asdict(measure(job))))
