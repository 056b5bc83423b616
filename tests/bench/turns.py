"""Runs the sides in turn (A B A B), each in a fresh process: plain Spark, the studio, and Flink if it is available."""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from engine.flink.environment import ENVIRONMENT
from engine.spark.java import environment
from tests.bench import events
from tests.bench.child import Ended, measure
from tests.bench.measured import Job, Measured, Spent


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The options of a benchmark. flink: an interpreter with apache-flink. memory: Spark's heap, "" for our default.
    stores: a folder in which our stores stay. units: how often plain Spark runs, at least.
    """

    engine: str
    folder: Path
    limit_s: float
    repeat: int
    epochs: int | None = None
    memory: str = ""
    flink: str = ""
    cold_flink: bool = False
    stores: Path | None = None
    units: int = 3

    def environ(self, memory: str = "") -> dict[str, str]:
        """The environment variables of a side on Spark."""
        chosen = memory or self.memory
        return {"CHANGELOG_STUDIO_MEMORY": chosen} if chosen else {}


@dataclass
class Case:
    """A workload with its numbers of events and keys, and the results of each side, round by round."""

    name: str
    workload: str
    events: int
    keys: int
    memory: str = ""
    units: list[Ended] = field(default_factory=list)
    studio: list[Ended] = field(default_factory=list)
    flink: list[Ended] = field(default_factory=list)

    def take_turns(self, setting: Setting, units: int) -> Iterator[Ended]:
        """Run one round of this case. units: how often plain Spark runs."""
        file = events.events(setting.folder, self.events, self.keys)
        first = events.first_events(file)
        job = Job(str(file), str(first), self.workload, setting.engine, setting.epochs, str(setting.folder))
        environ, limit_s = setting.environ(self.memory), setting.limit_s
        for _ in range(units):
            self.units.append(measure("spark_side", job, limit_s=limit_s, environ=environ))
            yield self.units[-1]
        kept = job if setting.stores is None else replace(job, store=str(setting.stores / f"{self.name}.duckdb"))
        self.studio.append(measure("studio_side", kept, limit_s=limit_s, environ=environ))
        yield self.studio[-1]
        if setting.flink:
            job = replace(job, first="" if setting.cold_flink else job.first)
            environ = {"JAVA_HOME": environment()["JAVA_HOME"], ENVIRONMENT: setting.flink}
            self.flink.append(measure("flink_side", job, limit_s=limit_s, environ=environ))
            yield self.flink[-1]


def run(cases: Sequence[Case], setting: Setting) -> None:
    """Run all rounds of all cases, and print a line for each ended process."""
    units = math.ceil(setting.units / (len(cases) * setting.repeat)) if cases else 0
    for number in range(setting.repeat):
        for case in cases:
            for ended in case.take_turns(setting, units):
                tell(f"round {number + 1} of {setting.repeat}, {case.name}", ended)


def tell(what: str, ended: Ended) -> None:
    """Print the result of a process to standard error."""
    if ended.measured is None:
        found = ended.why
    else:
        whole = ended.measured.whole
        found = f"{whole.wall_s:.1f} s" + ("" if whole.cpu_s is None else f", CPU {whole.cpu_s:.1f} s")
    sys.stderr.write(f"{what}, {ended.side}: {found}\n")
    sys.stderr.flush()


def median(ended: Sequence[Ended], part: Callable[[Measured], Spent], amount: str = "wall_s") -> float | None:
    """The median over the successful processes; None if there is none, or if the amount is unknown."""
    found = [getattr(part(one.measured), amount) for one in ended if one.measured is not None]
    known = [value for value in found if value is not None]
    return statistics.median(known) if known else None
