"""What another state TTL makes of a run: its records are processed again with it, and once with state that never goes.

Both repeat results that did not change, as every run with a TTL does, so whatever differs is due to expiry. Results
are compared event by event, over all sinks.
"""

from __future__ import annotations

import shutil
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from engine.contract.cancel import Cancel
from engine.contract.frames import KIND, SEQ, STEP
from engine.contract.recorder import EpochOutput, Progress
from engine.expressions.analyzer import TypeRules
from engine.model.changelog import SYMBOLS
from engine.model.options import CLOCK, expires
from engine.model.pipeline import Pipeline
from engine.model.printing import printable
from engine.model.state_ttl import with_ttl
from engine.model.timeline import MIN_WATERMARK
from engine.planner import Plan, plan
from engine.running import Collected
from engine.runtime import Intake, run
from engine.runtime.edges.event_hashes import compared, hashed
from engine.spark.cancelling import cancellable
from engine.spark.run_files import LocalFiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHARE: Final = 0.999
"""A TTL is long enough if the results of this share of the events are those without expiry."""
_SHOWN: Final = 12
_S, _MIN, _H, _DAY = 1000, 60_000, 3_600_000, 86_400_000
_ROUND_MS: Final = (
    *(number * unit for unit in (1, 10, 100) for number in (1, 2, 5)),
    *(number * unit for unit in (_S, _MIN) for number in (1, 2, 3, 5, 10, 15, 20, 30, 45)),
    *(number * _H for number in (1, 2, 3, 4, 6, 8, 12, 18)),
    *(number * _DAY for number in (1, 2, 3, 5, 7, 10, 14, 21, 30, 45, 60, 90, 180, 365)),
)
"""The TTLs among which the smallest sufficient one is looked for."""


@dataclass(frozen=True)
class Result:
    """A record that a sink received. kind: as a text. columns, values: of the record."""

    node: str
    kind: str
    columns: tuple[str, ...]
    values: tuple[Any, ...]


@dataclass(frozen=True)
class TtlTrial:
    """What a TTL makes of a run. ttl_ms: 0 for state that never goes.

    entries, size: the most entries that all operators held at once, and their bytes. expired: entries, of all events.
    events: those with results, with it or without expiry; changed: those whose results differ. first: the first one,
    with the results that came out for it, and that would have come out otherwise.
    """

    ttl_ms: int
    entries: int
    size: int
    expired: int
    events: int = 0
    changed: int = 0
    first: int | None = None
    came: tuple[Result, ...] = ()
    otherwise: tuple[Result, ...] = ()

    @property
    def share(self) -> float:
        """The share of events whose results differ."""
        return self.changed / self.events if self.events else 0.0

    @property
    def suffices(self) -> bool:
        """Whether expiry changes nothing for SHARE of the events."""
        return self.share <= 1 - SHARE + 1e-12


