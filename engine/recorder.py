"""The protocol through which a run's output leaves the engine. `storage` implements it.

The engine writes every epoch as Parquet files in a folder of the run and hands their places over; a
recorder loads them in one transaction. Committing the same epoch twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from engine.schema import Schema


@dataclass(frozen=True)
class EdgeInfo:
    """What a recorder needs to know of a node's output before the first record: one table per edge.

    node: its id. port: the output port, "out" but for second outputs. operator: its name. role: "source",
    "operator" or "sink". upsert_key: the columns that identify a row of the table that the changelog
    describes, or () where only the whole row does. mode: the changelog mode, `[I,UB,UA]`. source_of_time:
    for a source, its watermark delay in ms, else None.
    """

    node: str
    port: str
    operator: str
    role: str
    schema: Schema
    mode: str
    upsert_key: tuple[str, ...] = ()
    watermark_delay_ms: int | None = None


@dataclass(frozen=True)
class RunPlan:
    """A run before its first epoch: its edges in topological order, the plan explained, the document."""

    pipeline_json: str
    edges: tuple[EdgeInfo, ...]
    explanation: Mapping[str, object]
    epochs: int


@dataclass(frozen=True)
class EpochOutput:
    """The output of one epoch, as folders of Parquet files, whose rows come in any order.

    edges: by (node, port). Columns `__seq` BIGINT, `__step` BINARY, `__kind` TINYINT (0 +I, 1 -U, 2 +U,
    3 -D) and the schema's columns; the files may hold further columns that begin with `__`.
    watermarks: `seq` BIGINT, `source` STRING, `event_time_ms` BIGINT (null for an end or an explicit
    watermark), `watermark_ms` BIGINT (the source's watermark after the event; null before its first,
    9223372036854775807 after its end), `is_end` BOOLEAN. One row per source event.
    late: `node`, `port` STRING, `seq` BIGINT, `step` BINARY (the input record), `event_time_ms`,
    `window_start_ms`, `window_end_ms`, `watermark_ms` (the operator's, before the record), `lateness_ms`
    BIGINT, `reason` STRING ("window closed", ...). Window columns are null where there is no window.
    fires: `node` STRING, `seq` BIGINT (the event whose watermark fired it), `window_start_ms`,
    `window_end_ms` BIGINT: one row per window of an operator that fired (whatever the number of keys).
    rejected: `node`, `file` STRING, `line` BIGINT, `raw` STRING, `reason` STRING. Only in epoch 0.
    key_times: by node, the keys that took it longest: `key` STRING (its values as a JSON array), `ns` BIGINT,
    `records` BIGINT. The folder need not be there.
    """

    epoch: int
    edges: Mapping[tuple[str, str], Path]
    watermarks: Path | None = None
    late: tuple[Path, ...] = ()
    fires: tuple[Path, ...] = ()
    rejected: tuple[Path, ...] = ()
    key_times: Mapping[str, Path] = field(default_factory=dict)
    last_seq: int = 0
    is_last: bool = False


@dataclass
class NodeProgress:
    """How far one node is: state is waiting, running, done or failed; counts are of the whole run so far."""

    node: str
    state: str
    epoch: int = 0
    records_out: int | None = None
    seconds: float = 0.0
    error: str = ""


@dataclass
class Progress:
    """A run's progress. The engine replaces entries while it runs; readers may look at any time."""

    epochs: int = 1
    epoch: int = 0
    phase: str = "starting"
    nodes: dict[str, NodeProgress] = field(default_factory=dict)


class Recorder(Protocol):
    """Where a run's output goes."""

    def begin(self, plan: RunPlan) -> None:
        """The run is planned and about to start."""

    def commit(self, output: EpochOutput) -> None:
        """Take one epoch, whole or not at all. The files may be gone after the call."""

    def finish(self) -> None:
        """The run ended well."""

    def fail(self, sentence: str, node: str = "", *, cancelled: bool = False) -> None:
        """The run ended badly; what was committed stays."""
