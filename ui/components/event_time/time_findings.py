"""Findings that explain a timeline: records from the future, sources that hold the watermark back, idle sources."""

from __future__ import annotations

from collections.abc import Sequence

from engine.model.zones import Zone
from storage.event_time.future_records import FutureRecord
from storage.event_time.idle_sources import IdleSource, LaggingSource
from storage.event_time.model import Timeline
from ui.shell import words


def future_sentence(record: FutureRecord, zone: Zone | None = None) -> str:
    """The record, its effect on the watermark, and the number of records that it made late. Markdown."""
    where = f"record {record.ordinal:,} of {words.escaped(record.source)}"
    if record.file:
        where += f" ({words.escaped(record.file.rpartition('/')[2])})"
    until = (
        f"until event {record.until_seq:,}, when the other records caught up"
        if record.until_seq is not None
        else "and the other records did not catch up before the end"
    )
    others = words.count(record.late, "record")
    content = f"  \n{words.escaped(record.content)}" if record.content else ""
    return (
        f"**Event {record.seq:,} came from the future:** {where}, at {words.moment(record.event_time_ms, zone)}, "
        f"advanced the watermark by **{words.duration(record.jump_ms)}** at once, {until}. **{others}** after "
        f"it would not have been late without it.{content}"
    )


def lagging_sentences(lagging: Sequence[LaggingSource], timeline: Timeline) -> list[str]:
    """Which sources held the combined watermark back, for how long, and by how much. Markdown."""
    total = max(timeline.to_seq - timeline.from_seq, 1)
    about = "" if timeline.is_exact else "about "
    sentences = []
    for laggard in lagging:
        share = laggard.events / total
        if share < 0.02 and len(lagging) > 1:
            continue
        by = (
            "for a part of them it had no watermark yet, and nothing could fire"
            if laggard.behind_ms is None
            else f"at most {words.duration(laggard.behind_ms)} behind the next source"
        )
        stretch = ""
        if laggard.to_seq - laggard.from_seq < laggard.events:
            stretch = f", the longest time from event {laggard.from_seq:,} to {laggard.to_seq:,}"
        sentences.append(
            f"**{words.escaped(laggard.source)}** held the combined watermark back during {about}{laggard.events:,} of "
            f"{total:,} events ({share:.0%}){stretch}; {by}."
        )
    return sentences


def idle_sentence(idle: IdleSource, zone: Zone | None = None) -> str:
    """A source that sent nothing for unusually long. Markdown."""
    events = idle.to_seq - idle.from_seq - 1
    since = f"from event {idle.from_seq + 1:,}" + (" on" if idle.is_open else f" to {idle.to_seq - 1:,}")
    went_on = ""
    if idle.others_ms:
        went_on = f" while the other sources advanced by {words.duration(idle.others_ms)} of event time"
    text = f"**{words.escaped(idle.source)} was idle** {since}: nothing for {words.count(events, 'event')}{went_on}."
    if not idle.holds_back:
        return f"{text} It was ahead, so it held nothing back."
    if idle.watermark_ms is None:
        return f"{text} It had no watermark yet, so nothing could fire."
    return (
        f"{text} The combined watermark could not pass {words.moment(idle.watermark_ms, zone)}, where it had stopped."
    )
