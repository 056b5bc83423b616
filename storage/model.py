"""What the store returns: frozen values, one class per thing that a page shows. Event time has its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final, Generic, TypeVar

from engine.contract.explanation import PlanExplanation
from engine.contract.recorder import ALL, Share
from engine.model.changelog import RowKind
from engine.model.type_texts import spark_type
from engine.model.types import TIMESTAMP, Array, Map, Row, Type
from engine.model.zones import Zone, zone_named
from storage.database.run_tables import RunTables

Values = tuple[Any, ...]


@dataclass(frozen=True)
class PipelineVersion:
    """A version of a saved pipeline. Times are UTC."""

    pipeline_id: int
    name: str
    """The pipeline's current name."""
    version: int
    saved_at: datetime
    made_by: str
    identity: str
    """Of the pipeline: its drafts and its runs have the same."""


@dataclass(frozen=True)
class PipelineSummary(PipelineVersion):
    """A saved pipeline in a list, with its newest version. made_by: who saved the first."""

    created_at: datetime
    deleted_at: datetime | None


@dataclass(frozen=True)
class SavedPipeline(PipelineVersion):
    """One version of a saved pipeline, as it was saved."""

    document: str
    """Its JSON as saved."""
    note: str


@dataclass(frozen=True)
class Draft:
    """Unsaved work that survives a reload, under a key of the caller's choice. identity: of its pipeline."""

    key: str
    document: str
    pipeline_id: int | None
    version: int | None
    saved_at: datetime
    identity: str


class RunStatus(Enum):
    """The status of a run.

    INTERRUPTED: its process was gone when the store was next opened. RESUMABLE: the same for a live run, which can
    resume after its last epoch. PAUSED: a paused live run. STOPPED: a live run that was stopped by hand.
    """

    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    RESUMABLE = "resumable"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"


GOING_ON: Final = frozenset({RunStatus.RUNNING, RunStatus.PAUSED})


@dataclass(frozen=True)
class Run:
    """One run: its pipeline, its status and its counts. Times are UTC; error is a sentence or empty.

    identity: of the pipeline that ran, whatever was edited since; empty for one without drafts, such as a variant.
    dropped: the records of its sources that an operator dropped. used: those that were late but used by all operators
    for which they were late. kept_from: the first event whose records are all kept. Of earlier ones, only rows still in
    their tables are kept.
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
    dropped: int
    used: int
    rejected: int
    is_live: bool = False
    made_by: str = ""
    identity: str = ""
    kept_from: int = 1

    @property
    def tables(self) -> RunTables:
        """The names of the run's tables."""
        return RunTables(self.run_id)

    @property
    def goes_on(self) -> bool:
        """Whether a process executes the run; it may be paused."""
        return self.status in GOING_ON

    @property
    def is_whole(self) -> bool:
        """Whether all of its input was processed: only then a total or an all-clear is about the whole run."""
        return self.status is RunStatus.FINISHED

    @property
    def can_resume(self) -> bool:
        """Whether the run can resume after its last epoch."""
        return self.is_live and self.status in (RunStatus.STOPPED, RunStatus.RESUMABLE, RunStatus.FAILED)


@dataclass(frozen=True)
class Epoch:
    """A committed epoch: its last event, its number of events, and the time of the commit (UTC)."""

    epoch: int
    last_seq: int
    events: int
    committed_at: datetime


@dataclass(frozen=True)
class EdgeColumn:
    """A column of an edge. stored_as: its name in the table. time: the unit of an event time column, else None.

    zone: the time zone of instants; None for UTC, and for other values.
    """

    name: str
    stored_as: str
    type: str
    duckdb_type: str
    time: str | None = None
    zone: str | None = None

    def shown(self, value: Any) -> Any:
        """A value for people: instants, also within it, as clocks show them in their zone, with their offset."""
        zone = zone_named(self.zone) if self.zone else None
        if zone is None:
            return value
        type_ = spark_type(self.type)
        return _shown(value, type_ if type_.is_nested else TIMESTAMP, zone)


def _shown(value: Any, type_: Type, zone: Zone) -> Any:
    if value is None or not type_.has_instants:
        return value
    match type_:
        case Array():
            return [_shown(entry, type_.element, zone) for entry in value]
        case Map():
            return {_shown(key, type_.key, zone): _shown(held, type_.value, zone) for key, held in value.items()}
        case Row():
            return {name: _shown(value[name], of, zone) for name, of in type_.fields}
    return zone.shown(value.replace(tzinfo=UTC)) if isinstance(value, datetime) else value


