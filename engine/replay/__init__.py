"""An operator's state for one key as of an event: its kernel, run again over the stored records of a run.

    question    the query to the store: the key, and the records of which edges
    clock       the operator's watermark, looked up for each timer

The records of one key determine its state, so nothing else is read, and the result is that of the run. Keys
and values are those of `engine.local`, bundles those of `engine.mini_batch.bundles`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.contract.kernel import Emitted, Key, Loop, Saved
from engine.contract.state_in_words import Description, Label, Names, instant, state_table
from engine.local.jobs import Spark
from engine.local.keyed import Gathered, gather, key_order, loop_of, plain_loop, rows_in_instants
from engine.mini_batch.bundles import Bundles, KeyedRecord, flushes
from engine.mini_batch.kernels import held_back
from engine.model.combined_watermark import NOTHING
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK, Clock, Timeline
from engine.model.types import Timestamp
from engine.replay.clock import Marks, clock_of, whole_timeline
from engine.replay.question import KeyedNode, keyed_node, keyed_nodes
from engine.runtime.keyed.local_times import LocalTimes

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Going", "KeyedNode", "Marks", "Replay", "Replayed", "keyed_node", "keyed_nodes"]


class Going(NamedTuple):
    """Entries of a key's state, and when they go. kind: as the step names them. ttl_ms: how long such entries live."""

    kind: str
    number: int
    expires_ms: int
    ttl_ms: int


@dataclass(frozen=True)
class Replayed:
    """A key's state as of an event. key: in the kernel's form. records: the number of the key's records so far.

    goes: the entries that expire, or have and were not met yet. now_ms: the recorded clock, if there are such.
    """

    key: Key
    event: int
    records: int
    state: Description
    goes: tuple[Going, ...] = ()
    now_ms: int = MIN_WATERMARK


