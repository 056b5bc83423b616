"""The contract of a columnar kernel: the rule of a stateful operator on whole sorted Arrow batches.

Its specification is the operator's plain kernel (`engine.contract.kernel`), which it equals record for record: the same
positions, kinds and rows, the same late records and fired windows, wherever the input is cut. The planner uses it
where its conditions hold; elsewhere the plain kernel runs.

The records of a task come as chunks. A chunk holds whole keys, sorted by key, and of each key its records in order of
position; only the last key may go on in the next chunk (`goes_on`). What has to be known of a key later is state: rows
of the kernel's own columns beside the key's place in the chunk. The caller hands them back with the key's next records,
in the next chunk or the next epoch.

Timestamps are BIGINT microseconds in here, as for plain kernels; the caller converts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.contract.frames import GROUP, arrow_fields
from engine.model.timeline import MAX_WATERMARK, Timeline

Longs = NDArray[np.int64]
Kinds = NDArray[np.int8]

NEVER: Final = MAX_WATERMARK
"""A watermark that nothing waits for: a source's end fires what is due up to the last ms before."""


@dataclass(frozen=True)
class Records:
    """The input records of a chunk, one element each: by group, then position.

    groups: each record's key, as a place in the chunk's keys. steps: binary; of a step with several inputs the path
    ends with the port's ordinal already. kinds: 0 +I, 1 -U, 2 +U, 3 -D. ports: the input. values: by port, the step's
    values (null in the records of other ports). watermarks: in ms, before each record's event; None without time.
    """

    groups: Longs
    seqs: Longs
    steps: pa.Array
    kinds: Kinds
    ports: Kinds
    values: tuple[tuple[pa.Array, ...], ...]
    watermarks: Longs | None = None

    def __len__(self) -> int:
        return len(self.seqs)


@dataclass(frozen=True)
class Chunk:
    """Some keys with their records and their state.

    keys: the key's columns, an element per group. state: rows of the kernel's `state_schema` with GROUP in front,
    by group; a group has any number of them. Groups may have records without state and state without records.
    goes_on: more records of the last group come in the next chunk of this epoch, so nothing of it may fire that
    they could still change: what waits for the watermark stays state.
    """

    keys: tuple[pa.Array, ...]
    groups: int
    records: Records
    state: pa.RecordBatch
    goes_on: bool = False


@dataclass(frozen=True)
class Emitted:
    """Output records, in any order: their position decides. columns: those of the output, keys included."""

    seqs: Longs
    steps: pa.Array
    kinds: Kinds
    columns: tuple[pa.Array, ...]


@dataclass(frozen=True)
class Lates:
    """Entries of the late ledger, one element each; the fields are those of `engine.contract.kernel.Late`.

    places: the record, as a place in the chunk's records. starts_ms, ends_ms: null where there is no window.
    """

    places: Longs
    event_times_ms: Longs
    starts_ms: pa.Array
    ends_ms: pa.Array
    lateness_ms: Longs
    is_lost: NDArray[np.bool_]
    reason: str


class Fired(NamedTuple):
    """Windows that fired, any number of times each: the event whose watermark fired them, and their bounds."""

    seqs: Longs
    starts_ms: Longs
    ends_ms: Longs


@dataclass(frozen=True)
class Advanced:
    """What a chunk came to. state: the new state of all its groups, whole, like that of a chunk."""

    emitted: Emitted
    state: pa.RecordBatch
    lates: Lates | None = None
    fired: Fired | None = None


class ColumnarKernel(Protocol):
    """The rule of a stateful operator for many keys at a time. It holds no state of its own between chunks."""

    @property
    def state_schema(self) -> pa.Schema:
        """What is kept of a key, GROUP not included. Names do not begin with two underscores."""

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """Take a chunk's records and fire what its timeline (one epoch's) makes due."""


@runtime_checkable
class TimedKernel(ColumnarKernel, Protocol):
    """One that looks at watermarks: its keys may be wanted without records."""

    def due_ms(self, state: pa.RecordBatch) -> Longs:
        """Which watermark each row of a state waits for, in ms; NEVER where it waits for none."""


@dataclass(frozen=True)
class Layout:
    """The Arrow types that a kernel meets: of the key, of the values by port, and of the output columns."""

    keys: tuple[pa.DataType, ...]
    values: tuple[tuple[pa.DataType, ...], ...]
    output: tuple[pa.DataType, ...]
    rank: int = 0


@dataclass(frozen=True)
class Columnar:
    """The planner's choice for a step: make builds the kernel (None: the plain kernel runs), why says why, in words."""

    make: Callable[[Layout], ColumnarKernel] | None
    why: str


RECORD_BY_RECORD: Final = Columnar(None, "record by record: this rule has no columnar kernel")


def no_state(schema: pa.Schema) -> pa.RecordBatch:
    """The state of a chunk of which nothing is known yet."""
    fields = [*arrow_fields(GROUP), *schema]
    return pa.RecordBatch.from_arrays([pa.nulls(0, item.type) for item in fields], schema=pa.schema(fields))


def state_batch(schema: pa.Schema, groups: Longs, columns: Sequence[pa.Array]) -> pa.RecordBatch:
    """State rows by group; groups must rise."""
    fields = [*arrow_fields(GROUP), *schema]
    return pa.RecordBatch.from_arrays([pa.array(groups, pa.int64()), *columns], schema=pa.schema(fields))
