"""The kernels of window aggregation: over slices, over windows that rows have already, over sessions that merge.

A window fires when the watermark reaches its last millisecond, end - 1; a record is late for it when the
watermark had reached end - 1 + allowed lateness before. With an allowed lateness a window stays after it
has fired, and each record that comes late, but not too late, updates its result at once. With early firing
the result so far goes out with each record, or whenever the watermark crosses a multiple of early_fire_every_ms
from the window's start, if records came since.

Rows: the event time in ms (or the window's start and end), then the values that the calls refer to.
Source: Flink SlicingWindowOperator, UnslicingWindowOperator, MergingWindowSet.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Final

from engine.aggregates.accumulators import compile_calls
from engine.aggregates.function import AggregateCall
from engine.contract.described import Description, Names
from engine.contract.kernel import Kernel, Key, Output, Row
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from engine.windows.assigners import Window, Windowing, WindowKind
from engine.windows.slices import Slices, slicing
from engine.windows.state import results, windows

LATE: Final = "the window had closed before the record arrived"

_RETRACTIONS: Final = (UPDATE_BEFORE, DELETE)
_FIRE, _CLOSE, _EARLY = 0, 1, 2


class WindowKernel(Kernel):
    """What the kernels share: compiled calls, and how a result replaces the one that went out before."""

    def __init__(
        self,
        calls: Sequence[AggregateCall],
        *,
        retracting: bool,
        allowed_lateness_ms: int = 0,
        early_fire_every_ms: int = 0,
        early_fire_each_record: bool = False,
        generate_update_before: bool = True,
        window_time: bool = False,
    ) -> None:
        self._accumulators = compile_calls(calls, retracting=retracting)
        self._clock = self._accumulators.clock if self._accumulators.uses_clock else None
        self._lateness = allowed_lateness_ms
        self._early = early_fire_every_ms
        self._each_record = early_fire_each_record
        self._fires_once = not (allowed_lateness_ms or early_fire_every_ms or early_fire_each_record)
        self._update_before = generate_update_before
        self._window_time = window_time
        self._key: Key = ()

    @abstractmethod
    def on_timer(self, time_ms: int, name: Any, out: Output) -> None:
        """A window fires, fires early, or closes."""

    def _result(self, acc: list[Any] | None, window: Window) -> Row | None:
        """The row of a window as it is now, None where it has no rows (left)."""
        compiled = self._accumulators
        if acc is None or (compiled.rows is not None and acc[compiled.rows] == 0):
            return None
        start, end = window
        bounds: Row = (start * 1000, end * 1000)
        if self._window_time:
            bounds = (*bounds, (end - 1) * 1000)
        values = compiled.value(acc)
        return self._key + bounds + (values if compiled.present is None else compiled.present(values))

    def _replace(self, before: Row | None, after: Row | None, out: Output) -> None:
        if after is None:
            if before is not None:
                out.emit(DELETE, before)
        elif before is None:
            out.emit(INSERT, after)
        elif before != after:
            if self._update_before:
                out.emit(UPDATE_BEFORE, before)
            out.emit(UPDATE_AFTER, after)

    def _add(self, kind: int, acc: list[Any], row: Row, out: Output) -> None:
        if self._clock is not None:
            self._clock[0] = (out.seq, out.step)
        if kind in _RETRACTIONS:
            self._accumulators.retract(acc, row)
        else:
            self._accumulators.accumulate(acc, row)

    def _early_ms(self, window: Window, watermark_ms: int) -> int | None:
        """When a window that got a record now fires early next; None where it fires for good before."""
        start, end = window
        passed = max(watermark_ms + 1, start) - start
        next_ms = start + (passed // self._early + 1) * self._early - 1
        return next_ms if next_ms < end - 1 else None


class SlicedWindowKernel(WindowKernel):
    """Tumbling, hopping and cumulating windows of one key.

    State: an accumulator per slice; where windows fire more than once, the last result per window.
    """

    def __init__(self, windowing: Windowing, calls: Sequence[AggregateCall], **settings: Any) -> None:
        super().__init__(calls, **settings)
        self._slicing = slicing(windowing, self._accumulators, fires_once=self._fires_once)
        self._slice_of = self._slicing.slice_of
        # Flink goes through hopping windows from the latest to the earliest.
        self._latest_first = windowing.kind is WindowKind.HOP
        self._slices: Slices = {}
        self._results: dict[int, Row] = {}

    def start(self, key: Key, state: Any | None) -> None:
        self._key = key
        self._slices, self._results = state or ({}, {})

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        slice_end = self._slice_of(row[0])
        watermark_ms = out.watermark_ms
        target = slice_end
        if slice_end - 1 + self._lateness <= watermark_ms:
            if not self._is_open(slice_end, row[0], out):
                return
            target = self._slicing.target_of(slice_end, lambda end: end - 1 + self._lateness <= watermark_ms)
        acc = self._slices.get(target)
        if acc is None:
            self._slices[target] = acc = self._accumulators.create()
            self._set_timers(slice_end, out)
        self._add(kind, acc, row, out)
        if not self._fires_once:
            self._fire_now_or_early(slice_end, out)

    def on_timer(self, time_ms: int, name: Any, out: Output) -> None:
        what, end = name
        if what != _CLOSE:
            self._fire(end, out, on_time=what == _FIRE)
        if what == _CLOSE or (what == _FIRE and not self._lateness):
            self._slicing.close(self._slices, end)
            self._results.pop(end, None)

    def finish(self) -> Any | None:
        return (self._slices, self._results) if self._slices or self._results else None

    def describe(self, names: Names) -> Description:
        """The slices that hold rows, and the results that went out of windows that stay open."""
        open_ = [(*self._slicing.slice_bounds(end), acc) for end, acc in sorted(self._slices.items())]
        return (*windows(open_, self._accumulators.kept, names, self._slicing.what), *results(self._results, names))

    def _is_open(self, slice_end: int, time_ms: int, out: Output) -> bool:
        """Note every window for which the record is late. True where there is one for which it is not."""
        closed_ms = out.watermark_ms - self._lateness
        late = [end for end in self._slicing.windows_of(slice_end) if end - 1 <= closed_ms]
        is_open = len(late) < len(self._slicing.windows_of(slice_end))
        for end in late:
            window = (self._slicing.start_of(end), end)
            out.late(time_ms, closed_ms - (end - 1), LATE, window, is_lost=not is_open)
        return is_open

    def _set_timers(self, slice_end: int, out: Output) -> None:
        for end in self._slicing.windows_of(slice_end):
            if end - 1 > out.watermark_ms:
                out.set_timer(end - 1, (_FIRE, end))
            if self._lateness and end - 1 + self._lateness > out.watermark_ms:
                out.set_timer(end - 1 + self._lateness, (_CLOSE, end))

    def _fire_now_or_early(self, slice_end: int, out: Output) -> None:
        windows = self._slicing.windows_of(slice_end)
        for end in reversed(windows) if self._latest_first else windows:
            if end - 1 <= out.watermark_ms:
                if end - 1 + self._lateness > out.watermark_ms:
                    self._fire(end, out, on_time=True)
            elif self._each_record:
                self._fire(end, out, on_time=False)
            elif self._early:
                early_ms = self._early_ms((self._slicing.start_of(end), end), out.watermark_ms)
                if early_ms is not None:
                    out.set_timer(early_ms, (_EARLY, end))

    def _fire(self, end: int, out: Output, *, on_time: bool) -> None:
        window = (self._slicing.start_of(end), end)
        after = self._result(self._slicing.merged(self._slices, end), window)
        if self._fires_once:
            if after is not None:
                out.emit(INSERT, after)
        else:
            self._replace(self._results.get(end), after, out)
            if after is None:
                self._results.pop(end, None)
            else:
                self._results[end] = after
        if on_time:
            out.window_fired(*window)


class AttachedWindowKernel(WindowKernel):
    """Windows that rows of one key have already: (start ms, end ms, values).

    State: per window its accumulator and, where it fires more than once, the last result.
    """

    def __init__(self, calls: Sequence[AggregateCall], **settings: Any) -> None:
        super().__init__(calls, **settings)
        self._windows: dict[Window, list[Any]] = {}

    def start(self, key: Key, state: Any | None) -> None:
        self._key = key
        self._windows = state or {}

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        window = start, end = row[0], row[1]
        lateness_ms = out.watermark_ms - (end - 1 + self._lateness)
        if lateness_ms >= 0:
            out.late(end - 1, lateness_ms, LATE, (start, end))
            return
        held = self._windows.get(window)
        if held is None:
            held = self._windows[window] = [self._accumulators.create(), None]
            if end - 1 > out.watermark_ms:
                out.set_timer(end - 1, (_FIRE, window))
            if self._lateness:
                out.set_timer(end - 1 + self._lateness, (_CLOSE, window))
        self._add(kind, held[0], row, out)
        if self._fires_once:
            return
        if end - 1 <= out.watermark_ms:
            self._fire(window, out, on_time=True)
        elif self._each_record:
            self._fire(window, out, on_time=False)
        elif self._early and (early_ms := self._early_ms(window, out.watermark_ms)) is not None:
            out.set_timer(early_ms, (_EARLY, window))

    def on_timer(self, time_ms: int, name: Any, out: Output) -> None:
        what, window = name
        if what != _CLOSE:
            self._fire(window, out, on_time=what == _FIRE)
        if what == _CLOSE or (what == _FIRE and not self._lateness):
            del self._windows[window]

    def finish(self) -> Any | None:
        return self._windows or None

    def describe(self, names: Names) -> Description:
        """The windows, and the results that went out of those that stay open."""
        open_ = [(*window, acc) for window, (acc, _) in sorted(self._windows.items())]
        sent = {window: result for window, (_, result) in self._windows.items() if result is not None}
        return (*windows(open_, self._accumulators.kept, names, "window"), *results(sent, names))

    def _fire(self, window: Window, out: Output, *, on_time: bool) -> None:
        held = self._windows[window]
        after = self._result(held[0], window)
        self._replace(held[1], after, out)
        held[1] = after
        if on_time:
            out.window_fired(*window)


# A session in the state: start, end, the position of its first record, its accumulator, the result that went out.
_START, _END, _ORIGIN, SESSION_ACC, _RESULT = range(5)
_start_of = itemgetter(_START)


class SessionWindowKernel(WindowKernel):
    """Sessions of one key: a record within the gap of one extends it, and joins two that it connects.

    A session that has gone out and then changes its bounds is deleted and inserted anew.
    State: per session its bounds, first record, accumulator and last result, in the order of time.
    """

    def __init__(self, windowing: Windowing, calls: Sequence[AggregateCall], **settings: Any) -> None:
        super().__init__(calls, **settings)
        self._gap = windowing.size_ms
        self._sessions: list[list[Any]] = []

    def start(self, key: Key, state: Any | None) -> None:
        self._key = key
        self._sessions = state or []

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        start: int = row[0]
        end = start + self._gap
        touched = self._touched(start, end)
        if not touched:
            lateness_ms = out.watermark_ms - (end - 1 + self._lateness)
            if lateness_ms >= 0:
                out.late(start, lateness_ms, LATE, (start, end))
                return
        session = self._grown(start, end, touched, out)
        self._add(kind, session[SESSION_ACC], row, out)
        if not self._fires_once:
            self._fire_now_or_early(session, touched, out)

    def on_timer(self, time_ms: int, name: Any, out: Output) -> None:
        what, start, end = name
        at = bisect_left(self._sessions, start, key=_start_of)
        if at == len(self._sessions) or self._sessions[at][:_ORIGIN] != [start, end]:
            # It was to fire early, and has grown since.
            return
        if what != _CLOSE:
            self._fire(self._sessions[at], out, on_time=what == _FIRE)
        if what == _CLOSE or (what == _FIRE and not self._lateness):
            del self._sessions[at]

    def finish(self) -> Any | None:
        return self._sessions or None

    def describe(self, names: Names) -> Description:
        """The sessions, and the results that went out of those that stay open."""
        open_ = [(session[_START], session[_END], session[SESSION_ACC]) for session in self._sessions]
        sent = {session[_START]: session[_RESULT] for session in self._sessions if session[_RESULT] is not None}
        return (*windows(open_, self._accumulators.kept, names, "session"), *results(sent, names))

    def _touched(self, start: int, end: int) -> list[list[Any]]:
        """The sessions that [start, end) meets: at most two, since no session is shorter than the gap."""
        sessions = self._sessions
        at = bisect_left(sessions, start, key=_start_of)
        near = sessions[max(at - 1, 0) : at + 1]
        return [session for session in near if session[_START] <= end and start <= session[_END]]

    def _grown(self, start: int, end: int, touched: list[list[Any]], out: Output) -> list[Any]:
        """The one session that holds the new record and all that it touches."""
        if not touched:
            session = [start, end, (out.seq, out.step), self._create(), None]
            self._sessions.insert(bisect_left(self._sessions, start, key=_start_of), session)
            self._set_timers(session, out)
            return session
        bounds = min(start, touched[0][_START]), max(end, touched[-1][_END])
        if bounds == (touched[0][_START], touched[0][_END]):
            return touched[0]
        for old in touched:
            self._forget_timers(old, out)
            if old[_RESULT] is not None:
                out.emit(DELETE, old[_RESULT])
        # Of two in one bucket the later one comes first: Flink looks at it first.
        first, *others = sorted(reversed(touched), key=lambda old: _bucket(old[_START], old[_END]))
        for other in others:
            self._merge(first[SESSION_ACC], other[SESSION_ACC])
        merged: list[Any] = [*bounds, min(old[_ORIGIN] for old in touched), first[SESSION_ACC], None]
        at = bisect_left(self._sessions, touched[0][_START], key=_start_of)
        self._sessions[at : at + len(touched)] = [merged]
        self._set_timers(merged, out)
        return merged

    def _create(self) -> list[Any]:
        return self._accumulators.create()

    def _merge(self, into: list[Any], other: list[Any]) -> None:
        self._accumulators.merge(into, other)

    def _set_timers(self, session: list[Any], out: Output) -> None:
        start, end, origin = session[:3]
        if end - 1 > out.watermark_ms:
            out.set_timer(end - 1, (_FIRE, start, end), origin)
        if self._lateness:
            out.set_timer(end - 1 + self._lateness, (_CLOSE, start, end), origin)

    def _forget_timers(self, session: list[Any], out: Output) -> None:
        start, end = session[:2]
        out.delete_timer(end - 1, (_FIRE, start, end))
        if self._lateness:
            out.delete_timer(end - 1 + self._lateness, (_CLOSE, start, end))

    def _fire_now_or_early(self, session: list[Any], touched: list[list[Any]], out: Output) -> None:
        start, end = session[:2]
        if end - 1 <= out.watermark_ms:
            self._fire(session, out, on_time=True)
            return
        if self._each_record or any(other is not session and other[_RESULT] is not None for other in touched):
            self._fire(session, out, on_time=False)
        if self._early:
            early_ms = self._early_ms((start, end), out.watermark_ms)
            if early_ms is not None:
                out.set_timer(early_ms, (_EARLY, start, end), session[_ORIGIN])

    def _fire(self, session: list[Any], out: Output, *, on_time: bool) -> None:
        start, end = session[:2]
        after = self._result(session[SESSION_ACC], (start, end))
        self._replace(session[_RESULT], after, out)
        session[_RESULT] = after
        if on_time:
            out.window_fired(start, end)


def _bucket(start: int, end: int) -> int:
    """Where Java's HashSet puts a Flink TimeWindow: the first of two sessions takes the other one in.

    It decides the order of a collected list, and nothing else.
    """
    mask = 0xFFFFFFFF
    odd = ((end << 1) + 1) & mask
    inverse = odd * odd * odd & mask
    for _ in range(3):
        inverse = inverse * (2 - odd * inverse) & mask
    code = (start + inverse) & mask
    return (code ^ (code >> 16)) & 15
