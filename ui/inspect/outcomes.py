"""What an operator emitted for a key, beside what it would have emitted under another condition, by replay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import pyarrow.compute as pc

from engine.contract.frames import STEP
from engine.errors import NotReplayable
from engine.local.jobs import Spark
from engine.model.changelog import RowKind
from engine.model.durations import ms_of
from engine.replay import KeyedNode, Marks, Replay
from engine.replay.question import stored_value
from storage import Store
from storage.event_time.expired_records import ExpiredRecord
from storage.event_time.model import LateRecord
from ui.inspect.replaying import MOST, key_records

_SHOWN: Final = 12
Row = tuple[RowKind, tuple[Any, ...]]
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Outcome:
    """What the operator emitted for a key, and what it would have emitted, without what is in both.

    columns: of the output. key: by name.
    """

    columns: tuple[str, ...]
    key: tuple[tuple[str, Any], ...]
    emitted: tuple[Row, ...]
    otherwise: tuple[Row, ...]


@dataclass(frozen=True)
class Condition:
    """An operator as it is, or as it would be, under the watermarks of a run, or others."""

    node: KeyedNode
    marks: Marks


@dataclass(frozen=True)
class Window:
    """A window [start, end) as rows have it, local in a zone. columns: those of its start and its end."""

    columns: tuple[str, str]
    start_ms: int
    end_ms: int

    def of(self, rows: list[Row], names: tuple[str, ...]) -> list[Row]:
        """The rows of windows that overlap this one: of a session, those that it was merged into."""
        first, after = (names.index(name) for name in self.columns)
        return [row for row in rows if _ms(row[1][first]) < self.end_ms and _ms(row[1][after]) > self.start_ms]


def _ms(bound: datetime | int) -> int:
    return bound if isinstance(bound, int) else ms_of(bound)


def outcome(
    store: Store,
    run_id: int,
    key: Key,
    conditions: tuple[Condition, Condition],
    last: int,
    spark: Spark,
    *,
    of_event: int | None = None,
    window: Window | None = None,
) -> Outcome:
    """Compare what a key's records up to an event make of an operator under two conditions: as it ran, and otherwise.

    of_event: only what comes out for this event. window: only the rows of windows that overlap this one.

    Raises NotReplayable.
    """
    ran, other = (_emitted(store, run_id, condition, key, last, spark, of_event) for condition in conditions)
    if window is not None:
        names = conditions[0].node.plan.schema.names
        ran, other = (window.of(rows, names) for rows in (ran, other))
    # By their text: values such as arrays have no hash.
    both = Counter(map(repr, ran)) & Counter(map(repr, other))
    node = conditions[0].node
    by_name = tuple(zip(node.key_names, key, strict=True))
    return Outcome(node.plan.schema.names, by_name, _without(ran, both), _without(other, both))


def replayable(node: KeyedNode) -> None:
    """Raise NotReplayable if an operator's keys cannot be replayed each by itself."""
    if node.is_bundled:
        message = "it works in bundles (mini-batch), which depend on the records of all keys."
        raise NotReplayable(message, node.plan.id)


def key_of(store: Store, run_id: int, node: KeyedNode, record: LateRecord | ExpiredRecord, spark: Spark) -> Key:
    """The key of a record at an input of an operator. Raises NotReplayable if it has several."""
    port, seq = record.port, record.seq
    at = [name for name, _ in store.runs.stored(run_id).inputs(node.plan.id)].index(port)
    table = key_records(store, run_id, node.questions()[at], seq, MOST, first=seq).table
    # An event may bring several records, as an update of an aggregate above does.
    own = table.filter(pc.equal(table[STEP], record.step))
    keys = node.keys({at: own if len(own) else table}, spark)
    if len(keys) != 1:
        message = f"event {seq:,} has records of {len(keys)} keys there, so it is not known which one this is about."
        raise NotReplayable(message, node.plan.id)
    return keys[0]


def _emitted(
    store: Store, run_id: int, under: Condition, key: Key, last: int, spark: Spark, of_event: int | None
) -> list[Row]:
    node = under.node
    questions = node.questions(key)
    tables: Mapping[int, Any] = {query.port: key_records(store, run_id, query, last, MOST) for query in questions}
    if any(records.is_cut for records in tables.values()):
        message = f"its key has more than {MOST:,} records."
        raise NotReplayable(message, node.plan.id)
    replay = Replay(node, under.marks, last)
    wanted = None if all(query.is_exact for query in questions) else key
    replay.feed({port: records.table for port, records in tables.items()}, wanted, last, spark)
    # Timers that are due after the last record fire now.
    replay.state(last)
    types = [column.type for column in node.plan.schema]
    return [
        (RowKind(record.kind), tuple(map(stored_value, record.row, types)))
        for record in replay.emitted
        if of_event is None or record.seq == of_event
    ]


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
