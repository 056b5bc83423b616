"""The events of a live run: epoch by epoch the new data of the sources, until the run is stopped or all have ended.

    positions --poll--> Decision --read--> units --ingest--> one epoch's events --run--> commit, Checkpoint

An epoch without input is skipped. An epoch's input is decided before it is read, and the decision is stored with the
epoch. Within the epoch, records are in the pipeline's order of arrival.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from engine.contract.live import Checkpoint, Decision, Live, Wish
from engine.contract.operator import Operator
from engine.contract.recorder import LiveProgress, SourceProgress
from engine.contract.scan import Scan
from engine.contract.source import Source
from engine.contract.step import Keyed
from engine.contract.stream import Limit, Stream, Taken
from engine.errors import PipelineError
from engine.model.combined_watermark import Standing
from engine.planner import NodePlan, Plan
from engine.reading.servers.kept_messages import ForNow, cut_out
from engine.runtime.arrivals.idleness import Idleness
from engine.runtime.arrivals.ingest import EPOCH, EpochEvents, ingest
from engine.runtime.arrivals.intake import Given, take_in
from engine.runtime.arrivals.state import ArrivalState
from engine.runtime.context import RunContext
from engine.runtime.epoch import Kept
from engine.runtime.keyed.states import StateFile
from engine.runtime.outbox import Outbox
from engine.runtime.steps import step_of
from engine.spark.workspace import Workspace

if TYPE_CHECKING:
    pass

# The target duration of an epoch. Its input is halved after a longer one, and doubled if more is waiting.
_TARGET_S: Final = 5.0
_FIRST: Final = Limit(100_000, 16 << 20)
_MOST: Final = Limit(EPOCH, 512 << 20)
_LEAST: Final = Limit(1000, 1 << 20)
# Half of the time the machine is left to other processes.
_LOAD: Final = 2.0
_SHORTEST_S: Final = 0.2
_LONGEST_S: Final = 30.0
# The intervals of polling the sources if none had data, and of contacting the engine if there was nothing to run: an
# unused session expires, and a lost engine should be noticed before records arrive.
_ASK_S: Final = 0.2
_PING_S: Final = 10.0
# The version of states since which those that expire have their form.
_EXPIRES_SINCE: Final = 4


class LiveEvents:
    """The epochs of a live run. The caller commits each epoch before it asks for the next."""

    def __init__(self, run: RunContext, live: Live) -> None:
        check(run.plan)
        self._run, self._live = run, live
        self._streams: dict[str, Stream[Source]] = {
            node.id: _source(node).stream(node.id, run.folder, live.name) for node in run.plan.sources
        }
        begun = live.checkpoint
        self._before = ArrivalState() if begun is None else ArrivalState.from_json(begun.before)
        _require_its_layout(run.plan, self._before)
        self._positions = {} if begun is None else dict(begun.positions)
        self._ended = [] if begun is None else list(begun.ended)
        self._epoch = 0 if begun is None else begun.epoch + 1
        self._limit = _FIRST
        self._behind = False
        self._is_held = False
        self._seconds = 0.0
        self._decision = Decision({})
        self._synced: frozenset[str] = frozenset()
        self._idleness = Idleness.of(run.plan)
        self._held: frozenset[str] = frozenset()
        self._sent: dict[str, ForNow] = {}
        self.can_be_idle = self._idleness.can_be_idle
        self.was_stopped = False

    @property
    def decision(self) -> str:
        """The decision of the current epoch."""
        return self._decision.to_json()

    def epochs(self) -> Generator[EpochEvents, None, None]:
        """The epochs, until the sources have ended or the run is stopped. Its end closes the sources."""
        try:
            yield from self._epochs()
        finally:
            for stream in self._streams.values():
                stream.close()

    def _epochs(self) -> Iterator[EpochEvents]:
        while any(node.id not in self._ended for node in self._run.plan.sources):
            decision = self._next()
            if decision is None:
                self.was_stopped = True
                return
            self._decision = decision
            self._ended += [name for name in decision.ended if name not in self._ended]
            self._say("running", {})
            began = time.monotonic()
            yield from self._taken_in(decision)
            self._epoch += 1
            self._live.control.stepped()
            self._note(time.monotonic() - began)

    def checkpoint(self, events: EpochEvents, kept: Kept, outbox: Outbox) -> str:
        """The state that the run needs to continue after this epoch. Its files are on disk."""
        states = {
            node: [{**asdict(file), "path": self._own_folder.inside(file.path)} for file in files]
            for node, files in kept.states.items()
        }
        bundles = {node: [self._own_folder.inside(path) for path in paths] for node, paths in kept.bundles.items()}
        # Spark does not sync files: the store must not name a file that a power failure would lose.
        needed = kept.paths | outbox.paths
        self._run.files.sync(needed - self._synced)
        self._synced = needed
        after = events.ingested.after
        arrival_state = after.to_json()
        marks = {name: standing.to_json() for name, standing in kept.marks.items()}
        return Checkpoint(
            events.number, arrival_state, self._positions, self._ended, states, bundles, marks, outbox.to_json()
        ).to_json()

    def kept(self) -> Kept:
        """The state files with which the run continues."""
        begun = self._live.checkpoint
        if begun is None:
            return Kept({}, {})
        place = self._own_folder.place
        return Kept(
            {
                node: tuple(StateFile.from_json({**file, "path": place(file["path"])}) for file in files)
                for node, files in begun.states.items()
            },
            {node: tuple(map(place, paths)) for node, paths in begun.bundles.items()},
            {name: Standing.from_json(mark) for name, mark in begun.marks.items()},
        )

    def sweep(self, needed: frozenset[str]) -> None:
        """Delete the run's files but those that are still needed, also those of failed attempts."""
        self._run.files.forget()
        self._run.files.sweep(needed)

    @property
    def _own_folder(self) -> Workspace:
        """The folder of the run, which contains the folder of this attempt."""
        return self._run.files.workspace.around

    def _next(self) -> Decision | None:
        """The input of the next epoch; None for no further epoch."""
        decisions = self._live.decisions
        if decisions is not None:
            return decisions[self._epoch] if self._epoch < len(decisions) else None
        control, due = self._live.control, time.monotonic() + self._pause_s()
        heard = time.monotonic()
        while True:
            if time.monotonic() - heard > _PING_S:
                self._run.spark.conf.get("spark.sql.session.timeZone")
                heard = time.monotonic()
            self._run.check_cancelled()
            wish = control.wish
            if wish is Wish.STOP:
                return None
            if wish is Wish.GO and (control.is_paused or time.monotonic() < due):
                self._hold(control.is_paused)
                if control.is_paused:
                    self._idleness.hold()
                control.wait(_ASK_S if control.is_paused else min(_ASK_S, max(0.0, due - time.monotonic())))
                continue
            self._hold(False)
            taken = self._poll(ending=wish is Wish.END)
            if self._is_stopping() and any(intake.position is None for intake in taken.values()):
                # A source has not begun, and what was taken of the others would lack its records.
                continue
            self._behind = any(intake.behind for intake in taken.values())
            self._say("running", taken)
            self._positions |= {name: intake.position for name, intake in taken.items()}
            self._ended += [name for name, intake in taken.items() if intake.is_end or wish is Wish.END]
            took = {name: intake.what for name, intake in taken.items() if intake.what is not None}
            idle = self._idleness.newly_idle(self._before, self._ended, self._held, took, _now_ms())
            if took or idle or self._announced():
                ended = [name for name in self._ended if not self._before.of(name).has_ended]
                # The clock of a machine may be set back; that of a run never goes back.
                return Decision(took, ended, idle, max(_clock_ms(), self._before.now_ms or 0))
            control.wait(_ASK_S)

    def _hold(self, paused: bool) -> None:
        """Report once that the run is paused."""
        if paused != self._is_held:
            self._is_held = paused
            self._run.recorder.pause(paused=paused)
        if paused or self._run.progress.live is None or self._run.progress.live.state != "running":
            self._say("paused" if paused else "waiting", {})

    def _poll(self, *, ending: bool) -> dict[str, Taken]:
        limit = Limit(1 << 60, 1 << 60) if ending else self._limit
        if self._live.records is not None and not ending:
            limit = Limit(self._live.records, _MOST.bytes)
        now_ms = _now_ms()
        self._held = frozenset() if ending else self._idleness.held(self._before, self._ended, now_ms)
        return {
            node.id: self._streams[node.id].poll(
                self._positions.get(node.id), limit, now_ms, ending=ending, is_stopping=self._is_stopping
            )
            for node in self._run.plan.sources
            if node.id not in self._ended and node.id not in self._held
        }

    def _is_stopping(self) -> bool:
        return self._run.cancel.is_set() or self._live.control.wish is Wish.STOP

    def _announced(self) -> list[str]:
        """The ended sources whose end becomes an event now; with ends together, all after the last source has ended."""
        names = [
            node.id
            for node in self._run.plan.sources
            if node.id in self._ended and not self._before.of(node.id).has_ended
        ]
        is_together = self._run.plan.pipeline.arrival.ends == "together"
        return names if not is_together or len(self._ended) == len(self._run.plan.sources) else []

    def _taken_in(self, decision: Decision) -> Iterator[EpochEvents]:
        self._run.progress.phase = "reading the sources"
        givens = [self._given(node, decision) for node in self._run.plan.sources if node.id in decision.took]
        read = take_in(givens, self._run.spark, self._run.folder, self._run.jobs, is_live=True)
        ingested = ingest(
            self._run.plan,
            self._run.spark,
            read,
            self._run.files,
            epochs=1,
            before=self._before,
            ending=self._announced(),
            idling=decision.idle,
            first_epoch=self._epoch,
            now_ms=decision.now_ms,
        )
        self._before = ingested.after
        yield from ingested

    def _given(self, node: NodePlan, decision: Decision) -> Given:
        given, clock = self._streams[node.id].read(decision.took[node.id]), self._run.plan.clock_of(node)
        if isinstance(given, Scan):
            if not self._run.files.are_here:
                # The stored messages grow with the run; the workers only receive those of the epoch.
                self._sent[node.id] = ForNow()
                given = replace(given, parts=tuple(cut_out(part, self._sent[node.id].path) for part in given.parts))
            inputs = tuple(Path(part.path) for part in given.parts if hasattr(part, "path"))
            return Given(node, _source(node), given, inputs, clock)
        return Given(node, given, None, given.inputs(node.id, self._run.folder), clock)

    def _pause_s(self) -> float:
        """The time to wait before the next epoch."""
        if self._epoch == 0 or self._behind:
            return 0.0
        if self._live.interval_ms is not None:
            return max(0.0, self._live.interval_ms / 1000 - self._seconds)
        return min(_LONGEST_S, max(_SHORTEST_S, self._seconds * (_LOAD - 1)))

    def _note(self, seconds: float) -> None:
        """Adjust the limit for the next epoch to the duration of this one."""
        self._seconds = seconds
        factor = 0.5 if seconds > _TARGET_S * 1.5 else 2.0 if self._behind and seconds < _TARGET_S / 2 else 1.0
        self._limit = Limit(
            int(min(_MOST.records, max(_LEAST.records, self._limit.records * factor))),
            int(min(_MOST.bytes, max(_LEAST.bytes, self._limit.bytes * factor))),
        )

    def _say(self, state: str, taken: dict[str, Taken]) -> None:
        """Report the state of the run."""
        sources = dict(self._run.progress.live.sources) if self._run.progress.live is not None else {}
        for name, intake in taken.items():
            before = sources[name].notes if name in sources else ()
            for note in intake.notes:
                if note not in before:
                    self._live.say(name, note)
            sources[name] = SourceProgress(intake.behind, tuple(intake.notes), is_ended=intake.is_end)
        for name, known in sources.items():
            is_idle, is_waiting = self._before.of(name).is_idle, name in self._held
            sources[name] = replace(known, is_idle=is_idle, is_waiting=is_waiting)
        self._run.progress.live = LiveProgress(state, self._seconds, self._before.last_seq, sources)


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000


