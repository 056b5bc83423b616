"""What another watermark delay, or another allowed lateness, would have kept: asked of a run that is there.

A record is late for an operator once the watermark before its event had reached its bound: the last millisecond of
its (first) window plus the allowed lateness, or its own time where there are no windows. The watermark is the largest
event time so far minus the delay, so with the allowed lateness added to the delay

    kept  <=>  delay + allowed lateness >= needed,    needed = largest event time before - last ms of its window + 1

and one histogram of `needed` answers for every delay and lateness at once. Below several sources the watermark is the
lowest of theirs; all of them are given the same delay here. Nothing is kept of a source without a delay: explicit
watermarks are not moved by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from storage.database import Database
from storage.graph import inputs_of
from storage.lifetimes import FOREVER
from storage.model import Edge, EdgeColumn, Run, Values
from storage.remembered import Remembered
from storage.runs import Runs
from storage.sql import identifier, literal
from storage.tables import EVENTS, LATE, select_columns

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_TIMES: Final = {
    "epoch_ms": "{column}",
    "epoch_s": "{column} * 1000",
    "timestamp": "epoch_ms({column})",
}
# How far below the line a knee stands out, as a part of the whole.
_CLEAR: Final = 0.05
_PLAIN: Final = frozenset({"filter", "project", "union"})


@dataclass(frozen=True)
class Judged:
    """An operator whose late records another delay would change.

    delay_ms: the largest delay of the sources above it. allowed_lateness_ms: None where it knows none. window_ms:
    how far a window reaches, 0 without windows. is_exact: what is said of other delays is what a run would do; not
    so for sessions, which grow together, and where its input itself comes from windows.
    """

    node: str
    operator: str
    sources: tuple[str, ...]
    delay_ms: int
    allowed_lateness_ms: int | None
    window_ms: int
    is_exact: bool


@dataclass(frozen=True)
class Losses:
    """How many records each wait would lose: `needed` rises, counts[i] records need exactly needed[i] ms.

    total: all records with an event time, those that no wait can lose among them.
    """

    total: int
    needed: NDArray[np.int64]
    counts: NDArray[np.int64]

    def lost(self, wait_ms: int) -> int:
        """How many records would be late with a delay and allowed lateness of so much together."""
        return int(self.counts[self.needed > wait_ms].sum())

    @property
    def lossless_ms(self) -> int:
        """The smallest wait that loses nothing."""
        return int(self.needed[-1]) if len(self.needed) else 0

    def knee_ms(self) -> int:
        """Where waiting longer begins to gain little: the point that is farthest below the line between the ends.

        Where there is none, every further wait gains as much as the one before, and nothing is lost at the end.
        """
        import numpy as np

        if len(self.needed) < 3:
            return self.lossless_ms
        waits = np.concatenate(([0], self.needed)).astype(float)
        lost = self.counts.sum() - np.concatenate(([0], np.cumsum(self.counts))).astype(float)
        below = 1 - waits / waits[-1] - lost / max(lost[0], 1)
        best = int(np.argmax(below))
        return int(waits[best]) if below[best] > _CLEAR else self.lossless_ms


@dataclass(frozen=True)
class JudgedRecord:
    """A record that is late now, or would be. needed_ms: the delay and allowed lateness together that keep it."""

    seq: int
    event_time_ms: int
    window_end_ms: int | None
    needed_ms: int
    was_late: bool
    is_late: bool
    values: Values


class WhatIf:
    """Answers for all runs. Every method raises UnknownRun."""

    def __init__(self, database: Database, runs: Runs) -> None:
        self._database = database
        self._runs = runs
        self._known: Remembered[Losses] = Remembered()

    def operators(self, run_id: int) -> tuple[Judged, ...]:
        """The operators of a run that can be asked about, in the order of the graph."""
        run, edges = self._runs.get(run_id), self._runs.edges(run_id)
        found: dict[str, Judged] = {}
        for edge in edges:
            if edge.role == "operator" and edge.node not in found:
                judged = self._judged(run, edge, edges)
                if judged is not None:
                    found[edge.node] = judged
        return tuple(found.values())

    def losses(self, run_id: int, judged: Judged) -> Losses:
        """The histogram of what an operator's records need; made once per run, and remembered."""
        run = self._runs.get(run_id)
        return self._known.get((run_id, judged.node, run.records, run.last_seq), lambda: self._losses(run, judged))

    def _losses(self, run: Run, judged: Judged) -> Losses:
        import numpy as np

        found = self._database.arrow(
            "SELECT greatest(coalesce(needed, 0), 0) AS needed, count(*) AS records "
            f"FROM ({self._needed(run, judged)}) GROUP BY ALL ORDER BY ALL"
        )
        needed = found.column("needed").to_numpy().astype(np.int64)
        counts = found.column("records").to_numpy().astype(np.int64)
        return Losses(int(counts.sum()), needed[needed > 0], counts[needed > 0])

    def records(
        self, run_id: int, judged: Judged, delay_ms: int, lateness_ms: int, *, offset: int = 0, limit: int = 100
    ) -> tuple[tuple[JudgedRecord, ...], tuple[str, ...]]:
        """A page of the records that are late now or would be, in arrival order, and the names of their columns."""
        run = self._runs.get(run_id)
        edge = self._inputs(run, judged.node)[0]
        now = judged.delay_ms + (judged.allowed_lateness_ms or 0)
        then = delay_ms + lateness_ms
        late = identifier(run.schema, LATE)
        rows = self._database.rows(
            f"WITH page AS (SELECT seq, time_ms, end_ms, needed FROM ({self._needed(run, judged)}) "
            f"WHERE needed > {min(now, then)} LIMIT {int(limit)} OFFSET {int(offset)}) "
            f"SELECT p.seq, p.time_ms, p.end_ms, p.needed, p.seq IN (SELECT seq FROM {late} WHERE node = $node), "
            f"p.needed > {then} FROM page p ORDER BY p.seq",
            {"node": judged.node},
        )
        said = self._said(edge, [int(row[0]) for row in rows])
        return tuple(JudgedRecord(*(*row, said.get(int(row[0]), ()))) for row in rows), edge.names

    def _said(self, edge: Edge, seqs: list[int]) -> dict[int, Values]:
        if not seqs:
            return {}
        rows = self._database.rows(
            f"SELECT c.seq{select_columns(edge.columns, 'c')} FROM {identifier(f'run_{edge.run_id}', edge.table)} c "
            "WHERE c.seq BETWEEN $low AND $high AND c.seq IN (SELECT unnest($seqs))",
            {"low": min(seqs), "high": max(seqs), "seqs": seqs},
        )
        return {int(row[0]): row[1:] for row in rows}

    def _inputs(self, run: Run, node: str) -> list[Edge]:
        by_output = {(edge.node, edge.port): edge for edge in self._runs.edges(run.run_id)}
        wires = inputs_of(run.document).get(node, ())
        return [by_output[output] for _, output in wires if output in by_output]

    def _judged(self, run: Run, edge: Edge, edges: Sequence[Edge]) -> Judged | None:
        held = run.holdbacks(edge.node)
        delays = {each.node: each.watermark_delay_ms for each in edges if each.role == "source" and each.node in held}
        known = [delay for delay in delays.values() if delay is not None]
        inputs = self._inputs(run, edge.node)
        if not known or len(known) < len(held) or not inputs or any(_time(each) is None for each in inputs):
            return None
        given = run.parameters(edge.node)
        if edge.operator not in ("window_aggregate", "window_join", "window_topn", "over_aggregate"):
            return None
        if edge.operator == "over_aggregate" and (
            given.get("order", "event_time") != "event_time"
            or given.get("preceding_ms") is not None
            or given.get("preceding_rows") is not None
        ):
            return None
        if edge.operator == "window_topn" and given.get("window_start"):
            return None
        lateness = int(given.get("allowed_lateness_ms") or 0) if edge.operator == "window_aggregate" else None
        return Judged(
            node=edge.node,
            operator=edge.operator,
            sources=tuple(delays),
            delay_ms=max(known),
            allowed_lateness_ms=lateness,
            window_ms=_width(edge.operator, given),
            is_exact=given.get("kind") != "session" and len(set(known)) == 1 and self._is_plain(run, edge.node, edges),
        )

    def _is_plain(self, run: Run, node: str, edges: Sequence[Edge]) -> bool:
        """Whether what comes into a node does not itself depend on a watermark."""
        operators = {edge.node: (edge.role, edge.operator) for edge in edges}
        wires = inputs_of(run.document)
        waiting = [output[0] for _, output in wires.get(node, ())]
        while waiting:
            name = waiting.pop()
            role, operator = operators.get(name, ("", ""))
            if role != "source" and operator not in _PLAIN:
                return False
            waiting += [output[0] for _, output in wires.get(name, ())]
        return True

    def _needed(self, run: Run, judged: Judged) -> str:
        """Every record of the operator's inputs: seq, time_ms, end_ms, needed."""
        given = run.parameters(judged.node)
        events = identifier(run.schema, EVENTS)
        inputs = self._inputs(run, judged.node)
        if [edge.node for edge in inputs] == list(judged.sources) and len(inputs) == 1:
            rows = self._single(events, judged, run)
        else:
            tops = self._tops(events, judged, run)
            union = " UNION ALL ".join(
                f"SELECT c.seq, {_time(edge)} AS time_ms FROM {_table(edge)} c" for edge in inputs
            )
            rows = f"SELECT i.seq, i.time_ms, t.top FROM ({union}) i JOIN ({tops}) t ON t.seq = i.seq"
        end = _end(judged.operator, given)
        bound = "time_ms" if end is None else f"({end}) - 1"
        # The end is worth more than any delay: after it no record can be late for its own source.
        return (
            f"SELECT seq, time_ms, {end or 'NULL::BIGINT'} AS end_ms, "
            f"CASE WHEN top >= {FOREVER // 2} THEN {FOREVER // 2} ELSE top - ({bound}) + 1 END AS needed "
            f"FROM ({rows}) WHERE time_ms IS NOT NULL"
        )

    def _single(self, events: str, judged: Judged, run: Run) -> str:
        """The largest event time before each record of the one source, held back as its operator sees it."""
        (source,) = judged.sources
        held = run.holdbacks(judged.node).get(source, 0)
        return (
            f"SELECT seq, event_time_ms AS time_ms, lag(watermark_ms) OVER () + {judged.delay_ms - held} AS top "
            f"FROM {events} WHERE source = {literal(source)} AND NOT is_end"
        )

    def _tops(self, events: str, judged: Judged, run: Run) -> str:
        """For every event the lowest of the sources' largest event times before it; NULL while one has none."""
        delays = {edge.node: edge.watermark_delay_ms or 0 for edge in self._runs.edges(run.run_id)}
        held = run.holdbacks(judged.node)
        columns, names = [], []
        for at, source in enumerate(judged.sources):
            shift = delays[source] - held.get(source, 0)
            columns.append(
                f"max(CASE WHEN source = {literal(source)} THEN CASE WHEN watermark_ms = {FOREVER} THEN watermark_ms "
                f"ELSE watermark_ms + {shift} END END) OVER (ROWS UNBOUNDED PRECEDING) AS m{at}"
            )
            names.append(f"m{at}")
        known = " AND ".join(f"{name} IS NOT NULL" for name in names)
        lowest = f"least({', '.join(names)})" if len(names) > 1 else names[0]
        return (
            f"SELECT seq, lag(CASE WHEN {known} THEN {lowest} END) OVER () AS top "
            f"FROM (SELECT seq, {', '.join(columns)} FROM {events})"
        )


