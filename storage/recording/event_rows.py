"""Loads the source events of an epoch: `_events`, a row each in arrival order, and `_overview`, blocks for charts.

Most events are already in the files of their sources' edges, with their largest event time so far: these need no sort
and no window function. The other events, ends and explicit watermarks, are inserted between them.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from engine.contract.frames import TIME, TOP
from engine.contract.recorder import ClockFile, EpochOutput
from engine.model.timeline import MAX_WATERMARK
from storage.database.connection import Cursor
from storage.database.late_counts import FROM_TIMER
from storage.database.run_tables import RunTables
from storage.database.sql import literal
from storage.database.tables import BLOCK, STATE
from storage.recording.edge_files import PARQUET, NumberedFiles, columns_of, consecutive

# Up to this many other events are inserted between the clocks' events piece by piece; with more, all are sorted.
_FEW: Final = 1000
_COLUMNS: Final = "seq, source, event_time_ms, watermark_ms, is_end, max_event_time_ms, state"


def append_events(cursor: Cursor, run: RunTables, output: EpochOutput) -> None:
    """Store the epoch's source events, after those of earlier epochs."""
    clocks = consecutive(
        ((clock, clock.first_seq) for clock in output.clocks), lambda clock: (clock.source, clock.delay_ms)
    )
    others = parquet_files(output.watermarks)
    if not clocks and not others:
        return
    late = parquet_files(output.late)
    parameters: dict[str, object] = {"late": late} if late else {}
    pieces = [_of_clocks(part, columns_of(cursor, part.files[0].path)) for part in clocks]
    is_sorted = not others
    starts = [part.low for part in clocks]
    firsts = starts[:1]
    if others:
        parameters["files"] = others
        told = _told(cursor, run, clocks)
        seqs = cursor.execute(
            f"SELECT seq FROM {_read('files')} ORDER BY seq LIMIT {_FEW + 1}", {"files": others}
        ).fetchall()
        if not seqs and not clocks:
            return
        firsts += [int(seq) for (seq,) in seqs[:1]]
        if clocks and len(seqs) <= _FEW:
            for at in sorted({bisect(starts, int(seq)) for (seq,) in seqs}, reverse=True):
                low = starts[at - 1] if at else 0
                bounds = f"seq >= {low}" + (f" AND seq < {starts[at]}" if at < len(starts) else "")
                pieces.insert(at, f"(SELECT {_COLUMNS} FROM ({told}) WHERE {bounds} ORDER BY seq)")
            is_sorted = True
        else:
            pieces.append(f"SELECT {_COLUMNS} FROM ({told})")
    rows = " UNION ALL ".join(pieces)
    if late:
        # A join does not keep the order of its rows.
        of_event = f"SELECT seq FROM {_read('late')} WHERE NOT {FROM_TIMER}"
        state = (
            "CASE WHEN event_time_ms IS NULL THEN NULL "
            f"WHEN seq IN ({of_event} AND is_dropped) THEN 'dropped'::{STATE} "
            f"WHEN seq IN ({of_event}) THEN 'late but used'::{STATE} ELSE state END"
        )
        rows = f"SELECT {_COLUMNS.removesuffix('state') + state} FROM ({rows})"
    if late or not is_sorted:
        rows = f"SELECT * FROM ({rows}) ORDER BY seq"
    cursor.execute(f"INSERT INTO {run.events} {rows}", parameters)
    _sum_up(cursor, run, min(firsts))


def parquet_files(places: Iterable[str]) -> list[str]:
    """The Parquet files in these folders (or these files), without hidden and temporary ones."""
    files: list[str] = []
    for place in map(Path, places):
        if place.is_file():
            files.append(str(place))
            continue
        for file in sorted(place.rglob("*.parquet")):
            if not any(part.startswith((".", "_")) for part in file.relative_to(place).parts):
                files.append(str(file))
    return files


def _of_clocks(part: NumberedFiles[ClockFile], columns: set[str]) -> str:
    """The events of a source's files. A source without event time has no TIME and TOP columns."""
    clock = part.files[0]
    time = TIME if TIME in columns else "NULL::BIGINT"
    top = TOP if TOP in columns else "NULL::BIGINT"
    before = [clock.top_before_ms for clock in part.files]
    if any(top_ms is not None for top_ms in before):
        top = f"greatest({top}, {part.each(before)})"
    watermark = "NULL::BIGINT" if clock.delay_ms is None else f"{top} - {clock.delay_ms}"
    return (
        f"SELECT {part.seq} AS seq, {literal(clock.source)} AS source, {time} AS event_time_ms, "
        f"{watermark} AS watermark_ms, false AS is_end, {top} AS max_event_time_ms, {_state(time, top)} AS state "
        f"FROM {part.relation} WHERE {part.condition}"
    )


def _told(cursor: Cursor, run: RunTables, clocks: Sequence[NumberedFiles[ClockFile]]) -> str:
    """The events of the watermark files, $files. Largest event times before them are from earlier epochs and clocks."""
    tops: dict[str, int] = {}
    for part in clocks:
        top, source = _top(cursor, part), part.files[0].source
        if top is not None:
            tops[source] = max(top, tops.get(source, top))
    by_clocks = "".join(f" UNION ALL SELECT {literal(source)}, {top}::BIGINT" for source, top in tops.items())
    return f"""
        SELECT seq, source, event_time_ms, watermark_ms, is_end, max_event_time_ms,
            {_state("event_time_ms", "max_event_time_ms")} AS state
        FROM (
            SELECT f.*, greatest(earlier_ms, max(event_time_ms) OVER
                (PARTITION BY source ORDER BY seq ROWS UNBOUNDED PRECEDING)) AS max_event_time_ms
            FROM {_read("files")} f LEFT JOIN (
                SELECT source, max(high_ms) AS earlier_ms
                FROM (SELECT source, high_ms FROM {run.overview}{by_clocks}) GROUP BY source
            ) USING (source))
    """


def _top(cursor: Cursor, part: NumberedFiles[ClockFile]) -> int | None:
    """The largest event time of a source at the end of these files."""
    tops = [clock.top_before_ms for clock in part.files]
    if TOP in columns_of(cursor, part.files[0].path):
        row = cursor.execute(f"SELECT max({TOP}) FROM {part.relation} WHERE {part.condition}").fetchone()
        tops.append(row[0] if row else None)
    return max((top for top in tops if top is not None), default=None)


def _state(time: str, top: str) -> str:
    return (
        f"CASE WHEN {time} IS NULL THEN NULL::{STATE} WHEN {time} < {top} THEN 'out of order'::{STATE} "
        f"ELSE 'in time'::{STATE} END"
    )


def summary(run: RunTables, where: str) -> str:
    """The rows of the overview for some events, as SQL."""
    return f"""
        SELECT seq // {BLOCK} AS block, source, state::VARCHAR AS state, min(event_time_ms) AS low_ms,
            arg_min(seq, event_time_ms) AS low_seq, max(event_time_ms) AS high_ms,
            arg_max(seq, event_time_ms) AS high_seq, count(event_time_ms) AS records,
            max(watermark_ms) FILTER (watermark_ms < {MAX_WATERMARK}) AS watermark_ms
        FROM {run.events} WHERE {where} GROUP BY ALL ORDER BY block
    """


def _sum_up(cursor: Cursor, run: RunTables, first: int) -> None:
    cursor.execute(f"INSERT INTO {run.overview} {summary(run, f'seq >= {first}')}")


def _read(parameter: str) -> str:
    return f"read_parquet(${parameter}, {PARQUET})"