@dataclass(frozen=True)
class StoredView:
    """The view of an edge without own records: it shows the records of another edge, with the suffix after each step.

    table: the other edge's table. columns: its columns, in the view's order. shares_lifetimes: both have the same rows.
    """

    table: str
    columns: tuple[str, ...]
    suffix: bytes = b""
    shares_lifetimes: bool = False


@dataclass(frozen=True)
class Edge:
    """One output of a node: a table or a view. table: its name inside the run's schema. kept_from: as in `Run`.

    share: what the run keeps of its records. left_out: how many records it does not keep. stays: its records, or those
    of the edge that it is a view of, are in files of the engine's workspace.
    """

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
    share: Share = ALL
    left_out: int = 0
    stays: bool = False

    @property
    def name(self) -> str:
        """The node, with the port unless it is "out"."""
        return self.node if self.port == "out" else f"{self.node}.{self.port}"

    @property
    def tables(self) -> RunTables:
        """The names of the run's tables."""
        return RunTables(self.run_id)

    @property
    def lifetimes_owner(self) -> str:
        """The table whose rows have the same lifetimes: the edge's own, or the one behind its view."""
        return self.view.table if self.view is not None and self.view.shares_lifetimes else self.table

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns in the pipeline, in order."""
        return tuple(column.name for column in self.columns)

    def shown(self, values: Values) -> Values:
        """The values of a record or of a row for people."""
        return tuple(column.shown(value) for column, value in zip(self.columns, values, strict=True))

    @property
    def total(self) -> int:
        """The number of records of all kinds that are kept."""
        return sum(self.counts.values())

    @property
    def is_whole(self) -> bool:
        """Whether all of its records are kept."""
        return self.kept_from == 1 and self.share == ALL

    @property
    def progress(self) -> tuple[int, int]:
        """A key for caches: the number of records alone repeats as retention removes older ones."""
        return self.total, self.kept_from

    @property
    def is_insert_only(self) -> bool:
        """True if all records are +I."""
        return self.mode == "[I]"


@dataclass(frozen=True)
class NodeCounters:
    """The records in and out of a node so far. records_in is None for a source.

    dropped, used: the records that were late for it, without and with an effect. counts: of the records that are kept.
    """

    node: str
    operator: str
    role: str
    records_in: int | None
    records_out: int
    counts: Mapping[RowKind, int]
    dropped: int
    used: int
    rejected: int


@dataclass(frozen=True)
class Record:
    """One changelog record. `row` is its index in the edge's changelog, from 0, in position order."""

    row: int
    seq: int
    step: bytes
    kind: RowKind
    values: Values


@dataclass(frozen=True)
class EventRange:
    """A range of events, both ends included. None: an open end."""

    from_seq: int | None = None
    to_seq: int | None = None

    @classmethod
    def of(cls, seq: int) -> EventRange:
        """A single event."""
        return cls(seq, seq)

    def within(self, first: int, last: int) -> tuple[int, int]:
        """Its ends, none of them outside of another range."""
        low, high = self.from_seq, self.to_seq
        return first if low is None else max(low, first), last if high is None else min(high, last)


ALL_EVENTS: Final = EventRange()
Entry = TypeVar("Entry")


@dataclass(frozen=True)
class Paged(Generic[Entry]):
    """A page of a longer list, of `total` entries."""

    records: tuple[Entry, ...]
    total: int
    offset: int


@dataclass(frozen=True)
class Page(Paged[Record]):
    """A page of a changelog. `total` counts the records that pass the filter."""

    columns: tuple[str, ...]


@dataclass(frozen=True)
class Change:
    """A change of a row: an insert has only `after`, a delete only `before`, an update both.

    A -U or +U without an adjacent partner stays alone. `changed` names the columns that differ.
    """

    before: Record | None
    after: Record | None
    changed: tuple[str, ...] = ()

    @property
    def record(self) -> Record:
        """The record after the change, or the retracted record if there is none."""
        record = self.after or self.before
        assert record is not None
        return record


@dataclass(frozen=True)
class ChangePage:
    """A page of raw records, and the changes that they are."""

    raw: Page
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class TableRow:
    """A row of the table as of an event, with the position of the record that added it.

    change: "" (unchanged), "inserted" or "updated" by that event; `changed` names the changed columns.
    """

    seq: int
    step: bytes
    values: Values
    change: str = ""
    changed: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableAsOf:
    """The table that a changelog describes after event `seq`, paged. `removed`: rows that the event removed."""

    seq: int
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    removed: tuple[Values, ...]
    total: int
    offset: int


@dataclass(frozen=True)
class CascadeRecord:
    """One record that an event caused, with its edge."""

    edge: Edge
    record: Record