class Replay:
    """The replay of one key of a node: records are passed in order, and the state can be read in between.

    last_seq: there are no records and timers after this event. Only the kernel's state is kept.
    """

    def __init__(self, node: KeyedNode, marks: Marks, last_seq: int) -> None:
        self._node = node
        step = node.step
        above = node.plan.above if step.uses_time else NOTHING
        self._last_seq = last_seq
        self._clock: Clock
        if step.kernel is not None:
            self._clock = clock_of(marks, above, last_seq)
            if step.zone is not None:
                self._clock = step.zone.clock(self._clock)
            rank, ports = node.plan.rank, len(step.inputs)
            self._loop: Loop = plain_loop(step.kernel, self._clock, rank=rank, ports=ports, now=marks.time_at)
        else:
            line = whole_timeline(marks, above, last_seq)
            self._clock = line = line if step.zone is None else step.zone.timeline(line)
            self._loop = loop_of(node.plan, step, line, marks.time_at if any(node.ttls_ms) else None)
        self._out = self._loop.out
        self._key: Key | None = None
        self._labels: tuple[tuple[Label, ...], ...] = ((),) * len(step.inputs)
        self._marks = marks
        self._bundled: list[KeyedRecord] = []
        self._bundled_until = 0
        self.records = 0

    def feed(self, records: Mapping[int, pa.Table], key: Sequence[Any] | None, until: int, spark: Spark) -> None:
        """Pass the next records, of events up to `until`; in mini-batch pass all records at first, then none.

        key: the values of the key's expressions; None: all records have one key. records: by input, with SEQ,
        STEP, KIND and its columns, including the key's. spark: only used for expressions that need it.
        """
        self._forget_emitted()
        if self._node.is_bundled:
            self._feed_bundles(records, key, until, spark)
            return
        for of_key, record in self._gathered(records, spark).records:
            if record.seq <= until and (key is None or is_same(of_key, key)):
                self._begin(of_key)
                watermark_ms = self._clock.at(record.seq - 1) if self._node.step.uses_time else MIN_WATERMARK
                self._loop.record(record.seq, record.step, record.port, record.kind, record.row, watermark_ms)

    def _feed_bundles(
        self, records: Mapping[int, pa.Table], key: Sequence[Any] | None, until: int, spark: Spark
    ) -> None:
        """Pass the ended bundles of the current and earlier records to the kernel."""
        step, plan = self._node.step, self._node.plan
        assert step.bundling is not None
        if records:
            gathered = self._gathered(records, spark)
            lines = self._timelines()
            firsts = {source: first for source in lines if (first := self._marks.first(source)) is not None}
            ends = flushes(plan.inputs, lines, self._node.by_time, firsts, self._marks.idle)
            bundles = Bundles(step.bundling, ends, plan.rank)
            hash_by = key_order(plan, step, gathered.key_types)
            bundled = bundles.bundled(gathered.records, len(step.inputs), hash_by)
            self._bundled = [keyed for keyed in bundled if key is None or is_same(keyed.key, key)]
        for of_key, record in self._bundled:
            if record.end is not None and self._bundled_until < record.end.seq <= until:
                self._begin(of_key)
                self._loop.record_of_bundle(record.seq, record.step, record.port, record.kind, record.row, record.end)
        self._bundled_until = until

    def _timelines(self) -> dict[str, Timeline]:
        """The complete watermarks of the sources up to the last event: in mini-batch they have few steps."""
        sources = {source for input_ in self._node.plan.inputs for source in input_.derived.holdbacks}
        return {source: self._marks.line(source, self._last_seq) for source in sources}

    def _begin_with_what_is_held(self, event: int) -> None:
        """Begin a key whose records so far are all in an open bundle: it has no state yet, only buffered records."""
        first = next((key for key, record in self._bundled if record.seq <= event), None)
        if first is not None:
            self._key = first
            self._loop.key(first, None)

    def _begin(self, key: Key) -> None:
        if self._key is None:
            self._key = key
            self._loop.key(key, None)
        self.records += 1

    def _gathered(self, records: Mapping[int, pa.Table], spark: Spark) -> Gathered:
        """The records of all inputs in order of position."""
        gathered = gather(self._node.plan, self._node.step, records, spark)
        self._labels = gathered.labels or self._labels
        return gathered

    def state(self, event: int) -> Replayed | None:
        """The state after an event, which is at or after the last passed one; None without a record."""
        if self._key is None:
            self._begin_with_what_is_held(event)
        if self._key is None:
            return None
        self._loop.fire_until(event)
        names = self._names()
        described = (*self._loop.describe(names), *_timers(self._loop.waits()))
        held = (
            (record.port, record.kind, record.row)
            for _, record in self._bundled
            if record.seq <= event and (record.end is None or record.end.seq > event)
        )
        goes = self._goes()
        now_ms = self._marks.time_at(event) if goes else MIN_WATERMARK
        return Replayed(self._key, event, self.records, (*described, *held_back(held, names)), goes, now_ms)

    def _goes(self) -> tuple[Going, ...]:
        ttls_ms, kinds, loop = self._node.ttls_ms, self._node.step.holds, self._loop
        if not any(ttls_ms):
            return ()
        by_kind = dict(enumerate(ttls_ms)) if len(ttls_ms) == len(kinds) else {}
        return tuple(
            Going(kinds[kind], number, expires_ms, by_kind.get(kind, ttls_ms[0]))
            for kind, expires_ms, number in loop.entries()
            if expires_ms != MAX_WATERMARK
        )

    @property
    def emitted(self) -> tuple[Emitted, ...]:
        """The output of the operator since the last call of `feed`."""
        allowed = {int(kind) for kind in self._node.plan.mode}
        records = [record for record in self._out.emitted if record.kind in allowed]
        step = self._node.step
        times = None if step.zone is None else LocalTimes(step.zone, step.in_zone, lambda: Timeline.of([]))
        return tuple(records if times is None else rows_in_instants(records, times))

    def end(self) -> Saved | None:
        """End the key and return its saved state, as a run keeps it between epochs."""
        return self._loop.end() if self._key is not None else None

    def _forget_emitted(self) -> None:
        out = self._out
        for buffer in (out.seqs, out.steps, out.kinds, out.rows, out.lates, out.fired):
            buffer.clear()

    def _names(self) -> Names:
        output = tuple(Label(column.name, isinstance(column.type, Timestamp)) for column in self._node.plan.schema)
        return Names(self._labels, output)


def is_same(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether two keys are the same: NULL equals NULL, NaN equals NaN, a string equals the value it shows."""
    return len(one) == len(other) and all(
        a == b or (a != a and b != b) or (isinstance(b, str) and a is not None and str(a) == b)
        for a, b in zip(one, other, strict=True)
    )


def _timers(times: Sequence[int]) -> Description:
    if not times:
        return ()
    note = "The operator wakes up for this key when the watermark reaches these times."
    return (state_table("Timers", ("at",), [(instant(time_ms),) for time_ms in times], note),)
