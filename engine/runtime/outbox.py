"""The records that live runs write to the targets of their sinks: they wait in the run's files until they are there.

An epoch's checkpoint names the files that each sink has to write. They are kept until its target has the epoch: the
next epoch begins then. If the process ends before, the run that goes on asks the target whether it has the epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

import pyarrow as pa

from engine.contract.frames import POSITION
from engine.contract.live import Live, Wish
from engine.contract.operator import OUT, Operator
from engine.contract.recorder import EdgeFile, EdgeInfo, EpochOutput
from engine.contract.target import EpochWriter, Unreachable
from engine.errors import TargetError
from engine.runtime.context import RunContext
from engine.runtime.edges.records import base_of, in_order, seen_through
from engine.spark.workspace import Workspace

_FIRST_WAIT_S: Final = 0.5
_LONGEST_WAIT_S: Final = 30.0
_LOOK_S: Final = 0.2


@dataclass(frozen=True)
class Pending:
    """What the target of a sink has to have: the epoch, after an earlier one, with records in these files.

    Of epochs without records a target is told nothing. files: none if they are there. -1: there is no such epoch.
    records: that the target has. waiting: those in the files.
    """

    epoch: int = -1
    after: int = -1
    files: tuple[EdgeFile, ...] = ()
    records: int = 0
    waiting: int = 0

    @property
    def written(self) -> Pending:
        """The same, once the target has the epoch."""
        return replace(self, files=(), records=self.records + self.waiting, waiting=0)


@dataclass
class Outbox:
    """The targets of a live run's sinks. edges: of the run. pending: by sink. before: its records of other attempts."""

    edges: Mapping[tuple[str, str], EdgeInfo]
    writers: Mapping[str, EpochWriter]
    run: RunContext
    live: Live
    pending: dict[str, Pending] = field(default_factory=dict)
    before: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.before = {name: waiting.written.records for name, waiting in self.pending.items()}

    @classmethod
    def of(cls, run: RunContext, live: Live, edges: Sequence[EdgeInfo], stack: ExitStack) -> Outbox:
        """The targets that the sinks of a plan name, if the run writes. stack: closes them. Raises TargetError."""
        writers = {}
        for node in run.plan.nodes if live.writes else ():
            if isinstance(node.operator, Operator):
                writer = node.operator.epoch_writer(run.plan.context(node), live.name, run.folder)
                if writer is not None:
                    stack.callback(writer.close)
                    writers[node.id] = writer
        saved = {} if live.checkpoint is None else live.checkpoint.outbox
        place = run.files.workspace.around
        pending = {name: _pending(saved.get(name), place) for name in writers}
        known_edges = {(edge.node, edge.port): edge for edge in edges}
        return cls(known_edges, writers, run, live, pending)

    @property
    def paths(self) -> frozenset[str]:
        """The files that are not in their targets yet."""
        return frozenset(file.path for waiting in self.pending.values() for file in waiting.files)

    def to_json(self) -> dict[str, Any]:
        """For a checkpoint, with the places, and with paths relative to the folder of the run."""
        place = self.run.files.workspace.around

        def inside(file: EdgeFile) -> dict[str, Any]:
            return asdict(replace(file, path=place.inside(file.path)))

        return {
            name: {**asdict(waiting), "files": list(map(inside, waiting.files)), "place": self.writers[name].place}
            for name, waiting in self.pending.items()
        }

    def take(self, output: EpochOutput) -> None:
        """Note what an epoch has for each sink."""
        for name, before in self.pending.items():
            files = output.edges.get(base_of(self.edges, (name, OUT)), ())
            if files:
                total = self.before[name] + (self.run.progress.nodes[name].records_out or 0)
                self.pending[name] = Pending(output.epoch, before.epoch, files, before.records, total - before.records)

    def begin(self) -> bool:
        """Connect to the targets, and write what the last epoch left; False if the run was stopped meanwhile."""
        return self._all(self._begin)

    def deliver(self) -> bool:
        """Write the epoch to all targets; False if the run was stopped meanwhile."""
        return self._all(self._write)

    def _all(self, act: Callable[[str], None]) -> bool:
        is_done = all(self._patiently(name, act) for name in self.writers)
        if self.writers:
            self.live.delivered(self.to_json())
        return is_done

    def _begin(self, name: str) -> None:
        writer, wanted = self.writers[name], self.pending[name]
        last = writer.last()
        there = -1 if last is None else last
        if there == wanted.epoch:
            self.pending[name] = wanted.written
        elif there == wanted.after and wanted.files:
            self._write(name)
        else:
            raise TargetError(_other_end(writer.place, there, wanted.epoch), name)

    def _write(self, name: str) -> None:
        wanted = self.pending[name]
        if wanted.files:
            self.run.progress.phase = f"writing to {self.writers[name].place}"
            self.writers[name].write(wanted.epoch, self._records(name, wanted.files))
            self.pending[name] = wanted.written

    def _records(self, name: str, files: Sequence[EdgeFile]) -> pa.Table:
        """The records of an epoch, in order."""
        here = self.run.files.bring(file.path for file in files)
        local = tuple(replace(file, path=str(here[file.path])) for file in files)
        records = seen_through(self.edges, (name, OUT), local)
        return in_order(records, Workspace(""), (*POSITION, *records.schema.names))

    def _patiently(self, name: str, act: Callable[[str], None]) -> bool:
        """Try until the target answers; False if the run is stopped first."""
        wait_s = _FIRST_WAIT_S
        while True:
            try:
                act(name)
            except Unreachable as error:
                sentence = str(error)
            else:
                self.run.progress.away.pop(name, None)
                return True
            self.run.progress.away[name] = sentence
            self.live.say(name, f"{sentence} The run waits.")
            self.run.progress.phase = f"waiting: {sentence}"
            waited_s = 0.0
            while waited_s < wait_s:
                if self.run.cancel.wait(_LOOK_S):
                    raise self.run.cancel.error()
                if self.live.control.wish is Wish.STOP:
                    return False
                waited_s += _LOOK_S
            wait_s = min(_LONGEST_WAIT_S, 2 * wait_s)


def _pending(known: Mapping[str, Any] | None, run: Workspace) -> Pending:
    if known is None:
        return Pending()
    files = (EdgeFile(**{**file, "path": run.place(file["path"])}) for file in known["files"])
    return Pending(known["epoch"], known["after"], tuple(files), known.get("records", 0), known.get("waiting", 0))


def _other_end(place: str, there: int, wanted: int) -> str:
    """Why a target does not continue the run."""
    if there > wanted:
        span = f"only epochs up to {wanted}" if wanted >= 0 else "none of them"
        return (
            f"{place} has epochs of this run up to {there}, but the store has {span}: the run went on from another "
            "copy of the store. Start a new run, into another place."
        )
    span = f"epochs only up to {there}" if there >= 0 else "no epoch"
    return f"{place} has {span} of this run, which wrote epoch {wanted} there: something was removed. Start a new run."
