"""The protocol through which a run's output leaves the engine. `storage` implements it.

The engine writes every epoch as Parquet files and passes their paths on, edge by edge; a recorder loads them in one
transaction. Committing the same epoch twice has no further effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from engine.contract.explanation import PlanExplanation
from engine.model.changelog import RowKind
from engine.model.schema import Schema
from engine.model.timeline import MAX_WATERMARK, Idle, Timeline


class RecorderError(Exception):
    """What a recorder cannot do, as a sentence."""


@dataclass(frozen=True)
class EdgeView:
    """An edge with the same records as another edge, and thus without files; its steps have an additional suffix.

    node, port: the other edge, which is not a view and comes earlier. columns: by column of the view, the column of
    the other edge. suffix: appended to every step.
    """

    node: str
    port: str
    columns: tuple[str, ...]
    suffix: bytes = b""


@dataclass(frozen=True)
class Share:
    """The records of an edge that are kept: all, none, or those of some keys.

    one_in: those of one key in so many, chosen by a hash of the columns `by`; 1: all of them, 0: none.
    """

    one_in: int = 1
    by: tuple[str, ...] = ()


ALL: Final = Share()
NONE: Final = Share(0)


@dataclass(frozen=True)
class EdgeInfo:
    """A recorder's information about a node's output before the first record: one table per edge.

    node: its id. port: the output port, "out" except for second outputs. operator: its name. role: "source",
    "operator" or "sink". upsert_key: the columns that identify a row of the table that the changelog
    describes, or () if only the whole row does. mode: the changelog mode, `[I,UB,UA]`. watermark_delay_ms:
    for a source, its watermark delay, else None. view: set if its records are those of another edge. share: what is
    kept of its records; that of a view is the one of the other edge, in its own columns. stays: its records stay in the
    engine's workspace; so do those of a view of it.
    """

    node: str
    port: str
    operator: str
    role: str
    schema: Schema
    mode: str
    upsert_key: tuple[str, ...] = ()
    watermark_delay_ms: int | None = None
    view: EdgeView | None = None
    share: Share = ALL
    stays: bool = False


@dataclass(frozen=True)
class RunPlan:
    """A run before its first epoch: its edges in topological order, the explained plan, the document."""

    pipeline_json: str
    edges: tuple[EdgeInfo, ...]
    explanation: PlanExplanation
    epochs: int


@dataclass(frozen=True)
class EdgeFile:
    """A Parquet file of an edge's records.

    first_seq None: `changelog_schema` of `engine.contract.frames`, rows in any order; is_rising: in order, with at most
    one record for each event, from low to high. Else it is a file of a source in `unit_schema`: row r, from 0, is the
    record of event first_seq + r. Its step is empty, and its kind is +I unless the file has KIND. Only the rows of the
    events low to high, both included, belong to the edge. Files may have further columns that begin with `__`; a
    source's files have UNIT, which is the same number in all rows.
    """

    path: str
    first_seq: int | None = None
    low: int = 0
    high: int = (1 << 63) - 1
    unit: int = 0
    is_rising: bool = False


@dataclass(frozen=True)
class StayingFile:
    """A Parquet file of an edge's records that stays where it is as long as the run is kept.

    Its records are in order, and follow those of the file before it: `changelog_schema`, after PLACE, a record's index
    in the whole changelog, from first on. Their events are low to high. size: in bytes. counts: of its records.
    """

    path: str
    size: int
    first: int
    low: int
    high: int
    counts: Mapping[RowKind, int]


@dataclass(frozen=True)
class ClockFile:
    """The event times of a source, in a file of its edge: the event first_seq + r has the event time TIME, in ms.

    Its watermark is max(TOP, top_before_ms) - delay_ms; TOP is the largest event time of the file so far. Only the
    events low to high, both included, belong to it. top_before_ms: None for the source's first file. delay_ms: None
    if the source sends no watermark.
    """

    path: str
    source: str
    first_seq: int
    top_before_ms: int | None
    delay_ms: int | None
    low: int = 0
    high: int = (1 << 63) - 1


@dataclass(frozen=True)
class Turn:
    """A source becomes idle at an event, or active again from this event on."""

    seq: int
    source: str
    is_idle: bool


def stretches(turns: Iterable[Turn]) -> Idle:
    """The idle intervals of sources, from their turns in order."""
    intervals: dict[str, list[tuple[int, int]]] = {}
    for turn in turns:
        own = intervals.setdefault(turn.source, [])
        if turn.is_idle:
            own.append((turn.seq, MAX_WATERMARK))
        elif own:
            own[-1] = (own[-1][0], turn.seq)
    return intervals


@dataclass(frozen=True)
class Held:
    """What the state of a node holds after some events of an epoch, as differences from the point before.

    kinds: of its entries. seqs: the events. entries, expired: a list for each kind and one for the keys, with a number
    for each point. later: (kind, time in ms, number): entries that expire once the recorded clock reaches that time.
    size: in bytes, of some or all entries. of_entries: of how many. largest: (number of entries, key as a JSON array).
    """

    node: str
    kinds: tuple[str, ...]
    seqs: tuple[int, ...]
    entries: tuple[tuple[int, ...], ...]
    expired: tuple[tuple[int, ...], ...]
    later: tuple[tuple[int, int, int], ...] = ()
    size: int = 0
    of_entries: int = 0
    largest: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class EpochOutput:
    """The output of one epoch, as Parquet files; `engine.contract.frames` has their schemas.

    edges: by (node, port), the files of all edges that are not views. clocks: the events of sources whose watermark
    follows from each record. watermarks: files (or folders) of `watermarks_schema`, with the events of all other
    sources, and the ends of all sources. Clocks and watermarks together have each source event once. late, fires,
    rejected, key_times (by node), expired: files or folders of these schemas; they may be missing. cut: by source and
    column, how many values lost digits beyond microseconds. held: what the state
    of each node with state holds. decision, checkpoint: of a live run, the decisions for the epoch, and the data to
    continue after it (`engine.contract.live`). turns: of sources that become idle or active again; becoming idle is a
    separate event. now: the steps of the recorded clock, if it is not event time. staying: by (node, port), the files
    of edges whose records stay in the workspace, in order; their other files need not be fetched.
    """

    epoch: int
    edges: Mapping[tuple[str, str], tuple[EdgeFile, ...]]
    clocks: tuple[ClockFile, ...] = ()
    watermarks: tuple[str, ...] = ()
    late: tuple[str, ...] = ()
    fires: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    cut: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    key_times: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    expired: tuple[str, ...] = ()
    held: tuple[Held, ...] = ()
    last_seq: int = 0
    is_last: bool = False
    decision: str = ""
    checkpoint: str = ""
    turns: tuple[Turn, ...] = ()
    now: Timeline | None = None
    staying: Mapping[tuple[str, str], tuple[StayingFile, ...]] = field(default_factory=dict)


@dataclass
class NodeProgress:
    """The progress of one node: state is waiting, running, done or failed; counts are of the whole run so far.

    rows_read, bytes_read: of a source, by finished tasks. bytes_there: the size of its files. None if unknown.
    """

    node: str
    state: str
    epoch: int = 0
    records_out: int | None = None
    seconds: float = 0.0
    error: str = ""
    rows_read: int | None = None
    bytes_read: int | None = None
    bytes_there: int | None = None


@dataclass(frozen=True)
class SourceProgress:
    """A source of a live run. behind: its backlog, in words. notes: messages about it for users.

    is_idle: it does not hold back the watermark. is_waiting: it waits for the watermarks of its group.
    """

    behind: str = ""
    notes: tuple[str, ...] = ()
    is_ended: bool = False
    is_idle: bool = False
    is_waiting: bool = False


@dataclass(frozen=True)
class LiveProgress:
    """The progress of a live run. state: running, waiting or paused."""

    state: str
    epoch_seconds: float
    last_seq: int
    sources: Mapping[str, SourceProgress]


@dataclass
class Progress:
    """A run's progress. The engine replaces entries during the run; they may be read at any time.

    away: by sink of a live run, why its target cannot be written to just now.
    """

    epochs: int = 1
    epoch: int = 0
    phase: str = "starting"
    nodes: dict[str, NodeProgress] = field(default_factory=dict)
    live: LiveProgress | None = None
    away: dict[str, str] = field(default_factory=dict)


class Recorder(Protocol):
    """The receiver of a run's output."""

    def begin(self, plan: RunPlan) -> None:
        """The run is planned and about to start."""

    def take(self, epoch: int, node: str, port: str, files: tuple[EdgeFile, ...]) -> None:
        """An edge of an epoch is complete and may be loaded in the background, while others are computed.

        It becomes visible with `commit`, which has the same files again and raises loading errors. Epochs and
        edges come in order. The files exist until then. Remote files are only passed to `commit`.
        """

    def commit(self, output: EpochOutput) -> None:
        """Store one epoch, completely or not at all. The files may be deleted after the call."""

    def pause(self, *, paused: bool) -> None:
        """A live run is paused, or continues."""

    def stop(self) -> None:
        """A live run was stopped; it can be resumed after its last epoch."""

    def finish(self) -> None:
        """The run ended successfully."""

    def fail(self, sentence: str, node: str = "", *, cancelled: bool = False) -> None:
        """The run failed; committed epochs stay."""


