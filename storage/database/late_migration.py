"""The step of `storage.database.migrations` since which each late record says whether it was dropped or used.

Before, an event and an operator had one number of late records, and a join with versions counted those that it used.
What an older run stored suffices to tell: the reason, and the last window that a record missed.
"""

from __future__ import annotations

import json
from typing import Final

from engine.contract.explanation import PlanExplanation
from engine.contract.late_rule import EndOfWindow
from engine.errors import StudioError
from engine.model.windowing import Windowing, WindowKind
from storage.database.connection import Cursor
from storage.database.late_counts import FROM_TIMER, LATE_OPERATORS, LATE_RECORDS
from storage.database.run_tables import SCHEMA_PREFIX, RunTables
from storage.database.sql import literal
from storage.database.tables import LATE_COLUMNS, STATE

_CATALOG: Final = (
    "ALTER TABLE run_problems RENAME COLUMN late TO dropped",
    "ALTER TABLE run_problems ADD COLUMN used BIGINT DEFAULT 0",
    "COMMENT ON TABLE run_problems IS 'Per node and run: its dropped records, those late but used, and rejected rows.'",
    "CREATE TABLE run_late_records (run_id BIGINT NOT NULL, dropped BIGINT NOT NULL, used BIGINT NOT NULL)",
    "COMMENT ON TABLE run_late_records IS 'Per run, in parts to add: the records of its sources that an operator "
    "dropped, and those that were late but used. Each counts once.'",
    "DELETE FROM run_answers",
)
_ENTRIES: Final = """
UPDATE {late} SET entry = o.entry, entries = o.entries FROM (
    SELECT rowid AS place, row_number() OVER (record ORDER BY window_end_ms) AS entry, count(*) OVER record AS entries
    FROM {late} WINDOW record AS (PARTITION BY node, port, seq, step)) o
WHERE {late}.rowid = o.place
"""
# A record that missed the last of its windows missed all of them.
_PARTLY: Final = """
UPDATE {late} SET dropped = false WHERE node = {node} AND (port, seq, step) NOT IN (
    SELECT (port, seq, step) FROM {late} WHERE node = {node} AND {is_last})
"""
_USED: Final = "UPDATE {late} SET dropped = false, used = {used} WHERE reason = {reason} AND {which}"
# The reasons of joins with versions, which used what was late.
_LATE_VERSION: Final = "rows of its time had been joined before it arrived"
_LATE_ROW: Final = "the version of its time had been let go when it arrived"
_VERSION: Final = "a version for the rows of its time that are not joined yet"
_PADDED: Final = "emitted without a version, padded with NULL"


def tell_dropped_from_used(cursor: Cursor) -> None:
    """Add the verdict to the late records of every run, and count both kinds."""
    for statement in _CATALOG:
        cursor.execute(statement)
    runs = cursor.execute(
        "SELECT r.run_id, r.explanation, r.document, coalesce(k.kept_from, 1) FROM runs r "
        "LEFT JOIN run_retention k ON k.run_id = r.run_id "
        f"JOIN duckdb_tables() t ON t.schema_name = '{SCHEMA_PREFIX}' || r.run_id "
        "WHERE t.table_name = '_late' AND t.database_name = current_database() ORDER BY r.run_id"
    ).fetchall()
    for run_id, explanation, document, kept_from in runs:
        run = RunTables(int(run_id))
        _judge(cursor, run, str(explanation), str(document))
        _mark_events(cursor, run)
        _count(cursor, run, is_whole=kept_from == 1)


