"""The start and the end of reading topics: the modes of Flink's connector, as offsets by partition."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from engine.errors import PipelineError, SourceError
from engine.reading.kafka.consumer import Consumer, Place
from engine.reading.kafka.fetch import Log

_OFFSETS: Final = re.compile(r"\s*partition:(\d+),\s*offset:(\d+)\s*")


@dataclass(frozen=True)
class Extent:
    """The wanted part of some topics. begins, ends: a mode, and its offsets or time. options: of the client.

    pattern: for topic names, instead of a list of names.
    """

    topics: tuple[str, ...]
    pattern: str
    begins: tuple[str, str]
    ends: tuple[str, str]
    options: Mapping[str, str]

    def places(self, client: Consumer) -> list[Place]:
        """The existing partitions. Raises SourceError."""
        return client.partitions(client.topics_like(self.pattern) if self.pattern else self.topics)


def specific_offsets(text: str, where: str, node: str) -> dict[int, int]:
    """`partition:0,offset:42;partition:1,offset:300` as offsets by partition. Raises PipelineError."""
    offsets: dict[int, int] = {}
    for part in filter(str.strip, text.split(";")):
        match = _OFFSETS.fullmatch(part)
        if match is None:
            offsets = {}
            break
        offsets[int(match[1])] = int(match[2])
    if not offsets:
        message = f"{where}_at: offsets are written as partition:0,offset:42;partition:1,offset:300, not {text!r}."
        raise PipelineError(message, node, f"{where}_at")
    return offsets


def first_logs(extent: Extent, client: Consumer, node: str, *, is_bounded: bool) -> list[Log]:
    """The partitions at the start of a run. is_bounded: partitions without an end stop at their current end."""
    mode, text = extent.begins
    end_mode, end_text = extent.ends
    if end_mode == "unbounded" and is_bounded:
        end_mode = "latest-offset"
    places = extent.places(client)
    if not places:
        if not is_bounded:
            return []
        message = f"topic_pattern: no topic has a name like {extent.pattern!r}."
        raise SourceError(message, node, "topic_pattern")
    starts = _offsets(extent, client, places, mode, text, node)
    ends: list[int] | list[None] = [None] * len(places)
    if end_mode != "unbounded":
        ends = _offsets(extent, client, places, end_mode, end_text, node, is_end=True)
    return [Log(*place, start, end=end) for place, start, end in zip(places, starts, ends, strict=True)]


def _offsets(
    extent: Extent,
    client: Consumer,
    places: Sequence[Place],
    mode: str,
    text: str,
    node: str,
    *,
    is_end: bool = False,
) -> list[int]:
    """The offset of a mode, by partition."""
    bounds = client.bounds(places)
    lows, highs = [low for low, _ in bounds], [high for _, high in bounds]
    match mode:
        case "earliest-offset":
            return lows
        case "latest-offset":
            return highs
        case "timestamp":
            offsets = client.offsets_at(places, int(text))
            return [high if at is None else at for at, high in zip(offsets, highs, strict=True)]
        case "specific-offsets":
            wanted = specific_offsets(text, "end" if is_end else "start", node)
            # As in Flink, partitions that are not named are read from their start to their end.
            usual = highs if is_end else lows
            return [
                min(wanted.get(number, other), high)
                for (_, number), other, high in zip(places, usual, highs, strict=True)
            ]
    committed = client.committed(places)
    reset = extent.options.get("auto.offset.reset", "none")
    if not is_end and reset not in ("earliest", "latest") and None in committed:
        topic, number = places[committed.index(None)]
        message = (
            f"start: the group {extent.options['group.id']} has committed no offset of {topic}, partition {number}. "
            "Begin elsewhere, or set the option auto.offset.reset to earliest or latest."
        )
        raise SourceError(message, node, "start")
    others = lows if reset == "earliest" and not is_end else highs
    return [other if at is None else at for at, other in zip(committed, others, strict=True)]
