"""The frames between the parts of the engine and for the recorder: column names, Spark DDL, Arrow schemas.

No other module contains these names. A column that is only used in one module is named there.

    changelog    SEQ, STEP, KIND, <columns>                            a node's output in Spark and as files
    unit         KIND?, WATERMARK?, <columns>, TIME, TOP, UNIT         a source's file: its rows are events in order
    source rows  ORDINAL, KIND, WATERMARK, <columns>, FILE, LINE, RAW, REASON      a source as read by Spark
    gathered     PORT, SEQ, STEP, KIND, key_name(0).., value_name(0, 0)..          the input of a keyed step
    bundled      ... , END_SEQ, END_STEP, PLACE                        the same in mini-batch
    state        HASH, DUE, IS_EMPTY, key_name(0).., STATE or the columns of a columnar kernel     the state of keys
                 STATE, EXPIRES                                        of a kernel whose state expires
    chunk state  GROUP, the columns of a columnar kernel               the same inside a chunk
    exploded     <columns>, EACH                                       the input of a projection's values
    batch input  <columns>, SEQ, STEP, KIND?, START_MS?, END_MS?; SEQ, WATERMARK_MS      tables of the batch answer

Other frames for the recorder have columns with plain names: watermarks, late records, fired windows,
expired entries, rejected rows, key times.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from engine.model.schema import Schema
from engine.model.types import BIGINT, BINARY, BOOLEAN, INT, STRING, TINYINT, Type

if TYPE_CHECKING:
    import pyarrow as pa

SEQ: Final = "__seq"
STEP: Final = "__step"
KIND: Final = "__kind"
PLACED: Final = (SEQ, STEP)
POSITION: Final = (SEQ, STEP, KIND)

PORT: Final = "__port"
STATE: Final = "__state"
IS_EMPTY: Final = "__is_empty"
"""Whether the state of a key is empty now."""
HASH: Final = "__key_hash"
"""A key's hash, its bits as a BIGINT."""
DUE: Final = "__due"
"""The watermark in ms that a state waits for."""
EXPIRES: Final = "__expires"
"""The time in ms of the recorded clock from which on nothing is left of a state."""
GROUP: Final = "__group"
"""A key's place in its chunk."""
END_SEQ: Final = "__end_seq"
END_STEP: Final = "__end_step"
PLACE: Final = "__place"
ENDS: Final = (END_SEQ, END_STEP, PLACE)
"""In mini-batch: the end of a record's bundle, and the key's place in the bundle."""
FOLDS: Final = ("__fold_seq", "__fold_step", "__fold_place")
"""For a record of an open bundle, the same of the fold of the first phase that contains it."""

ORDINAL: Final = "__ordinal"
"""An event's place among the events of its source, from 0."""
NUMBER: Final = "__recorded_seq"
"""The number of a recorded event in its run."""
RANK: Final = "__rank"
"""A row's place in an order: of an event among all sources, from 0; in a ranking, from 1."""
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
TEXT: Final = "__text"

EACH: Final = "__each"
"""The element of a projection's array for which a record is emitted."""

START_MS: Final = "__start_ms"
END_MS: Final = "__end_ms"
WATERMARK_MS: Final = "__watermark_ms"
"""An operator's watermark before an event; null before the first."""

REJECTED_COLUMNS: Final = (FILE, LINE, RAW, REASON)
EVENTS: Final = (SEQ, TIME, WATERMARK)
"""The stored columns of a source's events that were numbered one by one."""

# What modules call a column of their own is here, too.
_RESERVED: Final = re.compile(
    r"__(?:\d.*|[a-z]|[a-z]\d+(?:_\d+)?|at|of|id|(?:match|column|row)\d*|argument.*|first|last|since|until|start|end"
    r"|begins|gone|taken|nth|one|made|held|late|turn|session|failure|flush|bundle|number|hash|is_full|is_row|keys|rows"
    r"|result|copy|source|in_stream|in_batch|fold_(?:seq|step|place)|seq|step|kind|port|state|is_empty|key_hash|due"
    r"|expires|group|end_seq|end_step|place|ordinal|recorded_seq|rank|watermark|time|top|unit|file|line|raw|reason|text"
    r"|each|before|dropped|start_ms|end_ms|watermark_ms)",
    re.IGNORECASE,
)

_TYPES: Final = {
    SEQ: BIGINT,
    STEP: BINARY,
    KIND: TINYINT,
    PORT: TINYINT,
    STATE: BINARY,
    IS_EMPTY: BOOLEAN,
    HASH: BIGINT,
    DUE: BIGINT,
    EXPIRES: BIGINT,
    GROUP: BIGINT,
    ORDINAL: BIGINT,
    NUMBER: BIGINT,
    RANK: BIGINT,
    WATERMARK: BIGINT,
    WATERMARK_MS: BIGINT,
    TIME: BIGINT,
    TOP: BIGINT,
    UNIT: INT,
    FILE: STRING,
    LINE: BIGINT,
    RAW: STRING,
    REASON: STRING,
    **dict(zip((*ENDS, *FOLDS), (BIGINT, BINARY, BIGINT) * 2, strict=True)),
}

