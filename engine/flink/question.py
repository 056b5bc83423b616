"""A run as a job for Flink (`engine.flink.inside`): its sources' records as recorded, and the pipeline's own SQL.

Records have the numbers that they arrived with, so those of several sources interleave as they did. Where Flink's own
watermark, the largest event time so far minus the delay, after each record, is not the recorded one, the job carries
each watermark, and the end of each source, explicitly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from engine.contract.frames import KIND, SEQ
from engine.contract.operator import Operator
from engine.contract.source import Source
from engine.contract.step import Keyed
from engine.errors import SourceError, StudioError
from engine.expressions.analyzer import TypeRules
from engine.flink.values import plain
from engine.local import LocalRun
from engine.model.changelog import SYMBOLS, UpdateKind
from engine.model.combined_watermark import holdbacks_of
from engine.model.pipeline import Pipeline
from engine.model.schema import Column, TimeUnit
from engine.model.timeline import MAX_WATERMARK
from engine.model.types import BINARY, Timestamp, quote
from engine.planner import NodePlan, Plan
from engine.runtime.steps import step_of
from engine.script import sql_of
from engine.script.node_ids import node_id_of
from engine.script.parts import Insert, Parts
from engine.script.reading import script_of
from engine.script.statements import Cursor
from engine.script.taken_apart import taken_apart
from engine.sql.dialect import Flink

MOST: Final = 20_000
"""Records of a run that Flink is asked about."""
MOST_PACED: Final = 1_000
"""The same where two inputs meet: there records come one by one, so that none overtakes another."""
PER_SECOND: Final = 50
# The end of time, as far as SQL's timestamps go: the year 9999.
_END_MS: Final = 253_402_300_799_999
_QUERY: Final = ("SELECT", "WITH", "(")
_OURS: Final = ("Not in Flink:", "Flink may not support", "Flink has no", "In Flink only")
_PROCTIME: Final = re.compile(r"PROCTIME\s*\(\s*\)", re.IGNORECASE)


class NotAskable(StudioError):
    """Flink cannot be asked about a run. The sentence has the reason."""


@dataclass(frozen=True)
class Question:
    """A job for Flink about the records of a sink.

    times: of each arrival, its event time and its source's watermark after it, in ms; None without. apart: a node whose
    watermark is not that of all sources together; empty if there is none.
    """

    sink: str
    job: dict[str, Any]
    times: tuple[tuple[int | None, int | None], ...] = ()
    apart: str = ""

    def slowly(self, per_second: float) -> Question:
        """The same, one record after the other."""
        return replace(self, job={**self.job, "rows_per_second": per_second})


def question(pipeline: Pipeline, planned: Plan, run: LocalRun, sink: str, folder: Path) -> Question:
    """The question about a sink. planned, run: of the pipeline over its recordings. Raises NotAskable, StudioError."""
    above = _above(planned, sink)
    for reason in _reasons(planned, above):
        raise NotAskable(reason, sink)
    parts, insert = _script(pipeline, planned, folder, sink, above)
    sources = [node for node in planned.sources if node.id in above]
    is_paced = any(len(node.inputs) > 1 for node in planned.nodes if node.id in above)
    has_marks = any(not _is_plain(node, run) for node in sources if node.schema.event_time) or not _end_last(
        sources, run
    )
    # Also of those that other sinks read: the script's views are of all of them.
    names = {node.id: _name_of(node.id, parts) for node in planned.sources}
    arrivals = sorted(
        (event for node in sources for event in _events(node, run, names[node.id], has_marks=has_marks)),
        key=lambda event: event[0],
    )
    most = MOST_PACED if is_paced else MOST
    if len(arrivals) > most:
        why = " Where two inputs meet, they come one by one." if is_paced else ""
        message = f"Flink is asked about up to {most:,} records; these are {len(arrivals):,}.{why}"
        raise NotAskable(message, sink)
    plan_of_sink = planned.node(sink)
    is_upsert = getattr(getattr(plan_of_sink.operator, "mode", None), "value", "") == "upsert"
    job = {
        "tables": [
            _table(node, names[node.id], parts, has_marks=has_marks and node.id in above) for node in planned.sources
        ],
        "arrivals": [event for _, event in arrivals],
        "rows_per_second": PER_SECOND if is_paced else None,
        "views": [[name, _query_of(view)] for name, view in parts.views.items() if name not in names.values()],
        "sql": _query_of_insert(insert, sink),
        "sink_key": list(plan_of_sink.row_key or ()) if is_upsert else None,
        "options": dict(pipeline.options),
        "plan": True,
    }
    times = {
        node.id: {mark.seq: (mark.event_time_ms, mark.watermark_ms) for mark in run.marks[node.id]} for node in sources
    }
    of_table = {names[node.id]: times[node.id] for node in sources}
    return Question(
        sink,
        job,
        tuple(of_table[event[0]].get(seq, (None, None)) for seq, event in arrivals),
        _apart(planned, sources, above),
    )


def _apart(planned: Plan, sources: Sequence[NodePlan], above: set[str]) -> str:
    """The first node whose watermark is not that of all sources together."""
    timed = {node.id for node in sources if node.schema.event_time}
    for node in planned.nodes:
        if node.id in above and isinstance(node.operator, Operator):
            step = step_of(planned, node)
            if isinstance(step, Keyed) and step.uses_time and {*holdbacks_of(node.above)} != timed:
                return node.id
    return ""


def _above(planned: Plan, sink: str) -> set[str]:
    """A node and all above it."""
    above: set[str] = set()
    waiting = [sink]
    while waiting:
        node = waiting.pop()
        if node not in above:
            above.add(node)
            waiting += [input_.node for input_ in planned.node(node).inputs]
    return above


def _reasons(planned: Plan, above: set[str]) -> Iterator[str]:
    """Why Flink cannot be asked, as far as the plan says it."""
    if planned.state_expires:
        yield "state expires by the machine's clock in Flink, and by the run's own here: remove the state TTL to ask."
    if planned.drops_retractions:
        yield "retraction is switched off in this pipeline, which Flink cannot do."
    for node in planned.sources:
        if node.id not in above:
            continue
        assert isinstance(node.operator, Source)
        if node.id in planned.tables:
            yield f"{node.id} is looked up; Flink would ask the table itself, which is not in the records of the run."
        if node.operator.processing_time:
            yield f"{node.id} has recorded times of arrival; Flink's processing time is the machine's clock."
        for column in node.schema:
            if column.type.is_nested or column.type == BINARY:
                yield f"{node.id}.{column.name} is {column.type.flink}, whose values cannot be given to Flink as texts."


def _script(pipeline: Pipeline, planned: Plan, folder: Path, sink: str, above: set[str]) -> tuple[Parts, Insert]:
    """The pipeline's script, taken apart, and the INSERT of the sink."""
    analyzer = TypeRules()
    try:
        written = sql_of(pipeline, analyzer, folder)
    except SourceError:
        # A file of the sources is gone; the recordings have its columns.
        written = sql_of(planned.pipeline, analyzer, folder)
    for warning in written.warnings:
        node, _, sentence = warning.partition(": ")
        if node in above and sentence.startswith(_OURS):
            raise NotAskable(sentence[0].lower() + sentence[1:], node)
    parts = taken_apart(written.text)
    if parts.functions:
        message = "its functions in Python are not sent to Flink."
        raise NotAskable(message, sink)
    jobs = script_of(written.text, analyzer, folder, pipeline.name).jobs
    for job, insert in zip(jobs, parts.inserts, strict=False):
        if job == sink and not insert.columns:
            return parts, insert
    message = "no INSERT of the pipeline's SQL fills it alone, so there is no query to ask about."
    raise NotAskable(message, sink)


