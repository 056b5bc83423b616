"""Topics and the part of them that is read: addresses, names, where a run begins and ends."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Final

from engine.contract.declared_table import Declared, Metadata
from engine.contract.parameters import Duration, parameter
from engine.contract.source import Endless
from engine.errors import OutOfReach, PipelineError
from engine.reading.kafka.brokers import check_brokers
from engine.reading.kafka.client import check_options, client_of
from engine.reading.kafka.declared import OPTIONS
from engine.reading.kafka.offsets import Extent, first_logs, specific_offsets
from engine.reading.servers.message_rows import METADATA
from engine.reading.servers.served import ReceivedSource

DISCOVERY_MS: Final = 300_000


class Topics(ReceivedSource):
    """A source over topics, whatever is in their messages."""

    table_options = OPTIONS
    arrival_told = "of their messages"

    servers: str = parameter(
        "Bootstrap servers", "Brokers as host:port, separated by commas: localhost:9092.", default=""
    )
    topic: str = parameter("Topic", "The name of the topic. Separate several with semicolons.", default="")
    topic_pattern: str = parameter(
        "Pattern of topics",
        "Instead of names: a regular expression that matches whole names, such as orders-.*",
        default="",
        last=True,
    )
    discovery_interval_ms: Duration = parameter(
        "Look for more every",
        "How often a live run looks for new topics and partitions. It reads them from their start. 0: never.",
        default=DISCOVERY_MS,
        last=True,
    )

    @classmethod
    def with_arrival(cls, table: Declared, name: str) -> Declared:
        """With the timestamp of its message."""
        timestamp = Metadata(name, METADATA["timestamp"], "timestamp", is_virtual=True)
        return replace(table, metadata=(*table.metadata, timestamp))

    @property
    @abstractmethod
    def options(self) -> Mapping[str, str]:
        """The options of the client."""

    @property
    def begins(self) -> tuple[str, str]:
        """The start: a mode under Flink's name, and its offsets or time."""
        return "earliest-offset", ""

    @property
    def ends(self) -> tuple[str, str]:
        """The end, in the same form."""
        return "unbounded", ""

    @property
    def extent(self) -> Extent:
        """The wanted part of the topics."""
        return Extent(tuple(self.topics), self.topic_pattern, self.begins, self.ends, self.options)

    @property
    def topics(self) -> list[str]:
        """The names of the topics."""
        return [name.strip() for name in self.topic.split(";") if name.strip()]

    @property
    def goes_on(self) -> bool:
        """Whether no end is set."""
        return self.ends[0] == "unbounded"

    @property
    def endless(self) -> Endless:
        """Without an end."""
        return Endless("Read it without an end", {"end": "unbounded"})

    def rows_about(self, node: str, folder: Path) -> int | None:
        """As many as there are offsets: compacted topics and transactions have fewer messages."""
        with closing(client_of(self.servers, self.options, node)) as client:
            logs = first_logs(self.extent, client, node, is_bounded=True)
        return sum((log.end or log.at) - log.at for log in logs)

    def check_topics(self, node: str) -> None:
        """Raise PipelineError for brokers, names, options and places that cannot be used."""
        if not self.servers.strip():
            message = "servers: there is no address of a broker. Give it as host:port, such as localhost:9092."
            raise OutOfReach(message, node, "servers")
        check_brokers(self.servers, node)
        if bool(self.topics) == bool(self.topic_pattern):
            both = "there are names and a pattern; give only one of the two." if self.topics else ""
            message = f"topic: {both or 'there is none. Give its name, or a pattern of names.'}"
            raise PipelineError(message, node, "topic")
        try:
            re.compile(self.topic_pattern)
        except re.error as error:
            message = f"topic_pattern: {self.topic_pattern!r} is not a regular expression: {error}."
            raise PipelineError(message, node, "topic_pattern") from error
        check_options(self.options, node)
        for where, (mode, text) in (("start", self.begins), ("end", self.ends)):
            self._check_offsets(where, mode, text, node)

    def _check_offsets(self, where: str, mode: str, text: str, node: str) -> None:
        if mode == "specific-offsets":
            specific_offsets(text, where, node)
        if mode == "timestamp" and not text.strip().isdecimal():
            message = f"{where}_at: a time is a number of ms since 1970, not {text!r}."
            raise PipelineError(message, node, f"{where}_at")
        if mode == "group-offsets" and "group.id" not in self.options:
            message = "properties: group-offsets needs the name of the group: the option group.id."
            raise PipelineError(message, node, "properties")
