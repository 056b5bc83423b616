"""What an operator would have emitted if a late record had been in time: its key is replayed with a longer delay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from engine.errors import NotReplayable
from engine.local.values import Spark
from engine.model.changelog import RowKind
from engine.model.combined_watermark import shifted
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK, Idle, Timeline
from engine.planner import Plan
from engine.replay import KeyedNode, Marks, Replay, keyed_node
from engine.replay.question import stored_value
from storage import Store
from storage.event_time.model import LateRecord
from ui.inspect.replaying import MOST, key_records

_SHOWN: Final = 12
Row = tuple[RowKind, tuple[Any, ...]]


@dataclass(frozen=True)
class LateOutcome:
    """What the operator emitted for the record's key, and what it would have emitted, without what is in both.

    columns: of the output. key: the record's, by name.
    """

    columns: tuple[str, ...]
    key: tuple[tuple[str, Any], ...]
    emitted: tuple[Row, ...]
    in_time: tuple[Row, ...]


@dataclass(frozen=True)
class Delayed:
    """The watermarks of a run as a longer delay of one source had made them."""

    marks: Marks
    source: str
    by_ms: int

    @property
    def idle(self) -> Idle:
        """When sources were idle."""
        return self.marks.idle

    def first(self, source: str) -> int | None:
        """The first event of a source."""
        return self.marks.first(source)

    def reached(self, source: str, time_ms: int) -> int | None:
        """The first event after which the source's watermark is at least this time."""
        return self.marks.reached(source, min(time_ms + self._shift(source), MAX_WATERMARK))

    def at(self, source: str, seq: int) -> int:
        """The source's watermark after an event."""
        mark = self.marks.at(source, seq)
        return mark if mark in (MIN_WATERMARK, MAX_WATERMARK) else mark - self._shift(source)

    def time_at(self, seq: int) -> int:
        """The run's recorded clock, which no delay changes."""
        return self.marks.time_at(seq)

    def line(self, source: str, until_seq: int) -> Timeline:
        """The complete watermark of a source up to an event."""
        return shifted(self.marks.line(source, until_seq), -self._shift(source))

    def _shift(self, source: str) -> int:
        return self.by_ms if source == self.source else 0


def late_outcome(
    store: Store, run_id: int, plan: Plan, late: LateRecord, delay_ms: int, spark: Spark
) -> LateOutcome | None:
    """The outcome with the delay that the record needed; None if no delay keeps it.

    delay_ms: the source's delay in the run. Raises NotReplayable if the operator or the key cannot be replayed.
    """
    if late.needed_delay_ms is None or late.needed_delay_ms <= delay_ms:
        return None
    node = keyed_node(plan, late.node)
    if node.is_bundled:
        message = "it works in bundles (mini-batch), which depend on the records of all keys."
        raise NotReplayable(message, late.node)
    run = store.runs.stored(run_id)
    last = run.last_seq
    port = [name for name, _ in run.inputs(late.node)].index(late.port)
    key = _key_of(store, run_id, node, port, late, spark)
    marks = store.replays.marks(run_id)
    ran = _emitted(store, run_id, node, key, marks, last, spark)
    later = _emitted(
        store, run_id, node, key, Delayed(marks, late.source, late.needed_delay_ms - delay_ms), last, spark
    )
    # By their text: values such as arrays have no hash.
    both = Counter(map(repr, ran)) & Counter(map(repr, later))
    names = dict(zip(node.key_names, key, strict=True))
    return LateOutcome(node.plan.schema.names, tuple(names.items()), _without(ran, both), _without(later, both))


def _key_of(store: Store, run_id: int, node: KeyedNode, port: int, late: LateRecord, spark: Spark) -> tuple[Any, ...]:
    records = key_records(store, run_id, node.questions()[port], late.seq, MOST, first=late.seq)
    keys = node.keys({port: records.table}, spark)
    if len(keys) != 1:
        message = f"event {late.seq:,} has records of {len(keys)} keys there, so it is not known which one was late."
        raise NotReplayable(message, late.node)
    return keys[0]


def _emitted(
    store: Store, run_id: int, node: KeyedNode, key: tuple[Any, ...], marks: Marks, last: int, spark: Spark
) -> list[Row]:
    questions = node.questions(key)
    tables: Mapping[int, Any] = {each.port: key_records(store, run_id, each, last, MOST) for each in questions}
    if any(records.is_cut for records in tables.values()):
        message = f"its key has more than {MOST:,} records."
        raise NotReplayable(message, node.plan.id)
    replay = Replay(node, marks, last)
    wanted = None if all(each.is_exact for each in questions) else key
    replay.feed({port: records.table for port, records in tables.items()}, wanted, last, spark)
    # Timers that are due after the last record fire now.
    replay.state(last)
    types = [column.type for column in node.plan.schema]
    return [(RowKind(record.kind), tuple(map(stored_value, record.row, types))) for record in replay.emitted]


def _without(rows: list[Row], both: Counter[str]) -> tuple[Row, ...]:
    """The rows that are only in one of the two, in their order."""
    left = Counter(both)
    own = []
    for row in rows:
        if left[repr(row)]:
            left[repr(row)] -= 1
        else:
            own.append(row)
    return tuple(own[:_SHOWN])
