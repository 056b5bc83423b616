"""The contract of a columnar kernel: the rule of a stateful operator on whole sorted Arrow batches.

A kernel that describes its state (`ToldOnce`) is the only telling of its rule: previews and replays run it too. The
others have the operator's plain kernel (`engine.contract.kernel`) as their specification, which they equal record for
record: the same positions, kinds and rows, the same late records and fired windows, regardless of where the input is
split. The planner uses these if their conditions hold; otherwise the plain kernel runs.

The records of a task come as chunks. A chunk has whole keys, sorted by key, with the records of each key in order of
position; only the last key may continue in the next chunk (`goes_on`). The state of a key is rows of the kernel's own
columns and the key's place in the chunk. The caller passes them again with the key's next records,
in the next chunk or the next epoch.

Timestamps are BIGINT microseconds here, as for plain kernels; the caller converts them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.contract.frames import GROUP, arrow_fields
from engine.contract.state_in_words import Description, Names
from engine.model.timeline import MAX_WATERMARK, Timeline

Longs = NDArray[np.int64]
Kinds = NDArray[np.int8]

NEVER: Final = MAX_WATERMARK
"""A watermark for which nothing waits: the end of a source fires everything due up to the ms before it."""


class BundleEnds(NamedTuple):
    """Of each record the end of its bundle, and the place of its key there, from 0."""

    seqs: Longs
    steps: pa.Array
    places: Longs

    def at(self, places: Longs) -> BundleEnds:
        """Those of the records at these places."""
        return BundleEnds(self.seqs[places], self.steps.take(pa.array(places)), self.places[places])


@dataclass(frozen=True)
class Records:
    """The input records of a chunk, one element each: by group, then position.

    groups: each record's key, as a place in the chunk's keys. steps: binary; for a step with several inputs the path
    already ends with the port's ordinal. kinds: 0 +I, 1 -U, 2 +U, 3 -D. ports: the input. values: by port, the step's
    values (null in the records of other ports). watermarks: in ms, before each record's event; None without time.
    now: the recorded clock in ms, at each record; None if no state expires. ends: in mini-batch; then a chunk has whole
    bundles, and the clock is that of their ends. joint: there 1 for a row that the next record replaces, 2 for that
    record, else 0.
    """

    groups: Longs
    seqs: Longs
    steps: pa.Array
    kinds: Kinds
    ports: Kinds
    values: tuple[tuple[pa.Array, ...], ...]
    watermarks: Longs | None = None
    now: Longs | None = None
    ends: BundleEnds | None = None
    joint: Longs | None = None

    def __len__(self) -> int:
        return len(self.seqs)

    def at(self, places: Longs) -> Records:
        """The records at these places."""
        indices = pa.array(places)
        return Records(
            self.groups[places],
            self.seqs[places],
            self.steps.take(indices),
            self.kinds[places],
            self.ports[places],
            tuple(tuple(column.take(indices) for column in values) for values in self.values),
            None if self.watermarks is None else self.watermarks[places],
            None if self.now is None else self.now[places],
            None if self.ends is None else self.ends.at(places),
            None if self.joint is None else self.joint[places],
        )


@dataclass(frozen=True)
class Chunk:
    """Some keys with their records and their state.

    keys: the key's columns, an element per group. state: rows of the kernel's `state_schema` after GROUP, in order of
    groups; a group has any number of rows. Groups may have records without state and state without records.
    goes_on: the last group has more records in the next chunk of this epoch. Results of this group that these records
    could still change must not fire: state that waits for the watermark stays.
    """

    keys: tuple[pa.Array, ...]
    groups: int
    records: Records
    state: pa.RecordBatch
    goes_on: bool = False


@dataclass(frozen=True)
class Emitted:
    """Output records, in any order: their position determines the order. columns: of the output, keys included."""

    seqs: Longs
    steps: pa.Array
    kinds: Kinds
    columns: tuple[pa.Array, ...]


@dataclass(frozen=True)
class Lates:
    """Entries of the late ledger, one element each; the fields are those of `engine.contract.kernel.Late`.

    places: the record, as a place in the chunk's records. starts_ms, ends_ms: null without a window. reason, used: one
    for all entries, or one each.
    """

    places: Longs
    event_times_ms: Longs
    starts_ms: pa.Array
    ends_ms: pa.Array
    lateness_ms: Longs
    is_dropped: NDArray[np.bool_]
    reason: str | Sequence[str]
    used: str | Sequence[str] = ""

    def in_words(self) -> tuple[list[str], list[str]]:
        """The reasons, and for what the records are used nevertheless."""
        size = len(self.places)
        reasons, used = ([text] * size if isinstance(text, str) else list(text) for text in (self.reason, self.used))
        return reasons, used


class Fired(NamedTuple):
    """Windows that fired, possibly several times: the event whose watermark fired them, and their bounds."""

    seqs: Longs
    starts_ms: Longs
    ends_ms: Longs


class Entries(NamedTuple):
    """Entries of state that expire. kinds: of those that the step names, or OF_KEY for keys, which go with their last.

    firsts: the record with which each comes. ends: the record that removes it, or -1. expires_ms: after its last write;
    MAX_WATERMARK if it never does, or has no age yet. Records are places.
    """

    kinds: Longs
    firsts: Longs
    ends: Longs
    expires_ms: Longs


OF_KEY: Final = -1


class Met(NamedTuple):
    """Expired entries that records have met: the records as places, the kind, their number, and when they expired."""

    places: Longs
    kinds: Longs
    entries: Longs
    expired_ms: Longs


@dataclass(frozen=True)
class Lives:
    """What becomes of the entries of a chunk's keys whose state expires.

    held: those that are there in the chunk. had: those that were there before it, as they were to expire then, each at
    the first record of its key. ttls_ms: of each kind.
    """

    held: Entries
    had: Entries
    met: Met
    ttls_ms: tuple[int, ...]


class Stays(NamedTuple):
    """How long each entry of a chunk's state is there, if the watermark frees it. groups: of each. kinds: of those that
    the step names.

    comes: the event that brings it, or BEFORE if the chunk began with it. goes: the event whose watermark frees it;
    STAYS if none does. sample: the state of some of them.
    """

    groups: Longs
    kinds: Longs
    comes: Longs
    goes: Longs
    sample: pa.RecordBatch


BEFORE: Final = -1
STAYS: Final = MAX_WATERMARK
SAMPLED: Final = 64
"""How many entries are measured where those that a chunk leaves do not tell the size of one."""


@dataclass(frozen=True)
class Advanced:
    """The result of a chunk. state: the complete new state of all its groups, in the form of `Chunk.state`.

    lives: set if state expires. stays: of state that the watermark frees, if the kernel tells it.
    """

    emitted: Emitted
    state: pa.RecordBatch
    lates: Lates | None = None
    fired: Fired | None = None
    lives: Lives | None = None
    stays: Stays | None = None


class ColumnarKernel(Protocol):
    """The rule of a stateful operator for many keys at a time. It keeps no state itself between chunks."""

    @property
    def state_schema(self) -> pa.Schema:
        """The columns of a key's state, without GROUP. Names do not begin with two underscores."""

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """Process a chunk's records, and fire everything that its timeline (of one epoch) makes due."""


