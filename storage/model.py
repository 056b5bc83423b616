"""What the store hands out: frozen values, one class per thing that a page shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any, Generic, TypeVar

from engine.contract.explanation import PlanExplanation
from engine.model.changelog import RowKind
from engine.model.timeline import Idle
from storage.database.run_tables import RunTables

Values = tuple[Any, ...]
Entry = TypeVar("Entry")


@dataclass(frozen=True)
class PipelineSummary:
    """A saved pipeline in a list. `version` is its newest; times are UTC. made_by: who saved its first version."""

    pipeline_id: int
    name: str
    version: int
    created_at: datetime
    saved_at: datetime
    deleted_at: datetime | None = None
    made_by: str = ""


@dataclass(frozen=True)
class SavedPipeline:
    """One version of a saved pipeline. `document` is its JSON as it was saved; `name` is the catalog's."""

    pipeline_id: int
    name: str
    version: int
    document: str
    note: str
    saved_at: datetime
    made_by: str = ""


@dataclass(frozen=True)
class Draft:
    """Unsaved work that survives a reload, under a key of the caller's choice."""

    key: str
    document: str
    pipeline_id: int | None
    version: int | None
    saved_at: datetime


class RunStatus(Enum):
    """How a run stands.

    INTERRUPTED: its process was gone when the store was next opened; RESUMABLE: of a live run, which can go on from its
    last epoch. PAUSED: a live run that holds. STOPPED: a live run that somebody stopped.
    """

    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    RESUMABLE = "resumable"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Run:
    """One run: what ran, how it ended, how much came out. Times are UTC; error is a sentence or empty.

    kept_from: the first event of which all is kept; of what came before, only the rows that were still there.
    """

    run_id: int
    name: str
    status: RunStatus
    pipeline_id: int | None
    pipeline_version: int | None
    engine: str
    document: str
    explanation: PlanExplanation
    started_at: datetime
    finished_at: datetime | None
    error: str
    error_node: str
    epochs: int
    epochs_done: int
    last_seq: int
    records: int
    late: int
    rejected: int
    is_live: bool = False
    made_by: str = ""
    kept_from: int = 1

    @property
    def tables(self) -> RunTables:
        """The names of the run's tables."""
        return RunTables(self.run_id)

    @property
    def goes_on(self) -> bool:
        """Whether a process is at it."""
        return self.status in (RunStatus.RUNNING, RunStatus.PAUSED)

    @property
    def can_resume(self) -> bool:
        """Whether it can go on from its last epoch."""
        return self.is_live and self.status in (RunStatus.STOPPED, RunStatus.RESUMABLE, RunStatus.FAILED)


@dataclass(frozen=True)
class Epoch:
    """An epoch that was committed (UTC): its last event, and how many it had."""

    epoch: int
    last_seq: int
    events: int
    committed_at: datetime


@dataclass(frozen=True)
class EdgeColumn:
    """A column of an edge: its name in the pipeline, its name and type in the table, its Spark type."""

    name: str
    stored_as: str
    type: str
    duckdb_type: str
    time: str | None = None


@dataclass(frozen=True)
class StoredView:
    """What an edge shows that has no records of its own: those of another edge, each step longer by the suffix.

    table: that edge's. columns: the names of their columns in it. shares_lifetimes: its rows live as long as those.
    """

    table: str
    columns: tuple[str, ...]
    suffix: bytes = b""
    shares_lifetimes: bool = False


@dataclass(frozen=True)
class Edge:
    """One output of a node: a table, or a view. table: its name inside the run's schema. kept_from: as of a run."""

    run_id: int
    node: str
    port: str
    operator: str
    role: str
    mode: str
    table: str
    columns: tuple[EdgeColumn, ...]
    upsert_key: tuple[str, ...]
    watermark_delay_ms: int | None
    counts: Mapping[RowKind, int] = field(default_factory=dict)
    view: StoredView | None = None
    kept_from: int = 1

    @property
    def name(self) -> str:
        """The node, with the port where it is not the only one."""
        return self.node if self.port == "out" else f"{self.node}.{self.port}"

    @property
    def tables(self) -> RunTables:
        """The names of the run's tables."""
        return RunTables(self.run_id)

    @property
    def lifetimes_owner(self) -> str:
        """The table whose rows have the same lifetimes: the edge's own, or the one that its view shows."""
        return self.view.table if self.view is not None and self.view.shares_lifetimes else self.table

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns in the pipeline, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def total(self) -> int:
        """The number of records of all kinds."""
        return sum(self.counts.values())

    @property
    def is_insert_only(self) -> bool:
        """True where no record ever takes another one back."""
        return self.mode == "[I]"