def _time(edge: Edge) -> str | None:
    """The event time of an edge's rows in ms, as SQL; None where it has none."""
    column: EdgeColumn | None = next((column for column in edge.columns if column.time), None)
    return _TIMES[column.time or ""].format(column=f"c.{identifier(column.stored_as)}") if column else None


def _table(edge: Edge) -> str:
    return identifier(f"run_{edge.run_id}", edge.table)


def _width(operator: str, given: Any) -> int:
    """The length of an operator's windows; 0 where it has none."""
    if operator == "over_aggregate":
        return 0
    return int(given.get("size_ms") or given.get("gap_ms") or 0)


def _end(operator: str, given: Any) -> str | None:
    """The end of the first window that a record falls into, as SQL; None without windows."""
    if operator == "over_aggregate":
        return None
    kind = str(given.get("kind") or "tumble") if operator != "window_join" else "tumble"
    if kind == "session":
        return f"time_ms + {int(given['gap_ms'])}"
    names = {"tumble": ("size_ms",), "hop": ("slide_ms",), "cumulate": ("step_ms", "slide_ms")}[kind]
    step = next(int(given[name]) for name in names if given.get(name))
    offset = int(given.get("offset_ms") or 0)
    # DuckDB's remainder has the sign of the dividend: times before 1970 need a second one.
    return f"time_ms - (((time_ms - {offset}) % {step}) + {step}) % {step} + {step}"
