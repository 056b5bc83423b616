"""The protocol through which a run's output leaves the engine. `storage` implements it.

The engine writes every epoch as Parquet files and hands their places over, edge by edge; a recorder loads them in one
transaction. Committing the same epoch twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from engine.contract.explanation import PlanExplanation
from engine.model.schema import Schema
from engine.model.timeline import MAX_WATERMARK, Idle


@dataclass(frozen=True)
class EdgeView:
    """An edge that says what another one says, so that it has no files: of the same position in it, but for a suffix.

    node, port: the other edge, which is no view itself and comes before. columns: by column of the view, that of the
    other edge. suffix: what every step is longer by.
    """

    node: str
    port: str
    columns: tuple[str, ...]
    suffix: bytes = b""


@dataclass(frozen=True)
class EdgeInfo:
    """What a recorder needs to know of a node's output before the first record: one table per edge.

    node: its id. port: the output port, "out" but for second outputs. operator: its name. role: "source",
    "operator" or "sink". upsert_key: the columns that identify a row of the table that the changelog
    describes, or () where only the whole row does. mode: the changelog mode, `[I,UB,UA]`. watermark_delay_ms:
    for a source, its watermark delay, else None. view: where its records are another edge's.
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


@dataclass(frozen=True)
class RunPlan:
    """A run before its first epoch: its edges in topological order, the plan explained, the document."""

    pipeline_json: str
    edges: tuple[EdgeInfo, ...]
    explanation: PlanExplanation
    epochs: int


@dataclass(frozen=True)
class EdgeFile:
    """A Parquet file of an edge's records.

    first_seq None: `changelog_schema` of `engine.contract.frames`, rows in any order. Else it is a source's,
    `unit_schema`: the row r, from 0, is the record of event first_seq + r, its step is empty, its kind +I unless the
    file has KIND; only the rows of the events low to high, both included, are meant. Files may have further columns
    that begin with `__`; a source's have UNIT, which is the same number in all rows.
    """

    path: str
    first_seq: int | None = None
    low: int = 0
    high: int = (1 << 63) - 1
    unit: int = 0


@dataclass(frozen=True)
class ClockFile:
    """The event times of a source, in a file of its edge: the event first_seq + r has the event time TIME, in ms.

    Its watermark is max(TOP, top_before_ms) - delay_ms, TOP being the largest event time of the file so far. Only
    events low to high, both included, are meant. top_before_ms: None for the source's first file. delay_ms: None
    where the source sends no watermark.
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
    """A source becomes idle with an event, or counts again from it on."""

    seq: int
    source: str
    is_idle: bool


def stretches(turns: Iterable[Turn]) -> Idle:
    """When sources are idle, from their turns in order."""
    found: dict[str, list[tuple[int, int]]] = {}
    for turn in turns:
        own = found.setdefault(turn.source, [])
        if turn.is_idle:
            own.append((turn.seq, MAX_WATERMARK))
        elif own:
            own[-1] = (own[-1][0], turn.seq)
    return found


@dataclass(frozen=True)
class EpochOutput:
    """The output of one epoch, as Parquet files; `engine.contract.frames` has their schemas.

    edges: by (node, port), those of all edges that are no views. clocks: the events of sources whose watermark follows
    their records, one by one. watermarks: files (or folders) of `watermarks_schema`, the events of all others, and the
    ends of all sources. Clocks and watermarks together have each source event once. late, fires, rejected, key_times
    (by node): files or folders of these schemas; they need not be there. decision, checkpoint: of a live run, what the
    clock decided of the epoch, and what the run needs to go on after it (`engine.contract.live`). turns: of sources
    that become idle, or are so no more; becoming idle is an event of its own.
    """

    epoch: int
    edges: Mapping[tuple[str, str], tuple[EdgeFile, ...]]
    clocks: tuple[ClockFile, ...] = ()
    watermarks: tuple[str, ...] = ()
    late: tuple[str, ...] = ()
    fires: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    key_times: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    last_seq: int = 0
    is_last: bool = False
    decision: str = ""
    checkpoint: str = ""
    turns: tuple[Turn, ...] = ()


@dataclass
class NodeProgress:
    """How far one node is: state is waiting, running, done or failed; counts are of the whole run so far.

    rows_read, bytes_read: of a source, by the tasks that have ended; bytes_there: how large its files are. None where
    nobody knows.
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
    """A source of a live run. behind: how much more it has than was taken; notes: what somebody should know of it.

    is_idle: it does not hold the watermark. is_waiting: for the watermarks of its group.
    """

    behind: str = ""
    notes: tuple[str, ...] = ()
    is_ended: bool = False
    is_idle: bool = False
    is_waiting: bool = False