def _name_of(source: str, parts: Parts) -> str:
    """The name that the script has for a source."""
    return next((name for name in (*parts.views, *parts.tables) if node_id_of(name) == source), source)


def _query_of(view: Any) -> str:
    """The query of a view."""
    cursor = Cursor(view)
    cursor.skip("AS")
    return str(view.after(cursor.at).sql)


def _query_of_insert(insert: Insert, sink: str) -> str:
    statement = insert.statement
    if not statement.begins("INSERT"):
        return statement.sql
    cursor = Cursor(statement)
    cursor.expect("INSERT")
    if not cursor.skip("OVERWRITE"):
        cursor.expect("INTO")
    cursor.skip("TABLE")
    cursor.name()
    if not any(cursor.sees(word) for word in _QUERY):
        message = "its INSERT has a PARTITION, which is part of no query."
        raise NotAskable(message, sink)
    return statement.after(cursor.at).sql


def _is_plain(node: NodePlan, run: LocalRun) -> bool:
    """Whether the watermarks of a source are those that Flink makes of its records."""
    assert isinstance(node.operator, Source)
    top = None
    for mark in run.marks[node.id][:-1]:
        if mark.event_time_ms is None:
            return False
        top = max(mark.event_time_ms, mark.event_time_ms if top is None else top)
        if mark.watermark_ms != top - (node.operator.watermark_delay_ms or 0):
            return False
    return True