def next_to_try(trials: Sequence[TtlTrial], span_ms: int) -> int | None:
    """The round TTL in ms to try next for the smallest one that suffices; None once it is known.

    It is looked for by halves: a longer TTL is taken to change no more than a shorter one. span_ms: a TTL above it
    changes nothing.
    """
    with_ttl = [trial for trial in trials if trial.ttl_ms]
    enough = min((trial.ttl_ms for trial in with_ttl if trial.suffices), default=None)
    if enough is None:
        return next((ttl_ms for ttl_ms in _ROUND_MS if ttl_ms > span_ms), None)
    short = max((trial.ttl_ms for trial in with_ttl if not trial.suffices and trial.ttl_ms < enough), default=0)
    between = [ttl_ms for ttl_ms in _ROUND_MS if short < ttl_ms < enough]
    return between[len(between) // 2] if between else None


def smallest(trials: Sequence[TtlTrial]) -> TtlTrial | None:
    """The tried TTL that is the smallest sufficient one; None if none suffices."""
    return min(
        (trial for trial in trials if trial.ttl_ms and trial.suffices), key=lambda each: each.ttl_ms, default=None
    )


@dataclass
class TtlTrials:
    """Tries TTLs on the records of a run, and has the files of the run that never forgets.

    pipeline: on recordings of the run's sources. work: a folder that the engine's workers see; the caller removes it.
    time_at: the recorded clock at an event, up to last_seq. progress: of the trial that goes on.
    """

    pipeline: Pipeline
    spark: SparkSession
    folder: Path
    work: Path
    time_at: Callable[[int], int]
    last_seq: int
    cancel: Cancel = field(default_factory=Cancel)
    progress: Progress = field(default_factory=Progress)
    _free: _Ran | None = None
    _events: int | None = None
    _intake: Intake | None = None

    @property
    def span_ms(self) -> int:
        """How far the clock moves: what is written is never older."""
        first = bisect_left(range(self.last_seq), True, key=lambda seq: self.time_at(seq + 1) != MIN_WATERMARK) + 1
        return self.time_at(self.last_seq) - self.time_at(first) if first <= self.last_seq else 0

    def free(self) -> TtlTrial:
        """The run with state that never goes. Raises StudioError."""
        return self._trial(0, self._unforgetting())

    def tried(self, ttl_ms: int) -> TtlTrial:
        """The run with this TTL, compared with that without expiry. Raises StudioError."""
        free = self._unforgetting()
        if ttl_ms > self.span_ms:
            return replace(self._trial(ttl_ms, free), events=self._events_of(free))
        ran = self._run(self._expiring(ttl_ms), f"ttl-{ttl_ms}")
        try:
            with self._comparing():
                return self._trial(ttl_ms, ran, free)
        finally:
            shutil.rmtree(ran.files.folder, ignore_errors=True)

    def _expiring(self, ttl_ms: int) -> Pipeline:
        """The pipeline with this TTL, and with a clock."""
        options = with_ttl(self.pipeline, ttl_ms).options
        if not expires(options):
            options = {name: value for name, value in options.items() if name != CLOCK.name}
        return with_ttl(self.pipeline, 0).model_copy(update={"options": options})

    @contextmanager
    def _comparing(self) -> Iterator[None]:
        self.progress.phase = "comparing the results"
        try:
            with cancellable(self.spark, f"compare-{uuid4().hex}", self.cancel):
                yield
        except Exception as error:
            if self.cancel.is_set():
                raise self.cancel.error() from error
            raise

    def _events_of(self, free: _Ran) -> int:
        """The events with results, counted once for all TTLs that change none."""
        if self._events is None:
            with self._comparing():
                hashes = free.hashes(self.spark)
                self._events = compared(self.spark, free.files.workspace, hashes, hashes, self.last_seq).events
        return self._events

    def _unforgetting(self) -> _Ran:
        if self._free is None:
            options = {**with_ttl(self.pipeline, _DAY).options, CLOCK.name: "NONE"}
            endless = with_ttl(self.pipeline, 0).model_copy(update={"options": options})
            self._free = self._run(endless, "free")
        return self._free

    def _run(self, pipeline: Pipeline, name: str) -> _Ran:
        self.progress = Progress()
        planned = plan(pipeline, TypeRules(), self.folder)
        if self._intake is None:
            self._intake = Intake(plan(self._expiring(_DAY), TypeRules(), self.folder))
        files = LocalFiles(self.work / name)
        output = _Measured(files)
        run(
            planned,
            spark=self.spark,
            recorder=output,
            folder=self.folder,
            files=files,
            progress=self.progress,
            cancel=self.cancel,
            intake=self._intake,
        )
        return _Ran(planned, output, files)

    def _trial(self, ttl_ms: int, ran: _Ran, free: _Ran | None = None) -> TtlTrial:
        entries, size, expired = ran.output.most(self.time_at)
        if free is None:
            return TtlTrial(ttl_ms, entries, size, expired)
        hashes, of_free = ran.hashes(self.spark), free.hashes(self.spark)
        comparison = compared(self.spark, ran.files.workspace, hashes, of_free, self.last_seq)
        came, otherwise = (() if comparison.first is None else run.results(comparison.first) for run in (ran, free))
        counts = comparison.events, comparison.changed, comparison.first
        return TtlTrial(ttl_ms, entries, size, expired, *counts, came, otherwise)


class _Measured(Collected):
    """A recorder that can tell the size of the state."""

    def most(self, time_at: Callable[[int], int]) -> tuple[int, int, int]:
        """The most entries of all operators at once, their bytes then, and how many entries have expired so far."""
        return most_held(self._outputs, time_at)


def most_held(outputs: Sequence[EpochOutput], time_at: Callable[[int], int]) -> tuple[int, int, int]:
    """The most entries at any point of these epochs, their bytes then, and how many entries have expired at the end."""
    changes: dict[int, Counter[str]] = defaultdict(Counter)
    later: Counter[tuple[int, str]] = Counter()
    each_bytes: dict[str, float] = {}
    expired = 0
    for held in (held for output in outputs for held in output.held):
        kinds = range(len(held.kinds))
        for at, seq in enumerate(held.seqs):
            changes[seq][held.node] += sum(held.entries[kind][at] for kind in kinds)
            expired += sum(held.expired[kind][at] for kind in kinds)
        for kind, time_ms, number in held.later:
            later[time_ms, held.node] += number if kind < len(held.kinds) else 0
        if held.of_entries:
            each_bytes[held.node] = held.size / held.of_entries
    now: Counter[str] = Counter()
    most: Mapping[str, int] = {}
    waiting = sorted(later.items(), reverse=True)
    for seq in sorted(changes):
        now.update(changes[seq])
        while waiting and waiting[-1][0][0] <= time_at(seq):
            (_, node), number = waiting.pop()
            now[node] -= number
            expired += number
        if now.total() > sum(most.values()):
            most = dict(now)
    size = sum(each_bytes.get(node, 0.0) * number for node, number in most.items())
    return sum(most.values()), round(size), expired


@dataclass
class _Ran:
    plan: Plan
    output: _Measured
    files: LocalFiles
    _hashes: tuple[str, ...] | None = None

    def hashes(self, spark: SparkSession) -> tuple[str, ...]:
        """The files of `engine.runtime.edges.event_hashes`."""
        if self._hashes is None:
            edges = [self.output.records(node.id) for node in self.plan.sinks]
            self._hashes = hashed(spark, self.files.workspace, edges)
        return self._hashes

    def results(self, seq: int) -> tuple[Result, ...]:
        """The first records that sinks received for an event."""
        shown = []
        for node in self.plan.sinks:
            names = node.schema.names
            batches = [
                batch.filter(pc.equal(batch.column(SEQ), seq))
                for epoch in self.output.records(node.id)
                for file in epoch.files
                for batch in epoch.batches(self.files.workspace, file, [SEQ, STEP, KIND, *names])
            ]
            rows = pa.Table.from_batches(batches).sort_by(STEP).slice(0, _SHOWN) if batches else None
            if rows is not None and rows.num_rows:
                values = zip(*(printable(rows.column(name)) for name in names), strict=True)
                kinds = rows.column(KIND).to_pylist()
                shown += [Result(node.id, SYMBOLS[kind], names, row) for kind, row in zip(kinds, values, strict=True)]
        return tuple(shown)
