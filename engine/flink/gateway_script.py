"""A question as statements for a SQL Gateway, whose cluster sees none of our files.

The records are texts in the statement that creates a table of numbers (`datagen`, a sequence at parallelism 1), which
picks the record of its number: so they arrive in their order, one by one if asked, with their event time and watermark.
The tables of the script are views of it. All of them have one watermark, the smallest of their own; a pipeline in which
that makes a difference cannot be asked there, nor one that needs what a view lacks, such as a primary key.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from engine.flink.question import NotAskable, Question
from engine.model.types import quote

MOST: Final = 2_000
"""Records of a question."""
MOST_CHARACTERS: Final = 1_000_000
"""The same, of all their values."""
SETTINGS: Final = {
    "execution.runtime-mode": "streaming",
    "parallelism.default": "1",
    "pipeline.auto-watermark-interval": "0 ms",
    "execution.buffer-timeout.interval": "0 ms",
    "state.backend.type": "rocksdb",
    "table.local-time-zone": "UTC",
}
"""The configuration of a session, as the own Flink has it."""
_RECORDS: Final = "studio records"
_TIME: Final = "studio time"
_OP: Final = "studio kind"
_STARTING_SECONDS: Final = 2
# Between records, between values, and NULL. A value that has one of them cannot be given.
_RECORD, _VALUE, _NULL = "\x1d", "\x1f", "\x1e"
_SEPARATORS: Final = frozenset((_RECORD, _VALUE, _NULL))
# A constant of a Java class has up to 65,535 bytes.
_CHUNK: Final = 16_000
_NOT_PRINTED: Final = re.compile("[\x00-\x1f\x7f-\x9f]")
_KIND, _TABLE, _FIRST = 0, 1, 2
_KINDS: Final = {"+I": "INSERT", "-U": "UPDATE_BEFORE", "+U": "UPDATE_AFTER", "-D": "DELETE"}


def statements(question: Question) -> Iterator[str]:
    """The statements that create the tables and views of a question. Raises NotAskable."""
    job = question.job
    _require(question)
    yield _records(question)
    for table in job["tables"]:
        yield from _views(table)
    for name, sql in job["views"]:
        yield f"CREATE TEMPORARY VIEW {quote(name)} AS {sql}"


def _require(question: Question) -> None:
    job, reason = question.job, ""
    types = {_time_type(table) for table in job["tables"] if table["time"]}
    keyed = [table["name"] for table in job["tables"] if table["mode"] == "upsert" or table["key"]]
    size = sum(len(str(value)) for arrival in job["arrivals"] for value in arrival)
    if len(job["arrivals"]) > MOST or size > MOST_CHARACTERS:
        reason = (
            f"a SQL Gateway is given the records in a statement: up to {MOST:,} with {MOST_CHARACTERS:,} characters; "
            f"these are {len(job['arrivals']):,} with {size:,}. Ask an installed Flink."
        )
    elif question.apart:
        reason = (
            f"{question.apart} goes by the watermark of some of the sources, and the records that a SQL Gateway is "
            "given have one watermark. Ask an installed Flink."
        )
    elif len(types) > 1:
        reason = "its event times have two types, and the records that a SQL Gateway is given have one."
    elif keyed:
        reason = f"{keyed[0]} has a primary key, which rows in a statement cannot have. Ask an installed Flink."
    elif job["sink_key"] is not None:
        reason = "what an upsert sink receives cannot be fetched from a SQL Gateway. Ask an installed Flink."
    elif any(isinstance(value, str) and _SEPARATORS & {*value} for arrival in job["arrivals"] for value in arrival):
        reason = "a value has a control character (1D, 1E or 1F) that separates the values given to a SQL Gateway."
    if reason:
        raise NotAskable(reason, question.sink)


def _records(question: Question) -> str:
    """The table of all records: their text, the event time, the watermark after each."""
    job = question.job
    timed = [table["name"] for table in job["tables"] if table["time"]]
    kind = next((_time_type(table) for table in job["tables"] if table["time"]), "TIMESTAMP_LTZ(3)")
    records, times, marks = [], [], []
    latest: dict[str, int] = {}
    carries = {table["name"]: table["marks"] for table in job["tables"]}
    for (name, symbol, *values), (time_ms, mark_ms) in zip(job["arrivals"], question.times, strict=True):
        if carries[name]:
            *values, mark_ms = values
        if mark_ms is not None:
            latest[name] = mark_ms
        records.append(_VALUE.join((symbol or "", name, *(_NULL if value is None else str(value) for value in values))))
        times.append(str(time_ms or 0))
        marks.append(str(min(latest.values())) if len(latest) == len(timed) and latest else _NULL)
    per_second = job["rows_per_second"]
    # Those that arrive while an operator starts lose their order between its inputs.
    start = -math.ceil(_STARTING_SECONDS * (per_second or 0))
    pace = {"rows-per-second": f"{per_second:g}"} if per_second else {}
    options = {
        "connector": "datagen",
        "fields.i.kind": "sequence",
        "fields.i.start": str(start),
        "fields.i.end": str(max(len(records), 1) - 1),
        **pace,
    }
    given_options = ", ".join(f"'{name}' = '{value}'" for name, value in options.items())
    at = _moment(f"COALESCE({_picked(times)}, '0')", kind)
    mark = _moment(f"NULLIF({_picked(marks)}, {_literal(_NULL)})", kind)
    return (
        f"CREATE TEMPORARY TABLE {quote(_RECORDS)} (i BIGINT, r AS {_picked(records)}, "
        f"rt AS {at}, mark AS {mark}, WATERMARK FOR rt AS mark) WITH ({given_options})"
    )


def _views(table: dict[str, Any]) -> Iterator[str]:
    """A table of the script as views of the records."""
    name = table["name"]
    first, of_table = _part(_KIND), f"{_part(_TABLE)} = {_literal(name)}"
    read = [
        f"{_typed(f'NULLIF({_part(at)}, {_literal(_NULL)})', type_)} AS {quote(column)}"
        for at, (column, type_) in enumerate(table["columns"], start=_FIRST)
    ]
    given = f"{', '.join(read)}, rt AS {quote(_TIME)} FROM {quote(_RECORDS)} WHERE {of_table} AND {first} <> ''"
    rows = f"(SELECT {given})"
    if table["mode"] != "insert":
        changes = quote(f"{name} changes")
        yield f"CREATE TEMPORARY VIEW {changes} AS SELECT {first} AS {quote(_OP)}, {given}"
        mapping = ", ".join(f"'{symbol}', '{kind}'" for symbol, kind in _KINDS.items())
        rows = f"FROM_CHANGELOG(input => TABLE {changes}, op => DESCRIPTOR({quote(_OP)}), op_mapping => MAP[{mapping}])"
    columns = [(column, quote(column)) for column, _ in table["columns"]] + [*map(tuple, table["computed"])]
    if table["processing_time"]:
        columns.append((table["processing_time"], "PROCTIME()"))
    items = (f"{quote(_TIME) if column == table['time'] else text} AS {quote(column)}" for column, text in columns)
    yield f"CREATE TEMPORARY VIEW {quote(name)} AS SELECT {', '.join(items)} FROM {rows}"


def _part(at: int) -> str:
    """A value of a record's text."""
    return f"SPLIT_INDEX(r, {_literal(_VALUE)}, {at})"