@dataclass(frozen=True)
class NodeCounters:
    """What went in and out of a node so far. records_in is None for a source."""

    node: str
    operator: str
    role: str
    records_in: int | None
    records_out: int
    counts: Mapping[RowKind, int]
    late: int
    rejected: int


@dataclass(frozen=True)
class Filter:
    """Which records of a changelog: every condition must hold; what is empty or None does not filter.

    text: found in any column, whatever its case. equals: (column, value) pairs; a text value is read as the
    column's type; None finds NULL. from_seq and to_seq are inclusive.
    """

    kinds: frozenset[RowKind] = frozenset()
    text: str = ""
    equals: tuple[tuple[str, object], ...] = ()
    from_seq: int | None = None
    to_seq: int | None = None

    @property
    def is_empty(self) -> bool:
        """True where every record passes."""
        return self == Filter()


@dataclass(frozen=True)
class Record:
    """One changelog record. `row` is its place in the edge's changelog, from 0, in position order."""

    row: int
    seq: int
    step: bytes
    kind: RowKind
    values: Values


@dataclass(frozen=True)
class Paged(Generic[Entry]):
    """A page of a longer list, of `total` entries."""

    records: tuple[Entry, ...]
    total: int
    offset: int


@dataclass(frozen=True)
class Page:
    """A page of a changelog. `total` counts the records that pass the filter.

    `next_after` is the keyset cursor of the following page, or None on the last.
    """

    columns: tuple[str, ...]
    records: tuple[Record, ...]
    total: int
    offset: int
    next_after: int | None


@dataclass(frozen=True)
class Change:
    """A change of a row: an insert has only `after`, a delete only `before`, an update both.

    A -U or +U whose partner is not next to it stays alone. `changed` names the columns that differ.
    """

    before: Record | None
    after: Record | None
    changed: tuple[str, ...] = ()

    @property
    def record(self) -> Record:
        """The record that says how things are now, or what was taken back."""
        record = self.after or self.before
        assert record is not None
        return record


@dataclass(frozen=True)
class ChangePage:
    """A page of changes. `total`, `offset` and `next_after` count records, as those of the raw page do."""

    columns: tuple[str, ...]
    changes: tuple[Change, ...]
    total: int
    offset: int
    next_after: int | None


@dataclass(frozen=True)
class TableRow:
    """A row of the table as of an event: the position of the record that put it there.

    change is "" (as before), "inserted" or "updated" by that event; `changed` names the columns.
    """

    seq: int
    step: bytes
    values: Values
    change: str = ""
    changed: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableAsOf:
    """The table that a changelog describes after event `seq`, paged. `removed`: rows that the event took away."""

    seq: int
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    removed: tuple[Values, ...]
    total: int
    offset: int


@dataclass(frozen=True)
class CascadeRecord:
    """One record that an event caused, with the edge that carried it."""

    edge: Edge
    record: Record


@dataclass(frozen=True)
class LateRecord:
    """A record that came too late for an operator, with what it said and what would have kept it.

    source: the source of its event. needed_delay_ms: the smallest watermark delay of that source with which
    the record would have counted. columns and values are empty where the input edge cannot be told.
    """

    node: str
    port: str
    operator: str
    seq: int
    step: bytes
    source: str
    event_time_ms: int | None
    window_start_ms: int | None
    window_end_ms: int | None
    watermark_ms: int | None
    lateness_ms: int | None
    needed_delay_ms: int | None
    reason: str
    columns: tuple[str, ...] = ()
    values: Values = ()


@dataclass(frozen=True)
class LateSummary:
    """The late records of one operator: how many, by how much at most, and what would keep them all."""

    node: str
    source: str
    records: int
    max_lateness_ms: int | None
    needed_delay_ms: int | None


@dataclass(frozen=True)
class RejectedRow:
    """A row of a source that could not be read."""

    node: str
    file: str
    line: int | None
    raw: str
    reason: str


@dataclass(frozen=True)
class Timeline:
    """Event time over arrival order, ready to draw, as Arrow tables.

    points: seq, source, event_time_ms, state ("in time", "out of order", "late"), records (how many it
    stands for). watermarks: seq, source, watermark_ms: a step per source, starting with the value before the range.
    combined: seq, watermark_ms, once all have one. fires: node, seq, window_start_ms, window_end_ms, windows (how many
    it stands for). ends: the event at which each source ended. idle: when none counts. is_exact: no decimation.
    """

    from_seq: int
    to_seq: int
    sources: tuple[str, ...]
    points: Any
    watermarks: Any
    combined: Any
    fires: Any
    ends: Mapping[str, int]
    idle: Idle
    is_exact: bool
