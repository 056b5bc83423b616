"""The frames between the parts of the engine, and those that it hands to a recorder: names, Spark DDL, Arrow schemas.

No other module spells these names.

    changelog    SEQ, STEP, KIND, <columns>                            a node's output in Spark and as files
    unit         KIND?, WATERMARK?, <columns>, TIME, TOP, UNIT         a source's file: its rows are events in order
    source rows  ORDINAL, KIND, WATERMARK, <columns>, FILE, LINE, RAW, REASON      what Spark reads of a source
    gathered     PORT, SEQ, STEP, KIND, __k0.., __v0_0..               the input of a keyed step
    bundled      ... , END_SEQ, END_STEP, PLACE                        the same in mini-batch
    state        __k0.., STATE | the columns of a columnar kernel      what is kept of keys between epochs
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from engine.schema import Schema, arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

SEQ: Final = "__seq"
STEP: Final = "__step"
KIND: Final = "__kind"
POSITION: Final = (SEQ, STEP, KIND)
CHANGELOG_DDL: Final = f"{SEQ} bigint, {STEP} binary, {KIND} tinyint"

PORT: Final = "__port"
STATE: Final = "__state"
END_SEQ: Final = "__end_seq"
END_STEP: Final = "__end_step"
PLACE: Final = "__place"

ORDINAL: Final = "__ordinal"
WATERMARK: Final = "__watermark"
TIME: Final = "__time"
"""The event time of a source's record in ms."""
TOP: Final = "__top"
"""The largest event time in ms of a source file's rows so far."""
UNIT: Final = "__unit"
"""The number of a source file."""

FILE: Final = "__file"
LINE: Final = "__line"
RAW: Final = "__raw"
REASON: Final = "__reason"
"""Why a row was rejected; null in records."""

REJECTED_COLUMNS: Final = (FILE, LINE, RAW, REASON)
SOURCE_ROWS_DDL: Final = (
    f"{ORDINAL} bigint, {KIND} tinyint, {WATERMARK} bigint, {{columns}}, "
    f"{FILE} string, {LINE} bigint, {RAW} string, {REASON} string"
)


def key_name(at: int) -> str:
    """The column of a part of the key."""
    return f"__k{at}"


def value_name(port: int, at: int) -> str:
    """The column of a value of an input."""
    return f"__v{port}_{at}"


def changelog_ddl(schema: Schema) -> str:
    """A changelog as Spark's DDL."""
    return f"{CHANGELOG_DDL}, {schema.ddl()}" if schema.columns else CHANGELOG_DDL


def changelog_schema(schema: Schema) -> pa.Schema:
    """A changelog as an Arrow schema."""
    import pyarrow as pa

    position = [(SEQ, pa.int64()), (STEP, pa.binary()), (KIND, pa.int8())]
    return pa.schema([*position, *((column.name, arrow_type(column.type)) for column in schema)])


def source_rows_schema(schema: Schema) -> pa.Schema:
    """What Spark reads of a source, records and rejected rows, as an Arrow schema."""
    import pyarrow as pa

    head = [(ORDINAL, pa.int64()), (KIND, pa.int8()), (WATERMARK, pa.int64())]
    place = [(FILE, pa.string()), (LINE, pa.int64()), (RAW, pa.string()), (REASON, pa.string())]
    return pa.schema([*head, *((column.name, arrow_type(column.type)) for column in schema), *place])


def watermarks_schema() -> pa.Schema:
    """A source's events: event_time_ms is null for an end or an explicit watermark; watermark_ms is null before the
    source's first, and 9223372036854775807 after its end.
    """
    import pyarrow as pa

    times = [("event_time_ms", pa.int64()), ("watermark_ms", pa.int64())]
    return pa.schema([("seq", pa.int64()), ("source", pa.string()), *times, ("is_end", pa.bool_())])


def late_schema() -> pa.Schema:
    """Late records: the position is the input record's, the watermark the operator's before it.

    The window's columns are null where there is no window; is_lost is false where another window took the record.
    """
    import pyarrow as pa

    times = ("event_time_ms", "window_start_ms", "window_end_ms", "watermark_ms", "lateness_ms")
    return pa.schema(
        [
            ("node", pa.string()),
            ("port", pa.string()),
            ("seq", pa.int64()),
            ("step", pa.binary()),
            *((name, pa.int64()) for name in times),
            ("reason", pa.string()),
            ("is_lost", pa.bool_()),
        ]
    )


def fires_schema() -> pa.Schema:
    """Windows that fired: seq is the event whose watermark fired them. A window may come several times."""
    import pyarrow as pa

    numbers = ("seq", "window_start_ms", "window_end_ms")
    return pa.schema([("node", pa.string()), *((name, pa.int64()) for name in numbers)])


def rejected_schema() -> pa.Schema:
    """Rows that could not be read: the file and the line are those that a person looks for."""
    import pyarrow as pa

    texts = [("raw", pa.string()), ("reason", pa.string())]
    return pa.schema([("node", pa.string()), ("file", pa.string()), ("line", pa.int64()), *texts])


def key_times_schema() -> pa.Schema:
    """The keys that took an operator longest: the key's values as a JSON array."""
    import pyarrow as pa

    return pa.schema([("key", pa.string()), ("ns", pa.int64()), ("records", pa.int64())])
