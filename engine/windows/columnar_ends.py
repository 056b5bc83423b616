"""The windows of whole batches of records: assigned or attached, those that have closed, and when they fire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from engine.columnar.runs import Runs
from engine.contract.columnar_kernel import Chunk, Lates, Longs, Records
from engine.model.timeline import MIN_WATERMARK, Timeline, places_in
from engine.model.windowing import Windowing, WindowKind
from engine.windows.window_kernel import LATE


class OpenRanges(NamedTuple):
    """The open windows of some records, one element each.

    places: the records, None for all of a chunk. firsts, lasts: the ends of their first and last open window. starts:
    of attached windows. lates: an entry per window that a record has missed.
    """

    places: Longs | None
    firsts: Longs
    lasts: Longs
    starts: Longs | None
    lates: Lates | None


class WindowEnds:
    """The ends of windows. windowing: assigns windows by event time; None for attached windows: start and end in ms."""

    def __init__(self, windowing: Windowing | None) -> None:
        self.kind = windowing.kind if windowing is not None else None
        self.size = windowing.size_ms if windowing is not None else 0
        self.offset = windowing.offset_ms if windowing is not None else 0
        # An attached window and a session stand alone: any slide works.
        is_alone = self.kind in (None, WindowKind.SESSION)
        self.slide = 1 if windowing is None or is_alone else windowing.slide_ms or windowing.size_ms

    @property
    def values(self) -> int:
        """The number of values of a row that come before its columns: the event time, or the window's bounds."""
        return 2 if self.kind is None else 1

    def open_windows(self, records: Records, row: Sequence[pa.Array]) -> OpenRanges:
        """The windows of the records that are still open. row: begins with the values that have the times."""
        assert records.watermarks is not None
        starts: Longs | None = None
        if self.kind is None:
            starts, firsts = row[0].to_numpy(), row[1].to_numpy()
            lasts = firsts
        else:
            firsts, lasts = self._ends(row[0].to_numpy())
        late = records.watermarks >= firsts - 1
        if not late.any() and self.slide <= self.size:
            return OpenRanges(None, firsts, lasts, starts, None)
        at = np.flatnonzero(late)
        missed, lates = self._missed(at, records, row, firsts, lasts)
        firsts = firsts.copy() if firsts is lasts else firsts
        firsts[at] += missed * self.slide
        places = np.flatnonzero(firsts <= lasts)
        return OpenRanges(places, firsts[places], lasts[places], None if starts is None else starts[places], lates)

    def starts(self, ends: Longs, lasts: Longs) -> Longs:
        """The starts of assigned windows. lasts: the end of the last window of the same rows."""
        return (lasts if self.kind is WindowKind.CUMULATE else ends) - self.size

    def _ends(self, times_ms: Longs) -> tuple[Longs, Longs]:
        """The ends of the first and the last window of each timestamp."""
        inside = (times_ms - self.offset) % (self.slide if self.kind is WindowKind.HOP else self.size)
        starts = times_ms - inside
        match self.kind:
            case WindowKind.TUMBLE:
                ends = starts + self.size
                return ends, ends
            case WindowKind.HOP:
                lasts = starts + self.size
                return lasts - (self.size - 1 - inside) // self.slide * self.slide, lasts
            case _:
                return starts + (inside - inside % self.slide + self.slide), starts + self.size

    def _missed(
        self, at: Longs, records: Records, row: Sequence[pa.Array], firsts: Longs, lasts: Longs
    ) -> tuple[Longs, Lates]:
        """The number of windows that each record at these places misses, and an entry per missed window, by end."""
        assert records.watermarks is not None
        marks, first, last = records.watermarks[at], firsts[at], lasts[at]
        missed = (np.minimum(marks, last - 1) - (first - 1)) // self.slide + 1
        runs = Runs(np.cumsum(missed) - missed, int(missed.sum()))
        ends = runs.spread(first) + runs.ordinals * self.slide
        places = runs.spread(at)
        if self.kind is None:
            starts, times = row[0].to_numpy()[places], ends - 1
        else:
            starts, times = self.starts(ends, runs.spread(last)), row[0].to_numpy()[places]
        is_dropped = runs.spread(first + missed * self.slide > last)
        entries = Lates(
            places, times, pa.array(starts), pa.array(ends), runs.spread(marks) - (ends - 1), is_dropped, LATE
        )
        return missed, entries


def horizon(chunk: Chunk, timeline: Timeline, groups: Longs) -> Longs:
    """The watermark up to which the windows of these groups fire."""
    top = int(timeline.marks[-1]) if len(timeline.marks) else MIN_WATERMARK
    reached = np.full(len(groups), top, np.int64)
    if chunk.goes_on:
        # A later record, maybe of the last record's event, still counts in windows that did not fire before that event.
        mark, records = MIN_WATERMARK, chunk.records
        if len(records) and records.groups[-1] == chunk.groups - 1:
            passed = int(np.searchsorted(timeline.seqs, records.seqs[-1]))
            mark = int(timeline.marks[passed - 1]) if passed else MIN_WATERMARK
        reached[groups == chunk.groups - 1] = mark
    return reached


def due(timeline: Timeline, ends: Longs, slide_ms: int) -> tuple[Longs, Longs | slice]:
    """The events that fire windows with these ends, all of which the watermark reaches; then windows that cover all
    these ends, with each end only once if that needs no sorting.
    """
    least, most = (int(ends.min()), int(ends.max())) if len(ends) else (0, 0)
    distinct = (most - least) // slide_ms + 1
    if slide_ms == 1 or distinct > len(ends):
        return timeline.seqs[places_in(timeline.marks, ends - 1)], slice(None)
    # Many windows share few ends: each end is looked up once.
    end_marks = least - 1 + np.arange(distinct, dtype=np.int64) * slide_ms
    places = np.minimum(np.searchsorted(timeline.marks, end_marks), len(timeline.seqs) - 1)
    numbers = (ends - least) // slide_ms
    last = np.full(distinct, -1, np.int64)
    last[numbers] = np.arange(len(ends))
    return timeline.seqs[places][numbers], last[last >= 0]