@dataclass(frozen=True)
class LiveProgress:
    """How a live run stands: running, waiting or paused; how long its last epoch took; its last event; its sources."""

    state: str
    epoch_seconds: float
    last_seq: int
    sources: Mapping[str, SourceProgress]


@dataclass
class Progress:
    """A run's progress. The engine replaces entries while it runs; readers may look at any time."""

    epochs: int = 1
    epoch: int = 0
    phase: str = "starting"
    nodes: dict[str, NodeProgress] = field(default_factory=dict)
    live: LiveProgress | None = None


class Recorder(Protocol):
    """Where a run's output goes."""

    def begin(self, plan: RunPlan) -> None:
        """The run is planned and about to start."""

    def take(self, epoch: int, node: str, port: str, files: tuple[EdgeFile, ...]) -> None:
        """An edge of an epoch is complete: it may be loaded from now on, in the background, while others are made.

        Nothing of it shows before `commit`, which has the same files again and says what went wrong. Epochs and
        edges come in order. The files stay until then. Files that come from far away come with `commit` alone.
        """

    def commit(self, output: EpochOutput) -> None:
        """Take one epoch, whole or not at all. The files may be gone after the call."""

    def pause(self, *, paused: bool) -> None:
        """A live run holds, or goes on."""

    def stop(self) -> None:
        """A live run was stopped; it can go on from its last epoch."""

    def finish(self) -> None:
        """The run ended well."""

    def fail(self, sentence: str, node: str = "", *, cancelled: bool = False) -> None:
        """The run ended badly; what was committed stays."""


class Nobody:
    """A recorder that keeps nothing."""

    def begin(self, plan: RunPlan) -> None:
        """Nothing."""

    def take(self, epoch: int, node: str, port: str, files: tuple[EdgeFile, ...]) -> None:
        """Nothing."""

    def commit(self, output: EpochOutput) -> None:
        """Nothing."""

    def pause(self, *, paused: bool) -> None:
        """Nothing."""

    def stop(self) -> None:
        """Nothing."""

    def finish(self) -> None:
        """Nothing."""

    def fail(self, sentence: str, node: str = "", *, cancelled: bool = False) -> None:
        """Nothing."""


class HandingOn:
    """A recorder that remembers the edges and hands everything on to another one, where there is one."""

    def __init__(self, to: Recorder | None) -> None:
        self._to: Recorder = to or Nobody()
        self._edges: dict[tuple[str, str], EdgeInfo] = {}

    def begin(self, plan: RunPlan) -> None:
        """Remember the edges, and hand on."""
        self._edges = {(edge.node, edge.port): edge for edge in plan.edges}
        self._to.begin(plan)

    def take(self, epoch: int, node: str, port: str, files: tuple[EdgeFile, ...]) -> None:
        """Hand on."""
        self._to.take(epoch, node, port, files)

    def commit(self, output: EpochOutput) -> None:
        """Hand on."""
        self._to.commit(output)

    def pause(self, *, paused: bool) -> None:
        """Hand on."""
        self._to.pause(paused=paused)

    def stop(self) -> None:
        """Hand on."""
        self._to.stop()

    def finish(self) -> None:
        """Hand on."""
        self._to.finish()

    def fail(self, sentence: str, node: str = "", *, cancelled: bool = False) -> None:
        """Hand on."""
        self._to.fail(sentence, node, cancelled=cancelled)