class Nobody:
    """A recorder that stores nothing."""

    def begin(self, plan: RunPlan) -> None:
        """Do nothing."""

    def take(self, epoch: int, node: str, port: str, files: tuple[EdgeFile, ...]) -> None:
        """Do nothing."""

    def commit(self, output: EpochOutput) -> None:
        """Do nothing."""

    def pause(self, *, paused: bool) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Do nothing."""

    def finish(self) -> None:
        """Do nothing."""

    def fail(self, sentence: str, node: str = "", *, cancelled: bool = False) -> None:
        """Do nothing."""


class ForwardingRecorder:
    """A recorder that remembers the edges and forwards every call to another recorder, if there is one."""

    def __init__(self, to: Recorder | None) -> None:
        self._to: Recorder = to or Nobody()
        self._edges: dict[tuple[str, str], EdgeInfo] = {}

    def begin(self, plan: RunPlan) -> None:
        """Remember the edges, and forward the call."""
        self._edges = {(edge.node, edge.port): edge for edge in plan.edges}
        self._to.begin(plan)

    def take(self, epoch: int, node: str, port: str, files: tuple[EdgeFile, ...]) -> None:
        """Forward the call."""
        self._to.take(epoch, node, port, files)

    def commit(self, output: EpochOutput) -> None:
        """Forward the call."""
        self._to.commit(output)

    def pause(self, *, paused: bool) -> None:
        """Forward the call."""
        self._to.pause(paused=paused)

    def stop(self) -> None:
        """Forward the call."""
        self._to.stop()

    def finish(self) -> None:
        """Forward the call."""
        self._to.finish()

    def fail(self, sentence: str, node: str = "", *, cancelled: bool = False) -> None:
        """Forward the call."""
        self._to.fail(sentence, node, cancelled=cancelled)
