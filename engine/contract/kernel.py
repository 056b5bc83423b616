"""The contract of a kernel, and the loop that feeds it key by key.

A kernel is a plain-Python state machine for ONE key at a time: it receives the key's state, then the key's records in
order of position and the timers that become due between them, and returns the state. It does not import Spark and never
reads a clock. `engine.runtime.keyed.worker` runs the same loop inside Spark; tests call `run` here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, NamedTuple, Protocol

from engine.contract.expired import Expired
from engine.contract.state_in_words import Description, Names
from engine.model.position import ORDINALS, TIMER, ordinal, timer
from engine.model.row import Row
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK, Clock, Timeline

Key = tuple[Any, ...]
Now = Callable[[int], int]
"""The run's recorded clock: the time in ms at an event."""
Entries = Sequence[tuple[int, int, int]]
"""Entries of a state, as (kind, of those that the step names; time in ms at which they expire; number)."""


class Kernel(ABC):
    """The rule of a stateful operator for one key. One instance serves all keys of a task in turn."""

    writes: bool = True
    """Whether the last call has written the state, which refreshes a state that expires (`engine.contract.expiry`)."""
    stays: bool = False
    """Whether a state that is due to expire has to stay: it then lives for as long again."""

    @abstractmethod
    def start(self, key: Key, state: Any | None) -> None:
        """Begin a key. state: the result of `finish` in the previous epoch, or None."""

    @abstractmethod
    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Process the next record. kind: an int of engine.model.changelog. row: the step's `values` of `out.port`."""

    def on_timer(self, time_ms: int, name: Any, out: Output) -> None:
        """A timer is due: the watermark has reached time_ms. Timers are called in order of time."""
        raise AssertionError(self)

    def on_bundle(self, out: Output) -> None:
        """In mini-batch: a bundle with records of this key ends; emit their result."""
        raise AssertionError(self)

    @property
    def expires_ms(self) -> int:
        """The time of the recorded clock from which on nothing is left of the state."""
        return MAX_WATERMARK

    def entries(self) -> Entries:
        """What the state holds: for entries that go at once, their kind, when they expire, and their number."""
        return () if self.finish() is None else ((0, self.expires_ms, 1),)

    @abstractmethod
    def finish(self) -> Any | None:
        """End the key: its state (plain picklable Python), or None if there is nothing to keep."""

    @abstractmethod
    def describe(self, names: Names) -> Description:
        """The current state of the key, for users. It has no side effects, and records may follow."""


class Emitted(NamedTuple):
    """One output record."""

    seq: int
    step: bytes
    kind: int
    row: Row


class Late(NamedTuple):
    """One entry of the late ledger; times in epoch ms, None without a window.

    lateness_ms: watermark - (end - 1 + allowed lateness), or watermark - event time without a window.

    is_dropped: the record had no effect at the operator, so it can be routed to the late port. used: what the record
    changed here although it was late; "" if it was dropped, or if it missed this window and others accepted it.
    """

    port: int
    seq: int
    step: bytes
    event_time_ms: int
    window_start_ms: int | None
    window_end_ms: int | None
    watermark_ms: int
    lateness_ms: int
    reason: str
    is_dropped: bool = True
    used: str = ""


class End(NamedTuple):
    """The end of a bundle, and a key's place in it, from 0."""

    seq: int
    step: bytes
    place: int


@dataclass
class Saved:
    """The state of a key between epochs: the kernel's state and its timers (time, name, origin)."""

    state: Any
    timers: list[tuple[int, Any, int, bytes]] = field(default_factory=list)


