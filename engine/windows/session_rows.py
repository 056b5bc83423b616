"""The kernel of sessions whose rows are emitted unchanged once the session has ended.

Rows: the event time in ms, then the row's columns.
Source: Flink UnalignedWindowTableFunctionOperator.
"""

from __future__ import annotations

from typing import Any

from engine.contract.kernel import Output
from engine.contract.state_in_words import Description, Names, instant, state_table
from engine.model.row import Row
from engine.windows.assigners import Windowing
from engine.windows.session_kernel import SESSION_ACC, SessionWindowKernel


class SessionRowsKernel(SessionWindowKernel):
    """Sessions of one key. State: per session its bounds, first record and rows with their positions."""

    def __init__(self, windowing: Windowing) -> None:
        super().__init__(windowing, (), retracting=False)

    def describe(self, names: Names) -> Description:
        rows = (
            (instant(session[0]), instant(session[1]), *names.show(row, skip=1))
            for session in self._sessions
            for _, _, _, row in session[SESSION_ACC]
        )
        columns = ("session start", "session end", *names.columns(skip=1))
        return (state_table("Rows of open sessions", columns, rows),) if self._sessions else ()

    def _create(self) -> list[Any]:
        return []

    def _merge(self, into: list[Any], other: list[Any]) -> None:
        into.extend(other)

    def _add(self, kind: int, acc: list[Any], row: Row, out: Output) -> None:
        acc.append((out.seq, out.step, kind, row[1:]))

    def _fire(self, session: list[Any], out: Output, *, on_time: bool) -> None:
        start, end = session[:2]
        bounds = (start * 1000, end * 1000, (end - 1) * 1000)
        for _, _, kind, row in sorted(session[SESSION_ACC], key=lambda item: item[:2]):
            out.emit(kind, row + bounds)
        out.window_fired(start, end)
