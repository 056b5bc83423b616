"""An operator's state for one key as of an event: its own kernel, driven again by what a run kept.

    question    which key, which records: what has to be asked of the store
    bundles     mini-batch: which bundle a record belongs to, and where that ends
    values      the records' keys and values, as the step's expressions make them
    clock       the watermark that the operator saw, looked up where a timer asks for it

The records of one key decide its state, so nothing else is read; what comes of it is what the run came to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.described import Description, Label, Names, instant, state_table
from engine.kernel import Emitted, End, Key, KeyLoop, Output, Saved
from engine.kernels.binary_row import hash_of, row_encoder
from engine.kernels.bundles import held_back
from engine.planner.derive import merge_holdbacks
from engine.position import ORDINALS
from engine.replay.bundles import Bundles
from engine.replay.clock import Marks, RunClock
from engine.replay.question import KeyedNode, Spark, keyed_node, keyed_nodes
from engine.replay.values import Record, values_of
from engine.runtime.keyed import hashed_order
from engine.timeline import MAX_WATERMARK, MIN_WATERMARK, Timeline, combine

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["KeyedNode", "Marks", "Replay", "Replayed", "keyed_node", "keyed_nodes"]


@dataclass(frozen=True)
class Replayed:
    """A key's state. key: as the kernel knows it. event: as of which; records: how many of the key there were."""

    key: Key
    event: int
    records: int
    state: Description