class Output:
    """The current position of a kernel and its output: records, late entries, fired windows and timers.

    Records are columns: transposing them later took a third of a cheap kernel's time. before_timer: is told its event.
    """

    def __init__(self, timeline: Clock, rank: int = 0, *, ports: int = 1, now: Now | None = None) -> None:
        self.timeline = timeline
        self._now = now
        self._now_at = (-1, MIN_WATERMARK)
        self._ends_at = 0
        self.seq = 0
        self.step = b""
        self.port = 0
        self.watermark_ms = MIN_WATERMARK
        self.seqs: list[int] = []
        self.steps: list[bytes] = []
        self.kinds: list[int] = []
        self.rows: list[Row] = []
        self.lates: list[Late] = []
        self.fired: list[tuple[int, int, int]] = []
        self.expired: list[Expired] = []
        self.before_timer: Callable[[int], None] = lambda seq: None
        self._rank = rank
        self._own_timers = TIMER + ordinal(rank)
        self._many_ports = ports > 1
        self._path = b""
        self._ordinal = 0
        self._passed_on: tuple[int, bytes] | None = None
        self._due: list[tuple[int, int, int, bytes, int]] = []
        self._timers: dict[tuple[int, Any], tuple[int, bytes]] = {}
        self._names: dict[int, Any] = {}
        self._count = 0

    def emit(self, kind: int, row: Row) -> None:
        """Emit a record, directly after the records that the current record or timer has emitted."""
        number = self._ordinal
        self._ordinal = number + 1
        self.seqs.append(self.seq)
        self.steps.append(self._path + (ORDINALS[number] if number < 240 else ordinal(number)))
        self.kinds.append(kind)
        self.rows.append(row)

    @property
    def now_ms(self) -> int:
        """The run's recorded clock, at the current record or timer; at the end of its bundle for one of a bundle."""
        at = self._ends_at or self.seq
        if self._now_at[0] != at:
            # A kernel asks several times at each record.
            assert self._now is not None, "a run with a state TTL has a clock"
            self._now_at = at, self._now(at)
        return self._now_at[1]

    @property
    def emitted(self) -> list[Emitted]:
        """The records so far, converted from columns, in which they are kept and leave the worker."""
        return [Emitted(*record) for record in zip(self.seqs, self.steps, self.kinds, self.rows, strict=True)]

    def late(
        self,
        event_time_ms: int,
        lateness_ms: int,
        reason: str,
        window: tuple[int, int] | None = None,
        *,
        is_dropped: bool = True,
        used: str = "",
    ) -> None:
        """Keep the current record in the late ledger. window: the [start, end) that it missed, or found already fired.

        is_dropped: False if another window accepts it. used: what it changes here nevertheless: it is not dropped then.
        """
        start, end = window if window else (None, None)
        at = self.port, self.seq, self.step, event_time_ms, start, end, self.watermark_ms
        self.lates.append(Late(*at, lateness_ms, reason, is_dropped and not used, used))

    def window_fired(self, start_ms: int, end_ms: int) -> None:
        """Record that the window [start, end) fired now, for the timeline."""
        self.fired.append((self.seq, start_ms, end_ms))

    def set_timer(self, time_ms: int, name: Any = None, origin: tuple[int, bytes] | None = None) -> None:
        """Call `on_timer` once the watermark reaches time_ms. Equal times and names are one timer.

        Timers of one operator fire by time, then by the position of the record that first set them; of timers that
        set one another, the second one's is passed on, or paths would grow without end. origin: the (seq, step) of an
        earlier record to use instead, if a window moves its timer (a growing session).
        """
        if (time_ms, name) not in self._timers:
            origin_seq, origin_step = origin or self._passed_on or (self.seq, self.step)
            self._arm(time_ms, name, origin_seq, origin_step)

    def delete_timer(self, time_ms: int, name: Any = None) -> None:
        """Delete a timer, if it exists."""
        self._timers.pop((time_ms, name), None)

    def _arm(self, time_ms: int, name: Any, origin_seq: int, origin_step: bytes, after_seq: int | None = None) -> None:
        self._timers[time_ms, name] = (origin_seq, origin_step)
        due = self.timeline.due(time_ms, self.seq if after_seq is None else after_seq)
        if due is not None:
            self._count += 1
            self._names[self._count] = name
            heappush(self._due, (due, time_ms, origin_seq, origin_step, self._count))

    def _start(self, timers: Iterable[tuple[int, Any, int, bytes]]) -> None:
        self._due.clear()
        self._timers.clear()
        self._names.clear()
        for time_ms, name, origin_seq, origin_step in timers:
            self._arm(time_ms, name, origin_seq, origin_step, after_seq=0)

    def _left(self) -> list[tuple[int, Any, int, bytes]]:
        return [(time_ms, name, *origin) for (time_ms, name), origin in self._timers.items()]

    def _fire_before(self, kernel: Kernel, seq: int | None) -> None:
        """Fire the timers that are due before the event `seq`, or all that are due in this epoch."""
        due = self._due
        while due and (seq is None or due[0][0] < seq):
            at, time_ms, origin_seq, origin_step, number = heappop(due)
            name = self._names.pop(number)
            if self._timers.get((time_ms, name)) != (origin_seq, origin_step):
                continue
            del self._timers[time_ms, name]
            path = timer(self._rank, time_ms, origin_seq, origin_step)
            self.before_timer(at)
            # Two timers of one record for one time share the path, so their ordinals continue.
            goes_on = path == self._path and at == self.seq
            self.seq, self.step, self._path = at, path, path
            self.watermark_ms = self.timeline.at(at)
            self._ordinal = self._ordinal if goes_on else 0
            is_second = origin_step.startswith(self._own_timers)
            self._passed_on = (origin_seq, origin_step) if is_second else None
            kernel.on_timer(time_ms, name, self)
            self._passed_on = None