def _end_last(sources: Sequence[NodePlan], run: LocalRun) -> bool:
    """Whether all sources end after all their records."""
    last = max((run.records(node.id).column(SEQ).to_pylist()[-1:] or [0])[0] for node in sources)
    return all(run.marks[node.id][-1].seq > last for node in sources if node.schema.event_time)


def _events(node: NodePlan, run: LocalRun, name: str, *, has_marks: bool) -> Iterator[tuple[int, list[Any]]]:
    """The events of a source as arrivals, with their numbers."""
    records = run.records(node.id)
    marks = {mark.seq: mark.watermark_ms for mark in run.marks[node.id]}
    time = node.schema.event_time
    carries = has_marks and time is not None
    columns = [records.column(name) for name in (SEQ, KIND)] + [records.column(field.name) for field in node.schema]
    seqs = set()
    for seq, kind, *row in zip(*(column.to_pylist() for column in columns), strict=True):
        seqs.add(seq)
        values = [_given(value, column) for value, column in zip(row, node.schema, strict=True)]
        yield seq, [name, SYMBOLS[kind], *values, *([marks.get(seq)] if carries else [])]
    if not carries:
        return
    assert time is not None
    for seq, mark in marks.items():
        if seq in seqs or mark is None:
            continue
        at = _END_MS if mark >= MAX_WATERMARK else mark
        moment = at // 1000 if time.time is TimeUnit.EPOCH_S else at
        yield seq, [name, None, *(moment if column is time else None for column in node.schema), at]


def _given(value: Any, column: Column) -> Any:
    """A value as `inside` takes it."""
    if isinstance(value, datetime) and isinstance(column.type, Timestamp) and column.type.precision != 3:
        return value.replace(tzinfo=None).isoformat(sep=" ")
    return plain(value)


def _table(node: NodePlan, name: str, parts: Parts, *, has_marks: bool) -> dict[str, Any]:
    """A source as a table of the job."""
    source, time = node.operator, node.schema.event_time
    assert isinstance(source, Source)
    computed: list[list[str]] = []
    processing_time = None
    ddl = parts.tables.get(name) or parts.tables.get(f"{name} rows")
    for column in ddl.computed if ddl else ():
        text = column.value.sql(dialect=Flink)
        if column.name in node.schema:
            continue
        if _PROCTIME.fullmatch(text):
            processing_time = column.name
        else:
            computed.append([column.name, text])
    timed = time.name if time else None
    if time is not None and time.time is not TimeUnit.TIMESTAMP:
        timed = f"{time.name}_time"
        factor = " * 1000" if time.time is TimeUnit.EPOCH_S else ""
        if timed not in [column_name for column_name, _ in computed]:
            computed.append([timed, f"TO_TIMESTAMP_LTZ({quote(time.name)}{factor}, 3)"])
    is_insert = node.mode.is_insert_only
    upserts = source.update_kind is UpdateKind.ONLY_UPDATE_AFTER
    key = list(getattr(source, "primary_key", ()) or ())
    # Marks are rows that a filter takes out again, which Flink allows above no version of a temporal join.
    if has_marks and time is not None and (key or not is_insert):
        message = "its watermarks, or its end, cannot be set among changes of rows."
        raise NotAskable(message, node.id)
    return {
        "name": name,
        "columns": [[column.name, column.type.flink] for column in node.schema],
        "computed": computed,
        "time": timed,
        "delay_ms": source.watermark_delay_ms or 0,
        "processing_time": processing_time,
        "mode": "insert" if is_insert else "upsert" if upserts else "all",
        "key": key,
        "marks": has_marks and time is not None,
    }
