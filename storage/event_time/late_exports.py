"""The late records of a run as a file: each with its own columns, typed, and why, by how much, and due to what.

The columns about lateness come first, with a prefix that no column of the records has. Records of operators with other
columns share those of the same name; their other columns are empty.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from storage.changelogs.exported_values import Format, instant
from storage.changelogs.exports import exported_columns, write_query
from storage.database.edge_records import records_of
from storage.database.sql import identifier, literal
from storage.errors import ExportFailed
from storage.event_time.late_group import LateGroup, condition_of
from storage.event_time.watermarks import RunWatermarks, combined_before
from storage.library.of_all_runs import OfAllRuns
from storage.library.stored_run import StoredRun
from storage.model import Edge
from storage.spreadsheets import harmless_sql

# Windows and watermarks of the end of the input lie beyond what a timestamp can be.
_END_MS: Final = 1 << 62
_FACTS: Final = {
    "event": "l.seq",
    "operator": "l.node",
    "source": "l.source",
    "outcome": "CASE WHEN l.dropped THEN 'dropped' ELSE 'late but used' END",
    "used": "l.used",
    "why": "l.reason",
    "event_time": "l.event_time_ms",
    "by_ms": "l.lateness_ms",
    "window_start": "l.window_start_ms",
    "window_end": "l.window_end_ms",
    "watermark": "l.watermark_ms",
    "needed_delay_ms": "l.needed_delay_ms",
}
_TIMES: Final = {"event_time", "window_start", "window_end", "watermark"}
_PUSHES: Final = """
SELECT top, min(pushed_at) AS pushed_at FROM (
    SELECT top, lag(seq) OVER (ORDER BY seq) AS pushed_at FROM ({before}))
WHERE top IS NOT NULL GROUP BY top
"""

_REJECTED: Final = ("file", "reason", "raw")


@dataclass(frozen=True)
class LateInput:
    """An input of a node and an edge that feeds it. is_only: no other edge does."""

    node: str
    port: str
    edge: Edge
    is_only: bool


class LateExports(OfAllRuns):
    """The files of all runs' late records."""

    def write(
        self,
        run_id: int,
        path: Path,
        format_: Format,
        *,
        for_spreadsheets: bool = False,
        group: LateGroup | None = None,
    ) -> int:
        """Write a line for each late record of an operator, in order of events; return their number.

        group: only its records. Raises UnknownRun, ExportFailed.
        """
        run = self._runs.stored(run_id)
        late = set(self._database.rows(f"SELECT DISTINCT node, port FROM {run.tables.late}", {}))
        inputs = [input_ for input_ in inputs_of(run) if (input_.node, input_.port) in late]
        if not inputs:
            raise ExportFailed(path, "no record of this run was late")
        prefix = "late_"
        while any(column.stored_as.lower().startswith(prefix) for input_ in inputs for column in input_.edge.columns):
            prefix = f"_{prefix}"
        marks = RunWatermarks(self._database, run)
        pushes = {node: _pushes(run, marks, node) for node in dict.fromkeys(input_.node for input_ in inputs)}
        parts = [
            f"SELECT {_facts(prefix, pushes[input_.node], input_.edge, format_)}"
            f"{exported_columns(input_.edge, format_, safe=for_spreadsheets)} "
            f"FROM {_late(run, input_, pushes[input_.node], group)}"
            for input_ in inputs
        ]
        query = f"{' UNION ALL BY NAME '.join(parts)} ORDER BY {prefix}event, {prefix}operator"
        return write_query(self._database, query, {}, path, format_, "late_records")

    def write_rejected(self, run_id: int, path: Path, format_: Format, *, for_spreadsheets: bool = False) -> int:
        """Write a line for each row that could not be read; return their number. Raises UnknownRun, ExportFailed."""
        is_safe = format_ == "csv" and for_spreadsheets
        texts = {name: harmless_sql(name) if is_safe else name for name in _REJECTED}
        query = (
            f"SELECT node AS source, {texts['file']} AS file, line, {texts['reason']} AS reason, {texts['raw']} AS row "
            f"FROM {self._runs.stored(run_id).tables.rejected}"
        )
        return write_query(self._database, query, {}, path, format_, "rejected_rows")


def inputs_of(run: StoredRun) -> list[LateInput]:
    """The inputs of all nodes."""
    node_inputs = []
    for node in run.pipeline.inputs:
        edges = run.input_edges(node)
        ports = Counter(port for port, _ in edges)
        node_inputs += [LateInput(node, port, edge, ports[port] == 1) for port, edge in edges]
    return node_inputs


def _facts(prefix: str, pushes: str | None, edge: Edge, format_: Format) -> str:
    """The select list about lateness. Times are instants if the edge's event time is one."""
    pushed = "NULL::BIGINT" if pushes is None else "p.pushed_at"
    are_instants = any(column.time and (column.zone or column.type == "timestamp") for column in edge.columns)

    def typed(name: str, sql: str) -> str:
        if name not in _TIMES:
            return sql
        time = instant(f"{sql} * 1000", format_) if are_instants else f"make_timestamp_ms({sql})"
        return f"CASE WHEN abs({sql}) < {_END_MS} THEN {time} END"

    facts = {**{name: typed(name, sql) for name, sql in _FACTS.items()}, "pushed_by_event": pushed}
    return ", ".join(f"{sql} AS {identifier(prefix + name)}" for name, sql in facts.items())


def _late(run: StoredRun, each: LateInput, pushes: str | None, group: LateGroup | None) -> str:
    """The late records l of an input, their records c, and the pushes p. A record that is on no edge has no columns."""
    push = "" if pushes is None else f"ASOF LEFT JOIN ({pushes}) p ON l.bound <= p.top "
    return f"{late_at(run, each, group)} {push}{records_at(each)}"


def late_at(run: StoredRun, each: LateInput, group: LateGroup | None = None) -> str:
    """The late records of an input, or those of a group, as l; each is once, with the first window that it missed."""
    only = "" if group is None else f" AND {condition_of(run, group)}"
    return (
        f"(SELECT *, watermark_ms - lateness_ms AS bound FROM {run.tables.late} WHERE entry = 1 "
        f"AND node = {literal(each.node)} AND port = {literal(each.port)}{only}) l"
    )


def records_at(each: LateInput) -> str:
    """The join of late records l with their columns, as c. A record that is on no edge has none."""
    join = "LEFT" if each.is_only else "INNER"
    return f"{join} JOIN {records_of(each.edge)} c ON c.seq = l.seq AND c.step = l.step"


def _pushes(run: StoredRun, marks: RunWatermarks, node: str) -> str | None:
    """Each step of an operator's watermark with the event that made it; None without sources, or with idle ones."""
    held = run.holdbacks(node)
    if not held or marks.has_turns:
        return None
    before = combined_before(run.tables.events, {source: -by_ms for source, by_ms in held.items()}, marks.starts)
    return _PUSHES.format(before=before)