class Replay:
    """The replay of one key of a node: records are handed in, in order, and the state is told in between.

    last_seq: no record and no timer after this event comes. Nothing is kept but the kernel's own state.
    """

    def __init__(self, node: KeyedNode, marks: Marks, last_seq: int) -> None:
        self._node = node
        step = node.step
        holdbacks = merge_holdbacks(tuple(given.derived for given in node.plan.inputs)) if step.uses_time else {}
        self._clock = RunClock(marks, holdbacks, last_seq)
        self._out = Output(self._clock, node.plan.rank, ports=len(step.inputs))
        self._loop = KeyLoop(step.kernel(), self._out)
        self._key: Key | None = None
        self._labels: dict[int, tuple[Label, ...]] = {}
        self._key_types: tuple[str, ...] = ()
        self._marks = marks
        self._bundled: list[tuple[End | None, Record, int]] = []
        self._bundled_until = 0
        self.records = 0

    def feed(self, records: Mapping[int, pa.Table], key: Sequence[Any] | None, until: int, spark: Spark) -> None:
        """Hand in the next records, of events up to one; in mini-batch all at once, and then only go on.

        key: as the records' expressions make it; None: all records are of one key. records: by input `__seq`,
        `__step`, `__kind` and its columns, the key's among them. spark: asked only for what is more than columns.
        """
        self._forget_emitted()
        if self._node.is_bundled:
            self._feed_bundles(records, key, until, spark)
            return
        for record, port in self._in_order(records, spark):
            if record.seq <= until and (key is None or is_same(record.key, key)):
                self._begin(record.key)
                watermark_ms = self._clock.at(record.seq - 1) if self._node.step.uses_time else MIN_WATERMARK
                self._loop.record(record.seq, record.step, port, record.kind, record.row, watermark_ms)

    def _feed_bundles(
        self, records: Mapping[int, pa.Table], key: Sequence[Any] | None, until: int, spark: Spark
    ) -> None:
        """Hand in the bundles that have ended, of records that were handed in now or before."""
        bundling = self._node.step.bundling
        assert bundling is not None
        if records:
            found = self._in_order(records, spark)
            ports = len(self._node.step.inputs)
            positions = [
                (record.seq, record.step + ORDINALS[port] if ports > 1 else record.step) for record, port in found
            ]
            keys = [record.key for record, _ in found]
            bundles = Bundles(bundling, self._flushes(), self._node.plan.rank, self._hash())
            ends = bundles.ends(positions, keys)
            self._bundled = [
                (end, record, port)
                for end, (record, port) in zip(ends, found, strict=True)
                if key is None or is_same(record.key, key)
            ]
        for end, record, port in self._bundled:
            if end is not None and self._bundled_until < end.seq <= until:
                self._begin(record.key)
                self._loop.record_of_bundle(record.seq, record.step, port, record.kind, record.row, end)
        self._bundled_until = until

    def _hash(self) -> Callable[[Key], int]:
        """What Flink's hash maps put the keys in order by; nothing where that is not known."""
        order = hashed_order(self._node.step, self._node.plan.inputs[0].schema)
        encode = row_encoder([self._key_types[at] for at in order])
        if encode is None or not order:
            return lambda key: 0
        return lambda key: hash_of(encode(tuple(key[at] for at in order)))

    def _flushes(self) -> list[int]:
        """The events that end a bundle whatever its size: each input's watermark."""
        found: set[int] = set()
        for given in self._node.plan.inputs:
            lines = {}
            for source in given.derived.holdbacks:
                steps = self._marks.steps(source, self._clock.last_seq)
                counts = source in self._node.by_time
                lines[source] = Timeline.of([(seq, ms) for seq, ms in steps if counts or ms == MAX_WATERMARK])
            found.update(int(seq) for seq in combine(lines, given.derived.holdbacks).seqs)
        return sorted(found)

    def _begin_with_what_is_held(self, event: int) -> None:
        """A key of which all records so far are in a bundle that is open holds nothing yet, but these."""
        first = next((record for _, record, _ in self._bundled if record.seq <= event), None)
        if first is not None:
            self._key = first.key
            self._loop.key(first.key, None)

    def _begin(self, key: Key) -> None:
        if self._key is None:
            self._key = key
            self._loop.key(key, None)
        self.records += 1

    def _in_order(self, records: Mapping[int, pa.Table], spark: Spark) -> list[tuple[Record, int]]:
        """The records of all inputs in order of position, each with its port."""
        found: list[tuple[Record, int]] = []
        for port, table in records.items():
            given = values_of(self._node.step.inputs[port], self._node.plan.inputs[port].schema, table, spark)
            self._labels[port] = given.labels
            self._key_types = given.key_types
            found += [(record, port) for record in given.records()]
        found.sort(key=lambda item: (item[0].seq, item[0].step + ORDINALS[item[1]]))
        return found

    def state(self, event: int) -> Replayed | None:
        """The state after an event, the last of those that were handed in or a later one; None without a record."""
        if self._key is None:
            self._begin_with_what_is_held(event)
        if self._key is None:
            return None
        self._loop.fire_until(event)
        names = self._names()
        described = (*self._loop.kernel.describe(names), *_timers(self._loop.waits()))
        held = (
            (port, record.kind, record.row)
            for end, record, port in self._bundled
            if record.seq <= event and (end is None or end.seq > event)
        )
        return Replayed(self._key, event, self.records, (*described, *held_back(held, names)))

    @property
    def emitted(self) -> tuple[Emitted, ...]:
        """What the operator said since records were last handed in."""
        allowed = {int(kind) for kind in self._node.plan.mode}
        return tuple(record for record in self._out.emitted if record.kind in allowed)

    def end(self) -> Saved | None:
        """End with the key: what a run keeps of it between epochs."""
        return self._loop.end() if self._key is not None else None

    def _forget_emitted(self) -> None:
        out = self._out
        for kept in (out.seqs, out.steps, out.kinds, out.rows, out.lates, out.fired):
            kept.clear()

    def _names(self) -> Names:
        inputs = tuple(self._labels.get(port, ()) for port in range(len(self._node.step.inputs)))
        output = tuple(Label(column.name, column.type.startswith("timestamp")) for column in self._node.plan.schema)
        return Names(inputs, output)


def is_same(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether two keys are one: NULL is NULL here, NaN is NaN, and a text is what it says."""
    return len(one) == len(other) and all(
        a == b or (a != a and b != b) or (isinstance(b, str) and a is not None and str(a) == b)
        for a, b in zip(one, other, strict=True)
    )


def _timers(times: Sequence[int]) -> Description:
    if not times:
        return ()
    note = "The operator wakes up for this key when the watermark reaches these times."
    return (state_table("Timers", ("at",), [(instant(time_ms),) for time_ms in times], note),)