class Loop(Protocol):
    """Feeds a kernel one key after the other: `KeyLoop`, or `engine.columnar.in_process.ChunkLoop`."""

    out: Output

    def key(self, key: Key, saved: Saved | None) -> None:
        """Begin a key with its saved state."""

    def record(self, seq: int, step: bytes, port: int, kind: int, row: Row, watermark_ms: int) -> None:
        """Pass the next record."""

    def record_of_bundle(self, seq: int, step: bytes, port: int, kind: int, row: Row, end: End) -> None:
        """Pass the next record of a bundle."""

    def fire_until(self, seq: int) -> None:
        """Fire what is due up to an event, including its own watermark. Later records may follow."""

    def describe(self, names: Names) -> Description:
        """The current state of the key, for users."""

    def waits(self) -> tuple[int, ...]:
        """The watermarks in ms that the key waits for."""

    def entries(self) -> Entries:
        """What the state of the key holds, if it expires."""

    def end(self) -> Saved | None:
        """Fire all that is due in this epoch, and return the state to save."""


class KeyLoop:
    """Feeds a kernel: `key` begins a key, `record` passes the next record, `end` closes the key."""

    def __init__(self, kernel: Kernel, out: Output) -> None:
        self.kernel = kernel
        self.out = out
        self._bundle: End | None = None

    def key(self, key: Key, saved: Saved | None) -> None:
        """Begin a key with its saved state."""
        self.out._start(saved.timers if saved else ())
        self.kernel.start(key, saved.state if saved else None)

    def record(self, seq: int, step: bytes, port: int, kind: int, row: Row, watermark_ms: int) -> None:
        """Fire the timers that are due before the record's event, then pass the record to the kernel."""
        out = self.out
        if out._due:
            out._fire_before(self.kernel, seq)
        out.seq = seq
        out.step = step
        out.port = port
        out.watermark_ms = watermark_ms
        out._path = step + ORDINALS[port] if out._many_ports else step
        out._ordinal = 0
        self.kernel.on_record(kind, row, out)

    def record_of_bundle(self, seq: int, step: bytes, port: int, kind: int, row: Row, end: End) -> None:
        """Pass a record of a bundle to the kernel, after ending the previous bundle."""
        bundle = self._bundle
        if bundle is None or bundle.seq != end.seq or bundle.step != end.step:
            self._end_bundle()
            self._bundle = end
        out = self.out
        out.seq = seq
        out.step = step
        out.port = port
        out._ends_at = end.seq
        self.kernel.on_record(kind, row, out)

    def _end_bundle(self) -> None:
        end, out = self._bundle, self.out
        if end is None:
            return
        self._bundle = None
        out.seq, out.step = end.seq, end.step
        out._path = end.step + ordinal(end.place)
        out._ordinal = 0
        self.kernel.on_bundle(out)

    def fire_until(self, seq: int) -> None:
        """Fire the timers that are due up to an event, including its own watermark. Later records may follow."""
        self._end_bundle()
        self.out._fire_before(self.kernel, seq + 1)

    def describe(self, names: Names) -> Description:
        """The current state of the key, for users."""
        return self.kernel.describe(names)

    def waits(self) -> tuple[int, ...]:
        """The times in ms of the key's timers."""
        return tuple(sorted({time_ms for time_ms, *_ in self.out._left()}))

    def entries(self) -> Entries:
        """What the state of the key holds."""
        return self.kernel.entries()

    def end(self) -> Saved | None:
        """Fire all timers that are due in this epoch, and return the state to save."""
        self._end_bundle()
        self.out._fire_before(self.kernel, None)
        state = self.kernel.finish()
        timers = self.out._left()
        return Saved(state, timers) if state is not None or timers else None


class Input(NamedTuple):
    """One input record, as written in tests. end: of its bundle, in mini-batch."""

    seq: int
    kind: int
    row: Row
    port: int = 0
    step: bytes = b""
    end: End | None = None


def run(
    kernel: Kernel,
    inputs: Iterable[Input],
    timeline: Timeline | None = None,
    *,
    key: Key = (),
    saved: Saved | None = None,
    rank: int = 0,
    ports: int = 1,
    now: Now | None = None,
) -> tuple[Output, Saved | None]:
    """Run one key through a kernel without Spark. Returns the output, in order of position, and the saved state."""
    line = timeline or Timeline.of([])
    out = Output(line, rank, ports=ports, now=now)
    return out, run_key(KeyLoop(kernel, out), inputs, line, key, saved)


def run_key(loop: Loop, inputs: Iterable[Input], timeline: Timeline, key: Key, saved: Saved | None) -> Saved | None:
    """Pass the records of one key to a loop. Returns the saved state."""
    loop.key(key, saved)
    for item in inputs:
        if item.end is not None:
            loop.record_of_bundle(item.seq, item.step, item.port, item.kind, item.row, item.end)
        else:
            loop.record(item.seq, item.step, item.port, item.kind, item.row, timeline.at(item.seq - 1))
    return loop.end()