def _judge(cursor: Cursor, run: RunTables, explanation: str, document: str) -> None:
    for column in ("dropped BOOLEAN", "used VARCHAR", "entry BIGINT", "entries BIGINT"):
        cursor.execute(f"ALTER TABLE {run.late} ADD COLUMN {column}")
    for column, text in LATE_COLUMNS.items():
        cursor.execute(f"COMMENT ON COLUMN {run.late}.{column} IS {literal(text)}")
    cursor.execute(f"UPDATE {run.late} SET dropped = true")
    cursor.execute(_ENTRIES.format(late=run.late))
    cursor.execute(_USED.format(late=run.late, used=literal(_VERSION), reason=literal(_LATE_VERSION), which="true"))
    for node in _padding_joins(document):
        which = f"node = {literal(node)}"
        cursor.execute(_USED.format(late=run.late, used=literal(_PADDED), reason=literal(_LATE_ROW), which=which))
    for (node,) in cursor.execute(f"SELECT DISTINCT node FROM {run.late} WHERE window_end_ms IS NOT NULL").fetchall():
        if is_last := _last_window(_windowing(explanation, node)):
            cursor.execute(_PARTLY.format(late=run.late, node=literal(node), is_last=is_last))


def _padding_joins(document: str) -> set[str]:
    """The nodes that pad left rows without a partner."""
    try:
        nodes = json.loads(document).get("nodes", [])
    except ValueError:
        return set()
    return {str(node.get("id")) for node in nodes if (node.get("parameters") or {}).get("kind") == "left"}


def _windowing(explanation: str, node: str) -> Windowing | None:
    try:
        planned = PlanExplanation.from_json(explanation).node(node)
    except (StudioError, ValueError):
        return None
    rule = planned.late_rule if planned is not None else None
    return rule.bound.windowing if rule is not None and isinstance(rule.bound, EndOfWindow) else None


def _last_window(windowing: Windowing | None) -> str | None:
    """Whether an entry is of the last window of its record, as SQL; None if a record has one window."""
    match windowing:
        case Windowing(kind=WindowKind.HOP, size_ms=size, slide_ms=slide):
            return f"window_end_ms > event_time_ms + {size - (slide or size)}"
        case Windowing(kind=WindowKind.CUMULATE, size_ms=size):
            return f"window_end_ms - window_start_ms = {size}"
        case _:
            return None


def _mark_events(cursor: Cursor, run: RunTables) -> None:
    """The state `late` of events and of the overview's blocks is one of the two that it was."""
    dropped = f"SELECT seq FROM {run.late} WHERE dropped AND NOT {FROM_TIMER}"
    cursor.execute(
        f"ALTER TABLE {run.events} ALTER state TYPE {STATE} "
        f"USING (CASE WHEN state = 'late' THEN 'late but used' ELSE state::VARCHAR END)::{STATE}"
    )
    cursor.execute(f"UPDATE {run.events} SET state = 'dropped' WHERE state = 'late but used' AND seq IN ({dropped})")
    # Retention has summed up the oldest events in a block of their own, and removed their late records.
    in_blocks = f"SELECT (source, seq // 256) FROM {run.events} WHERE state = 'dropped'"
    cursor.execute(
        f"UPDATE {run.overview} SET state = CASE WHEN block < 0 OR (source, block) IN ({in_blocks}) "
        "THEN 'dropped' ELSE 'late but used' END WHERE state = 'late'"
    )


def _count(cursor: Cursor, run: RunTables, *, is_whole: bool) -> None:
    """Count the late records of a run anew; of a run whose older ones were removed, keep the old numbers as dropped."""
    if is_whole:
        cursor.execute("UPDATE run_problems SET dropped = 0 WHERE run_id = ?", [run.run_id])
        cursor.execute(LATE_OPERATORS.format(late=run.late, dropped="dropped"), {"run": run.run_id})
    else:
        cursor.execute(
            "UPDATE run_problems SET used = dropped, dropped = 0 WHERE run_id = $run AND node NOT IN "
            f"(SELECT node FROM {run.late} WHERE dropped) AND node IN (SELECT node FROM {run.late})",
            {"run": run.run_id},
        )
    cursor.execute(LATE_RECORDS.format(late=run.late, dropped="dropped"), {"run": run.run_id})
