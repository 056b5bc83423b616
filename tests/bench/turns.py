"""The sides in turn, each in a fresh process: plain Spark, the studio, Flink where it is at hand; A B A B."""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from engine.spark.java import environment
from tests.bench import events
from tests.bench.child import Ended, measure
from tests.bench.measured import Job, Measured, Spent

UNITS_AT_LEAST: Final = 3


@dataclass(frozen=True)
class Setting:
    """What a benchmark is told. flink: an interpreter that has apache-flink. memory: of Spark's heap, "" for ours."""

    engine: str
    folder: Path
    limit_s: float
    repeat: int
    epochs: int | None = None
    memory: str = ""
    flink: str = ""
    cold_flink: bool = False

    def environ(self, memory: str = "") -> dict[str, str]:
        """The variables of a side on Spark."""
        chosen = memory or self.memory
        return {"CHANGELOG_STUDIO_MEMORY": chosen} if chosen else {}


@dataclass
class Case:
    """A workload over so many events with so many keys, and what the sides took for it, round by round."""

    name: str
    workload: str
    events: int
    keys: int
    memory: str = ""
    units: list[Ended] = field(default_factory=list)
    studio: list[Ended] = field(default_factory=list)
    flink: list[Ended] = field(default_factory=list)

    def take_turns(self, setting: Setting, units: int) -> Iterator[Ended]:
        """One round of this case."""
        file = events.events(setting.folder, self.events, self.keys)
        first = events.first_events(file)
        job = Job(str(file), str(first), self.workload, setting.engine, setting.epochs, str(setting.folder))
        environ, limit_s = setting.environ(self.memory), setting.limit_s
        for _ in range(units):
            self.units.append(measure("spark_side", job, limit_s=limit_s, environ=environ))
            yield self.units[-1]
        self.studio.append(measure("studio_side", job, limit_s=limit_s, environ=environ))
        yield self.studio[-1]
        if setting.flink:
            job = replace(job, first="" if setting.cold_flink else job.first)
            java = {"JAVA_HOME": environment()["JAVA_HOME"]}
            self.flink.append(measure("flink_side", job, limit_s=limit_s, environ=java, python=setting.flink))
            yield self.flink[-1]


def run(cases: Sequence[Case], setting: Setting) -> None:
    """All rounds of all cases; a line each time that a process has ended."""
    units = math.ceil(UNITS_AT_LEAST / (len(cases) * setting.repeat)) if cases else 0
    for number in range(setting.repeat):
        for case in cases:
            for ended in case.take_turns(setting, units):
                tell(f"round {number + 1} of {setting.repeat}, {case.name}", ended)


def tell(what: str, ended: Ended) -> None:
    """Say on standard error how a process ended."""
    if ended.measured is None:
        found = ended.why
    else:
        whole = ended.measured.whole
        found = f"{whole.wall_s:.1f} s" + ("" if whole.cpu_s is None else f", CPU {whole.cpu_s:.1f} s")
    sys.stderr.write(f"{what}, {ended.side}: {found}\n")
    sys.stderr.flush()


def median(ended: Sequence[Ended], part: Callable[[Measured], Spent], amount: str = "wall_s") -> float | None:
    """Of the processes that ended well; None where there is none, or where the amount is unknown."""
    found = [getattr(part(one.measured), amount) for one in ended if one.measured is not None]
    known = [value for value in found if value is not None]
    return statistics.median(known) if known else None
