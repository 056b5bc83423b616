"""The kernel of session windows, which records can merge: lateness and firing.

Rows: the event time in ms, then the values that the calls refer to.
Source: Flink UnslicingWindowOperator, MergingWindowSet.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from engine.aggregates.function import AggregateCall
from engine.contract.kernel import Key, Output
from engine.contract.state_in_words import Description, Names
from engine.model.changelog import DELETE
from engine.model.row import Row
from engine.model.windowing import Windowing
from engine.windows.state import results, windows
from engine.windows.window_kernel import CLOSE, COUNTED, EARLY, FIRE, FIRED, LATE, WindowKernel

# A session in the state: start, end, the position of its first record, its accumulator, the last emitted result.
_START, _END, _ORIGIN, SESSION_ACC, _RESULT = range(5)
_start_of = itemgetter(_START)


class SessionWindowKernel(WindowKernel):
    """Sessions of one key: a record within the gap of a session extends it, and merges two that it connects.

    If the bounds of an emitted session change, its result is deleted and inserted again.
    State: per session its bounds, first record, accumulator and last result, in order of time.
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
            self._fire_now_or_early(session, touched, start, out)

    def on_timer(self, time_ms: int, name: Any, out: Output) -> None:
        what, start, end = name
        at = bisect_left(self._sessions, start, key=_start_of)
        if at == len(self._sessions) or self._sessions[at][:_ORIGIN] != [start, end]:
            # An early firing of a session that has grown since.
            return
        if what != CLOSE:
            self._fire(self._sessions[at], out, on_time=what == FIRE)
        if what == CLOSE or (what == FIRE and not self._lateness):
            del self._sessions[at]

    @property
    def held(self) -> int:
        """The number of its accumulators."""
        return len(self._sessions)

    def finish(self) -> Any | None:
        return self._sessions or None

    def describe(self, names: Names) -> Description:
        """The sessions, and the results already emitted for open ones."""
        open_ = [(session[_START], session[_END], session[SESSION_ACC]) for session in self._sessions]
        sent = {session[_START]: session[_RESULT] for session in self._sessions if session[_RESULT] is not None}
        return (*windows(open_, self._accumulators.kept, names, "session"), *results(sent, names))

    def _touched(self, start: int, end: int) -> list[list[Any]]:
        """The sessions that [start, end) touches: at most two, since no session is shorter than the gap."""
        sessions = self._sessions
        at = bisect_left(sessions, start, key=_start_of)
        near = sessions[max(at - 1, 0) : at + 1]
        return [session for session in near if session[_START] <= end and start <= session[_END]]

    def _grown(self, start: int, end: int, touched: list[list[Any]], out: Output) -> list[Any]:
        """The one session that contains the new record and all touched sessions."""
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
        # Of two sessions in one bucket the later one is first: Flink visits it first.
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
            out.set_timer(end - 1, (FIRE, start, end), origin)
        if self._lateness:
            out.set_timer(end - 1 + self._lateness, (CLOSE, start, end), origin)

    def _forget_timers(self, session: list[Any], out: Output) -> None:
        start, end = session[:2]
        out.delete_timer(end - 1, (FIRE, start, end))
        if self._lateness:
            out.delete_timer(end - 1 + self._lateness, (CLOSE, start, end))

    def _fire_now_or_early(self, session: list[Any], touched: list[list[Any]], time_ms: int, out: Output) -> None:
        start, end = session[:2]
        if end - 1 <= out.watermark_ms:
            out.late(time_ms, out.watermark_ms - (end - 1), FIRED, (start, end), used=COUNTED)
            self._fire(session, out, on_time=True)
            return
        if self._each_record or any(other is not session and other[_RESULT] is not None for other in touched):
            self._fire(session, out, on_time=False)
        if self._early:
            early_ms = self._early_ms((start, end), out.watermark_ms)
            if early_ms is not None:
                out.set_timer(early_ms, (EARLY, start, end), session[_ORIGIN])

    def _fire(self, session: list[Any], out: Output, *, on_time: bool) -> None:
        start, end = session[:2]
        after = self._result(session[SESSION_ACC], (start, end))
        self._replace(session[_RESULT], after, out)
        session[_RESULT] = after
        if on_time:
            out.window_fired(start, end)


def _bucket(start: int, end: int) -> int:
    """The bucket of a Flink TimeWindow in Java's HashSet: the first of two sessions absorbs the other one.

    This determines the order of a collected list, and nothing else.
    """
    mask = 0xFFFFFFFF
    odd = ((end << 1) + 1) & mask
    inverse = odd * odd * odd & mask
    for _ in range(3):
        inverse = inverse * (2 - odd * inverse) & mask
    code = (start + inverse) & mask
    return (code ^ (code >> 16)) & 15
