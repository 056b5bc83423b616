"""The timers of a chunk: what each waits for, and where in the timeline it fires."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.contract.columnar_kernel import NEVER, Chunk, Longs
from engine.model.timeline import MIN_WATERMARK, Timeline, places_in


class Timers(NamedTuple):
    """Timers, one element each: those of the state's rows, then those that the records may set.

    waits_for: the watermark in ms. dues: its place in the timeline. marks, befores: of each record, the watermark
    before it and its place. limits: of each key, the place up to which its timers fire.
    """

    waits_for: Longs
    dues: Longs
    marks: Longs
    befores: Longs
    limits: Longs


def timers_of(chunk: Chunk, timeline: Timeline, kept: Longs, *times_ms: Longs) -> Timers:
    """The timers. kept: what those of the state wait for. times_ms: of each timer that a record may set."""
    records, end = chunk.records, len(timeline.marks)
    marks = np.full(len(records), MIN_WATERMARK) if records.watermarks is None else records.watermarks
    # A time that has passed fires with the next watermark.
    following = np.minimum(marks, NEVER - 1) + 1
    waits_for = np.concatenate((kept, *(np.maximum(times, following) for times in times_ms)))
    befores = places_in(timeline.seqs, records.seqs)
    dues = places_in(timeline.marks, waits_for)
    dues[waits_for == NEVER] = end
    dues[len(kept) :] = np.maximum(dues[len(kept) :], np.tile(befores, len(times_ms)))
    limits = np.full(chunk.groups, end, np.int64)
    if chunk.goes_on:
        is_last = len(records) > 0 and records.groups[-1] == chunk.groups - 1
        limits[-1] = befores[-1] if is_last else 0
    return Timers(waits_for, dues, marks, befores, limits)
