"""The times of a run's phases, from its progress."""

from __future__ import annotations

import threading

from engine.contract.recorder import Progress
from tests.bench.measured import Spent, Stopwatch, added

PLANNING, SOURCES, KEEPING = "planning", "sources", "keeping"
_SOURCES = ("reading", "following")


class Phases(threading.Thread):
    """Polls a run's progress 50 times a second, from `start` to `end`.

    The time before the run is planning. Each phase of the engine is a part; equal phases of several epochs add up.
    seen: the latest phase that it has noticed.
    """

    def __init__(self, progress: Progress) -> None:
        super().__init__(daemon=True)
        self._progress = progress
        self.seen = progress.phase
        self._ended = threading.Event()
        self._laps: list[Spent] = []

    def run(self) -> None:
        """Poll until the end."""
        watch = Stopwatch()
        while not self._ended.wait(0.02):
            if (now := self._progress.phase) != self.seen:
                self._laps.append(watch.lap(part_of(self.seen)))
                self.seen = now
        self._laps.append(watch.lap(part_of(self.seen)))

    def end(self) -> tuple[Spent, ...]:
        """Stop polling, and return the parts in the order in which they began."""
        self._ended.set()
        self.join()
        names = dict.fromkeys(lap.name for lap in self._laps)
        return tuple(added(name, [lap for lap in self._laps if lap.name == name]) for name in names)


def part_of(phase: str) -> str:
    """The part that a phase belongs to. Each node is a part of its own."""
    if phase == "starting":
        return PLANNING
    if phase.startswith(_SOURCES):
        return SOURCES
    if phase.startswith("keeping") or phase == "finished":
        return KEEPING
    return phase.removeprefix("running ")