_WATERMARKS: Final = {
    "seq": BIGINT,
    "source": STRING,
    "event_time_ms": BIGINT,
    "watermark_ms": BIGINT,
    "is_end": BOOLEAN,
}
_LATE: Final = {
    "node": STRING,
    "port": STRING,
    "seq": BIGINT,
    "step": BINARY,
    "event_time_ms": BIGINT,
    "window_start_ms": BIGINT,
    "window_end_ms": BIGINT,
    "watermark_ms": BIGINT,
    "lateness_ms": BIGINT,
    "reason": STRING,
    "is_dropped": BOOLEAN,
    "used": STRING,
}
_FIRES: Final = {"node": STRING, "seq": BIGINT, "window_start_ms": BIGINT, "window_end_ms": BIGINT}
_REJECTED: Final = {"node": STRING, "file": STRING, "line": BIGINT, "raw": STRING, "reason": STRING}
_EXPIRED: Final = {
    "node": STRING,
    "port": STRING,
    "seq": BIGINT,
    "step": BINARY,
    "kind": BIGINT,
    "entries": BIGINT,
    "written_ms": BIGINT,
    "expired_ms": BIGINT,
    "now_ms": BIGINT,
}
_KEY_TIMES: Final = {"key": STRING, "ns": BIGINT, "records": BIGINT}


def is_reserved(name: str) -> bool:
    """Whether frames have a column of this name beside those of a pipeline."""
    return _RESERVED.fullmatch(name) is not None


def key_name(at: int) -> str:
    """The column of a part of the key."""
    return f"__k{at}"


def value_name(port: int, at: int) -> str:
    """The column of a value of an input."""
    return f"__v{port}_{at}"


def ddl(*names: str) -> str:
    """Internal columns as Spark's DDL."""
    return _ddl(_TYPES, names)


def arrow_fields(*names: str) -> list[pa.Field]:
    """Internal columns as fields of an Arrow schema."""
    import pyarrow as pa

    return [pa.field(name, _TYPES[name].arrow) for name in names]


def column_fields(schema: Schema) -> list[pa.Field]:
    """A pipeline's columns as fields of an Arrow schema."""
    import pyarrow as pa

    return [pa.field(column.name, column.type.arrow) for column in schema]


def plain_state(*, expires: bool) -> pa.Schema:
    """The columns of a plain kernel in a file of states."""
    import pyarrow as pa

    return pa.schema(arrow_fields(STATE, EXPIRES) if expires else arrow_fields(STATE))


def changelog_ddl(schema: Schema) -> str:
    """A changelog as Spark's DDL."""
    return f"{ddl(*POSITION)}, {schema.ddl()}" if schema.columns else ddl(*POSITION)


def changelog_schema(schema: Schema) -> pa.Schema:
    """A changelog as an Arrow schema."""
    import pyarrow as pa

    return pa.schema([*arrow_fields(*POSITION), *column_fields(schema)])


def source_rows_ddl(schema: Schema) -> str:
    """A source as read by Spark, records and rejected rows, as Spark's DDL."""
    return f"{ddl(ORDINAL, KIND, WATERMARK)}, {schema.ddl()}, {ddl(*REJECTED_COLUMNS)}"


def source_rows_schema(schema: Schema) -> pa.Schema:
    """A source as read by Spark, records and rejected rows, as an Arrow schema."""
    import pyarrow as pa

    return pa.schema(
        [*arrow_fields(ORDINAL, KIND, WATERMARK), *column_fields(schema), *arrow_fields(*REJECTED_COLUMNS)]
    )


def unit_schema(
    schema: Schema, *, has_kinds: bool, has_marks: bool, is_timed: bool, has_numbers: bool = False
) -> pa.Schema:
    """A source's file as an Arrow schema.

    has_kinds: records have their own kinds. has_marks: rows may be explicit watermarks, whose kind is null.
    is_timed: records have an event time. has_numbers: the source is a recording.
    """
    import pyarrow as pa

    head = [KIND] if has_kinds or has_marks else []
    head += ([WATERMARK] if has_marks else []) + ([NUMBER] if has_numbers else [])
    return pa.schema(
        [*arrow_fields(*head), *column_fields(schema), *arrow_fields(*([TIME, TOP] if is_timed else []), UNIT)]
    )


def watermarks_schema() -> pa.Schema:
    """A source's events with their watermarks.

    event_time_ms is null for an end or an explicit watermark; watermark_ms is null before the source's first
    watermark, and 9223372036854775807 after its end.
    """
    return _arrow(_WATERMARKS)


def watermarks_ddl(*names: str) -> str:
    """Columns of this frame as Spark's DDL."""
    return _ddl(_WATERMARKS, names)


def late_schema() -> pa.Schema:
    """Late records: the position is the input record's, the watermark the operator's before it.

    The window's columns are null without a window. is_dropped: the record had no effect at the operator. used: what it
    changed here although it was late; empty if it was dropped, or if it missed this window and others accepted it.
    """
    return _arrow(_LATE)


def late_ddl(*names: str) -> str:
    """Columns of this frame as Spark's DDL."""
    return _ddl(_LATE, names)


def fires_schema() -> pa.Schema:
    """Windows that fired: seq is the event whose watermark fired them. A window may occur several times."""
    return _arrow(_FIRES)


def expired_schema() -> pa.Schema:
    """Records that came after entries of their key had expired; the position is the input record's.

    kind: of the entries, one of those that the step names. written_ms: when they were last written. expired_ms: when
    they went. now_ms: the recorded clock at the record.
    """
    return _arrow(_EXPIRED)


def rejected_schema() -> pa.Schema:
    """Rows that could not be read, with the file and the line as users see them."""
    return _arrow(_REJECTED)


def key_times_schema() -> pa.Schema:
    """The keys that took an operator longest: the key's values as a JSON array."""
    return _arrow(_KEY_TIMES)


def _ddl(types: Mapping[str, Type], names: Iterable[str]) -> str:
    return ", ".join(f"{name} {types[name]}" for name in names)


def _arrow(types: Mapping[str, Type]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([(name, type_.arrow) for name, type_ in types.items()])