def _clock_ms() -> int:
    """The time in epoch ms: only an epoch's decision asks for it, and keeps it."""
    return time.time_ns() // 1_000_000


def _require_its_layout(plan: Plan, before: ArrivalState) -> None:
    """Raise PipelineError for a run with a state that was written by a version that kept other values."""
    if not before.last_seq:
        return
    older = "the run was begun by an older version, which kept {} in another form: it cannot go on. Start a new run of"
    if plan.state_expires and (before.now_ms is None or before.layout < _EXPIRES_SINCE):
        message = f"{older.format('states with a TTL')} the pipeline."
        raise PipelineError(message, "", "options")
    for node in plan.nodes:
        step = step_of(plan, node) if isinstance(node.operator, Operator) else None
        if isinstance(step, Keyed) and before.layout < step.layout:
            message = f"{older.format('its rows')} the pipeline."
            raise PipelineError(message, node.id)


def check(plan: Plan) -> None:
    """Raise PipelineError for a plan that cannot run live."""
    if plan.pipeline.arrival.mode == "listed":
        message = (
            "arrival.mode: a live run cannot know which events will come, so nothing can list them. Choose in_turn."
        )
        raise PipelineError(message, "", "arrival.mode")


def _source(node: NodePlan) -> Source:
    assert isinstance(node.operator, Source)
    return node.operator