@runtime_checkable
class TimedKernel(ColumnarKernel, Protocol):
    """A kernel that uses watermarks: keys may be due without new records."""

    def due_ms(self, state: pa.RecordBatch) -> Longs:
        """The watermark that each row of a state waits for, in ms; NEVER if it does not wait."""


@runtime_checkable
class OfKinds(ColumnarKernel, Protocol):
    """A kernel whose state has rows of several kinds, or rows that are no entries, like timers."""

    def kinds(self, state: pa.RecordBatch) -> Longs:
        """By row, which of the kinds that the step names; below 0 for no entry."""


@runtime_checkable
class AgesByEntry(ColumnarKernel, Protocol):
    """A kernel whose entries expire one by one."""

    def dues(self, state: pa.RecordBatch) -> tuple[Longs, Longs]:
        """The kinds of the entries of a key's state, and when they expire."""


@runtime_checkable
class InShortChunks(ColumnarKernel, Protocol):
    """A kernel whose output may be much longer than its input."""

    @property
    def most_rows(self) -> int | None:
        """The records that it takes at once; None: as many as others."""


@runtime_checkable
class ToldOnce(ColumnarKernel, Protocol):
    """A kernel without a plain one beside it."""

    def describe(self, state: pa.RecordBatch, names: Names) -> Description:
        """The state of one key, for users."""


@dataclass(frozen=True)
class Layout:
    """The Arrow types for a kernel: of the key, of the values by port, and of the output columns."""

    keys: tuple[pa.DataType, ...]
    values: tuple[tuple[pa.DataType, ...], ...]
    output: tuple[pa.DataType, ...]
    rank: int = 0


@dataclass(frozen=True)
class Columnar:
    """The planner's choice for a step. make: builds the kernel (None: the plain kernel runs). why: the reason."""

    make: Callable[[Layout], ColumnarKernel] | None
    why: str


RECORD_BY_RECORD: Final = Columnar(None, "record by record: this rule has no columnar kernel")


def no_state(schema: pa.Schema) -> pa.RecordBatch:
    """The empty state of a chunk."""
    fields = [*arrow_fields(GROUP), *schema]
    return pa.RecordBatch.from_arrays([pa.nulls(0, item.type) for item in fields], schema=pa.schema(fields))


def state_batch(schema: pa.Schema, groups: Longs, columns: Sequence[pa.Array]) -> pa.RecordBatch:
    """State rows by group; groups must be ascending."""
    fields = [*arrow_fields(GROUP), *schema]
    return pa.RecordBatch.from_arrays([pa.array(groups, pa.int64()), *columns], schema=pa.schema(fields))


def state_sample(schema: pa.Schema, columns: Sequence[pa.Array]) -> pa.RecordBatch:
    """The last rows of these columns, which are the last ones of a state, as rows of it: as many as are measured."""
    values = [column[-SAMPLED:] for column in columns]
    size = len(values[0]) if values else 0
    unknown = [pa.nulls(size, field.type) for field in list(schema)[: len(schema) - len(values)]]
    return state_batch(schema, np.zeros(size, np.int64), (*unknown, *values))
