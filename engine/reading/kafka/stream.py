"""Topics in a live run: messages are received in batches, and stored before an epoch is decided."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from engine.contract.scan import Scan
from engine.contract.stream import Json, Limit, Stopping, Taken, never
from engine.errors import SourceError
from engine.reading.avro.registry import NotAnswered, Registry
from engine.reading.kafka.client import client_of
from engine.reading.kafka.consumer import Consumer
from engine.reading.kafka.fetch import Fetching, Log, messages_of
from engine.reading.kafka.offsets import Extent, first_logs
from engine.reading.servers.kept_messages import Keeping, pieces_of, place_of
from engine.reading.servers.message_rows import MessageReader

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class KafkaStream:
    """The messages of a live run.

    position   {"kept": folder, "logs": [[topic, partition, offset, largest timestamp, end], ...]}
    what       pieces that hold the messages

    servers: the brokers. extent: the wanted part of their topics. origin: the topics, by their name for users.
    discovery_interval_ms: the interval of looking for new topics and partitions; 0 for never.
    """

    servers: str
    extent: Extent
    origin: str
    discovery_interval_ms: int
    node: str
    folder: Path
    run: str
    reader: MessageReader
    registry: Registry | None = None
    _client: Consumer | None = None
    _fetching: Fetching | None = None
    _keeping: Keeping | None = None
    _place: str = ""
    # Messages that are taken, while a registry does not tell their schemas, and the position before them.
    _waiting: pa.RecordBatch | None = None
    _told: Json = None
    _listed_s: float = field(default_factory=time.monotonic)

    def poll(
        self, position: Json, limit: Limit, now_ms: int, *, ending: bool = False, is_stopping: Stopping = never
    ) -> Taken:
        """The messages since the last poll. Raises SourceError if no broker answers at the start."""
        if self._fetching is None:
            self._begin(position)
        fetching, keeping = self._fetching, self._keeping
        assert fetching is not None
        assert keeping is not None
        what: list[Json] = []
        if not ending:
            self._discover(fetching)
            try:
                if messages := self._next(fetching, limit):
                    what.append(keeping.keep(messages))
            except NotAnswered as error:
                return Taken(None, self._told, is_end=False, notes=[f"{error.sentence} The run waits for it."])
        else:
            if silence := fetching.silence:
                # A finished run must not lack available messages.
                message = f"{silence}. The source cannot end before it does; resume the run then."
                raise SourceError(message, self.node)
            fetching.end_now()
            if self._waiting is not None:
                what.append(keeping.keep(self._completed(self._waiting)))
                self._waiting = None
            for rows in fetching.all():
                what.append(keeping.keep(self._completed(messages_of(rows, fetching.logs))))
        notes = list(fetching.said)
        fetching.said.clear()
        if trouble := fetching.trouble:
            notes.append(trouble)
        count = fetching.behind
        self._told = {"kept": self._place, "logs": [log.to_json() for log in fetching.logs]}
        return Taken(
            what or None,
            self._told,
            # If no topic exists yet, one may be created.
            is_end=bool(fetching.logs) and fetching.is_over,
            behind=f"{count:,} messages" if count else "",
            notes=notes,
        )

    def _next(self, fetching: Fetching, limit: Limit) -> pa.RecordBatch | None:
        """The next messages, with the schemas that they name. Raises SourceError; they are not lost then."""
        if self._waiting is None and (rows := fetching.fetch(limit)):
            self._waiting = messages_of(rows, fetching.logs)
        messages = None if self._waiting is None else self._completed(self._waiting)
        self._waiting = None
        return messages

    def _completed(self, messages: pa.RecordBatch) -> pa.RecordBatch:
        return messages if self.registry is None else self.registry.completed(messages)

    def read(self, what: Json) -> Scan:
        """The messages of these pieces."""
        return Scan(pieces_of(what, self.folder, self.origin), self.reader)

    def close(self) -> None:
        """Disconnect from the brokers."""
        if self._client is not None:
            self._client.close()

    def _begin(self, position: Json) -> None:
        client = self._client = client_of(self.servers, self.extent.options, self.node)
        if position is None:
            logs = first_logs(self.extent, client, self.node, is_bounded=False)
            self._place = place_of(self.origin, self.node, self.run)
        else:
            logs = [Log(topic, number, at, clock, end) for topic, number, at, clock, end in position["logs"]]
            self._place = position["kept"]
            self._told = position
        self._fetching = Fetching(client, self.servers, logs)
        self._keeping = Keeping(self.folder, self._place)

    def _discover(self, fetching: Fetching) -> None:
        """New partitions and topics are read from their start, as in Flink."""
        interval_ms, since_ms = self.discovery_interval_ms, (time.monotonic() - self._listed_s) * 1000
        if self.extent.ends[0] != "unbounded" or not interval_ms or since_ms < interval_ms:
            return
        self._listed_s = time.monotonic()
        assert self._client is not None
        try:
            there = self.extent.places(self._client)
            old_places = {(log.topic, log.partition) for log in fetching.logs}
            new = [place for place in there if place not in old_places]
            bounds = self._client.bounds(new) if new else []
            logs = [Log(*place, low) for place, (low, _) in zip(new, bounds, strict=True)]
            if logs:
                fetching.add(logs)
            fetching.said += [f"{log.name}: it is new; it is read from its start." for log in logs]
        except SourceError as error:
            fetching.said.append(error.sentence)
