"""Figures in addition to the workloads: the small example, wide files, the store's load."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tests.bench import events, example_side, load_side
from tests.bench.child import Ended, measure
from tests.bench.measured import Job, Measured, Spent, added
from tests.bench.phases import SOURCES
from tests.bench.turns import Setting, median, tell

WIDE_ROWS: Final = 10_000
WIDE: Final = ((18, False), (200, False), (1000, False), (40, True))
WIDE_LIMIT_S: Final = 120


@dataclass(frozen=True)
class Figure:
    """The median of a part over all processes that measured it, or why there is none. of: the measurement's name."""

    of: str
    part: str
    wall_s: float | None
    cpu_s: float | None = None
    why: str = ""


def example_01(setting: Setting, count: int, keys: int) -> Iterator[Figure]:
    """Example 01 in fresh processes."""
    job = Job(engine=setting.engine, epochs=setting.epochs, scratch=str(setting.folder))
    ended = _ended("example_01", "example_side", job, setting, setting.repeat)
    session, first, warm = example_side.SESSION, example_side.FIRST, example_side.WARM
    yield _figure("example 01", "session start", ended, session)
    yield _figure("example 01", "first run", ended, first)
    yield _figure("example 01", "from the start to the end of the first run", ended, session, first)
    yield _figure("example 01", f"warm, median of {example_side.WARM_RUNS} runs", ended, warm)


def wide_csv(setting: Setting, count: int, keys: int) -> Iterator[Figure]:
    """Files with many columns, each with a time limit."""
    narrow = events.wide(setting.folder, 2, 100)
    for columns, texts in WIDE:
        file = events.wide(setting.folder, columns, WIDE_ROWS, texts=texts)
        job = Job(str(file), str(narrow), "", setting.engine, setting.epochs, str(setting.folder))
        what = f"CSV of {WIDE_ROWS:,} rows, {columns:,} {'texts' if texts else 'integers'}"
        ended = _ended(what, "wide_side", job, setting, 1, min(WIDE_LIMIT_S, setting.limit_s))
        yield _figure(what, "sources", ended, SOURCES)
        yield _figure(what, "whole run", ended)


def load(setting: Setting, count: int, keys: int) -> Iterator[Figure]:
    """The load of the word frequency's edges by the store and by plain DuckDB."""
    file = events.events(setting.folder, count, keys)
    job = Job(str(file), "", "word_freq", setting.engine, setting.epochs, str(setting.folder))
    ended = _ended("load", "load_side", job, setting, 1)
    for part in (load_side.STORE, load_side.AT_THE_END, load_side.PLAIN):
        yield _figure("load of word_freq", f"{part}, median of {load_side.TURNS}", ended, part)


FIGURES: Final[dict[str, Callable[[Setting, int, int], Iterator[Figure]]]] = {
    "example_01": example_01,
    "wide_csv": wide_csv,
    "load": load,
}


def _figure(of: str, part: str, ended: Sequence[Ended], *names: str) -> Figure:
    """The figure of the sum of these parts, or of all parts."""

    def spent(measured: Measured) -> Spent:
        return added(part, map(measured.part, names)) if names else measured.whole

    why = next((one.why for one in ended if one.why), "")
    return Figure(of, part, median(ended, spent), median(ended, spent, "cpu_s"), why)


def _ended(what: str, side: str, job: Job, setting: Setting, times: int, limit_s: float | None = None) -> list[Ended]:
    ended = []
    for _ in range(times):
        ended.append(measure(side, job, limit_s=limit_s or setting.limit_s, environ=setting.environ()))
        tell(what, ended[-1])
    return ended