def _time_type(table: dict[str, Any]) -> str:
    types = dict(table["columns"])
    return str(types.get(table["time"]) or "TIMESTAMP_LTZ(3)")


def _picked(texts: Sequence[str]) -> str:
    """The text of number i; NULL before the first."""
    branches, at = [], 0
    while at < len(texts):
        size, end = 0, at
        while end < len(texts) and (end == at or size + len(texts[end]) < _CHUNK):
            size, end = size + len(texts[end]) + 1, end + 1
        whole = _literal(_RECORD.join(texts[at:end]))
        branches.append(f"WHEN i < {end} THEN SPLIT_INDEX({whole}, {_literal(_RECORD)}, CAST(i - {at} AS INT))")
        at = end
    return f"CASE WHEN i < 0 THEN CAST(NULL AS STRING) {' '.join(branches)} END"


def _moment(text: str, type_: str) -> str:
    """The moment of a text with epoch ms."""
    instant = f"TO_TIMESTAMP_LTZ(CAST({text} AS BIGINT), 3)"
    return instant if type_.startswith("TIMESTAMP_LTZ") else f"CAST({instant} AS TIMESTAMP(3))"


def _typed(text: str, type_: str) -> str:
    """The value of a text; an instant, and a TIMESTAMP, are in epoch ms."""
    if type_ in ("TIMESTAMP_LTZ(3)", "TIMESTAMP(3)"):
        return _moment(text, type_)
    return f"CAST({text} AS {type_})"


def _literal(text: str) -> str:
    """A text as SQL, whatever its characters."""
    escaped = text.replace("\\", "\\\\").replace("'", "''")
    return f"U&'{_NOT_PRINTED.sub(lambda found: f'{chr(92)}{ord(found[0]):04X}', escaped)}'"
