"""Messages of several partitions in one order: by timestamp, as far as each partition itself is in order.

    order     (largest timestamp so far in the partition, number of the partition, offset)

A backlog is thus read in the order in which it was written. Partition by partition, most of it would be late. A
message waits until every partition with more messages has delivered its next one, or has been silent for long.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from engine.contract.stream import Json, Limit
from engine.errors import SourceError
from engine.reading.kafka.consumer import Consumer, Place, Told

if TYPE_CHECKING:
    import pyarrow as pa

_NO_TIME: Final = -(1 << 62)
_ASK_S: Final = 0.05
_LONGEST_S: Final = 2.0
# A partition that has more messages but sends none for this time no longer holds back the others.
_SILENT_S: Final = 5.0
_GIVE_UP_S: Final = 30.0
# The most messages of one partition that wait for other partitions before it is paused.
_MOST_WAITING: Final = 200_000
_AT_ONCE: Final = 20_000
# The types of timestamps, by the protocol's number, in Kafka's words.
_KINDS: Final = ("NoTimestampType", "CreateTime", "LogAppendTime")
PIECE: Final = Limit(100_000, 16 << 20)


class Received(NamedTuple):
    """A message. clock: the largest timestamp so far of its partition, number `log`. kind: of its timestamp."""

    clock: int
    log: int
    offset: int
    timestamp: int | None
    kind: int
    key: bytes | None
    value: bytes | None


@dataclass
class Log:
    """A partition and the progress of reading it.

    at: the offset of the next message to take; clock: the largest timestamp before it. end: the offset to stop at, None
    for unbounded. read, seen: the same as at and clock, for received messages.
    """

    topic: str
    partition: int
    at: int
    clock: int = _NO_TIME
    end: int | None = None
    read: int = field(init=False)
    seen: int = field(init=False)
    waiting: deque[Received] = field(default_factory=deque)
    is_at_end: bool = False
    heard_s: float = field(default_factory=time.monotonic)
    is_held: bool = False

    def __post_init__(self) -> None:
        self.read, self.seen = self.at, self.clock

    @property
    def place(self) -> Place:
        """The topic and the partition number."""
        return self.topic, self.partition

    @property
    def name(self) -> str:
        """The name for users."""
        return f"{self.topic}, partition {self.partition}"

    @property
    def is_over(self) -> bool:
        """Whether no further message of the partition is wanted."""
        return self.end is not None and self.read >= self.end

    @property
    def has_more(self) -> bool:
        """Whether the next message of the partition has to be waited for."""
        return not self.is_over and not self.is_at_end

    def to_json(self) -> Json:
        """The position to continue from."""
        return [self.topic, self.partition, self.at, self.clock, self.end]


class Fetching:
    """Reads partitions from their current positions."""

    def __init__(self, client: Consumer, servers: str, logs: Sequence[Log]) -> None:
        self._client, self._servers = client, servers
        self._trouble = self._last = ""
        self.logs: list[Log] = []
        self._numbers: dict[Place, int] = {}
        self.said: list[str] = []
        self._probed_s = 0.0
        self.add(logs)

    def add(self, logs: Sequence[Log]) -> None:
        """Read these partitions, too."""
        if not logs:
            return
        self._check(logs)
        for log in logs:
            self._numbers[log.place] = len(self.logs)
            self.logs.append(log)
        self._client.assign([(log.place, log.read) for log in logs if not log.is_over])

    def end_now(self) -> None:
        """Stop at the current ends of the partitions."""
        endless = [log for log in self.logs if log.end is None]
        for log, (_, high) in zip(endless, self._client.bounds([log.place for log in endless]), strict=True):
            log.end = max(log.read, high)

    @property
    def is_over(self) -> bool:
        """Whether all wanted messages have been taken."""
        return all(log.is_over and not log.waiting for log in self.logs)

    @property
    def behind(self) -> int:
        """The number of available messages that were not taken yet."""
        wanted = [log for log in self.logs if log.waiting or log.has_more]
        latest = self._client.known_ends([log.place for log in wanted]) if wanted else []
        ends = (end if log.end is None else log.end for log, end in zip(wanted, latest, strict=True))
        return sum(max(0, end - log.at) for log, end in zip(wanted, ends, strict=True))

    @property
    def trouble(self) -> str:
        """The reason why no messages arrive, for a run that waits; "" if there is no trouble."""
        return f"{silence}. The run waits, and continues once one does." if (silence := self.silence) else ""

    @property
    def silence(self) -> str:
        """The brokers that do not answer, and why, without a full stop; "" if one answers."""
        if self._trouble and time.monotonic() - self._probed_s > _LONGEST_S:
            if self._client.answers():
                self._trouble = ""
            self._probed_s = time.monotonic()
        return f"no broker at {self._servers} answers: {self._trouble}" if self._trouble else ""

    def fetch(self, limit: Limit) -> list[Received]:
        """The available messages, in order: within the limit, but at least one if there is any."""
        began = time.monotonic()
        was_asked = False
        while True:
            count = self._receive()
            if count and not was_asked:
                was_asked = True
                self._look_for_more()
            ready = self._ready(limit)
            now = time.monotonic()
            is_enough = len(ready) >= limit.records or not any(log.has_more for log in self.logs)
            if is_enough or now - began > _LONGEST_S or (not count and ready):
                break
            if not count and all(log.is_at_end or log.is_over or self._is_silent(log) for log in self.logs):
                break
            if not count and self._trouble:
                break
        return self._taken(ready)

    def all(self, most: int | None = None) -> Iterator[list[Received]]:
        """All messages up to the ends of the partitions, or the first ones. Raises SourceError if none arrive."""
        heard_s, left = time.monotonic(), most
        while not self.is_over and (left is None or left > 0):
            rows = self.fetch(PIECE if left is None else Limit(min(left, PIECE.records), PIECE.bytes))
            if rows:
                heard_s = time.monotonic()
                left = None if left is None else left - len(rows)
                yield rows
            elif time.monotonic() - heard_s > _GIVE_UP_S:
                behind = ", ".join(log.name for log in self.logs if not log.is_over)
                why = self._trouble or self._last
                message = (
                    f"Kafka at {self._servers} has sent nothing for {_GIVE_UP_S:.0f} s, though there is more in "
                    f"{behind}{f': {why}' if why else ''}. Run it again once it answers."
                )
                raise SourceError(message)

    def _look_for_more(self) -> None:
        """Ask for the ends again: messages of other partitions get their turn, whichever broker sends first."""
        logs = [log for log in self.logs if log.is_at_end and not log.is_over]
        ends = self._client.ends_now([log.place for log in logs]) if logs else None
        for log, end in zip(logs, ends or (), strict=ends is not None):
            log.is_at_end = log.read >= end

    def _receive(self) -> int:
        received, self._trouble, self._last = self._client.receive(_AT_ONCE, _ASK_S)
        now = time.monotonic()
        for told in map(Told._make, received):
            number = self._numbers.get(told.place)
            if number is None:
                continue
            log = self.logs[number]
            log.heard_s = now
            if told.ended:
                log.is_at_end = True
                log.read = max(log.read, told.offset)
            elif told.gone:
                self._check([log])
                self._client.seek(log.place, log.read)
            elif told.error:
                self.said.append(f"{log.name}: {told.error}.")
            else:
                self._add(log, number, told)
        self._hold()
        return len(received)

    def _add(self, log: Log, number: int, told: Told) -> None:
        offset = told.offset
        if offset < log.read or (log.end is not None and offset >= log.end):
            log.read = max(log.read, offset)
            return
        timestamp = told.timestamp if told.kind else None
        log.seen = log.seen if timestamp is None else max(log.seen, timestamp)
        log.read = offset + 1
        log.is_at_end = False
        log.waiting.append(Received(log.seen, number, offset, timestamp, told.kind, told.key, told.value))

    def _ready(self, limit: Limit) -> list[Received]:
        """The messages whose turn it is."""
        horizon = min(
            (
                (log.seen, number)
                for number, log in enumerate(self.logs)
                if log.has_more and not (not log.waiting and self._is_silent(log))
            ),
            default=(1 << 62, 0),
        )
        candidates = [
            row for log in self.logs for row in islice(log.waiting, limit.records) if (row.clock, row.log) <= horizon
        ]
        candidates.sort(key=_order)
        size, most = 0, 0
        for most, row in enumerate(candidates[: limit.records], 1):  # noqa: B007
            size += len(row.value or b"") + len(row.key or b"")
            if size >= limit.bytes:
                break
        return candidates[:most]

    def _taken(self, rows: list[Received]) -> list[Received]:
        for row in rows:
            log = self.logs[row.log]
            log.waiting.popleft()
            log.at, log.clock = row.offset + 1, row.clock
        for log in self.logs:
            if not log.waiting:
                # Offsets without messages (transaction markers, compacted messages) are passed as well.
                log.at, log.clock = max(log.at, log.read), log.seen
        return rows

    def _is_silent(self, log: Log) -> bool:
        return time.monotonic() - log.heard_s > _SILENT_S

    def _hold(self) -> None:
        """Pause partitions that are far ahead of the others."""
        for log in self.logs:
            wanted = len(log.waiting) > (_MOST_WAITING // 2 if log.is_held else _MOST_WAITING)
            wanted |= log.is_over
            if wanted != log.is_held:
                self._client.hold(log.place, wanted)
                log.is_held = wanted

    def _check(self, logs: Sequence[Log]) -> None:
        """Advance partitions whose next message no longer exists, and report it."""
        for log, (low, high) in zip(logs, self._client.bounds([log.place for log in logs]), strict=True):
            if low <= log.read <= high:
                continue
            if log.read < low:
                self.said.append(
                    f"{log.name}: the messages {log.read:,} to {low - 1:,} have expired before they were read; they "
                    f"are missing, and it goes on with {low:,}."
                )
            else:
                self.said.append(
                    f"{log.name}: it ends at {high:,}, though it had been read up to {log.read:,}, so the topic "
                    f"was recreated. It is read from its start, at {low:,}."
                )
            log.read = log.at = low


def _order(one: Received) -> tuple[int, int, int]:
    return one.clock, one.log, one.offset


def messages_of(rows: Sequence[Received], logs: Sequence[Log]) -> pa.RecordBatch:
    """Messages as they are stored: topic, partition, offset, timestamp in ms and its type, key, value."""
    import pyarrow as pa

    return pa.RecordBatch.from_arrays(
        [
            pa.array([logs[row.log].topic for row in rows], pa.string()),
            pa.array([logs[row.log].partition for row in rows], pa.int32()),
            pa.array([row.offset for row in rows], pa.int64()),
            pa.array([row.timestamp for row in rows], pa.int64()),
            pa.array([_KINDS[row.kind] for row in rows], pa.string()),
            pa.array([row.key for row in rows], pa.binary()),
            pa.array([row.value for row in rows], pa.binary()),
        ],
        names=["topic", "partition", "offset", "timestamp", "timestamp-type", "key", "value"],
    )
