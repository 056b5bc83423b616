"""Runs whose changelogs stay in a folder, which the tasks of the engine write from the files of a run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from engine.contract.recorder import ALL, EpochOutput, RunPlan
from engine.runtime.edges.records import records_of
from engine.runtime.edges.staying import Staying
from engine.runtime.in_process import in_process
from engine.spark.workspace import Workspace
from storage import Store
from storage.recording.recorder import Recording


@dataclass
class StayingRun:
    """A recorder that is told that the changelogs stay in a folder."""

    recording: Recording
    folder: str

    @classmethod
    def of(cls, store: Store, run_id: int, folder: str) -> StayingRun:
        """The recorder of a run. folder: a path or URI."""
        store.staying.note(run_id, folder)
        return cls(store.record(run_id), folder)

    def begin(self, plan: RunPlan) -> None:
        """Begin. All edges stay of which all records are kept."""
        self._infos = {(edge.node, edge.port): replace(edge, stays=edge.share == ALL) for edge in plan.edges}
        stay = frozenset(place for place, edge in self._infos.items() if edge.stays and edge.view is None)
        # In process, tasks need no session.
        no_session: Any = None
        self._staying = Staying(no_session, Workspace("/"), Workspace(self.folder), stay)
        self.recording.begin(replace(plan, edges=tuple(self._infos.values())))

    def written(self, output: EpochOutput) -> EpochOutput:
        """An epoch whose edges are written to the folder."""
        edges = {place: records_of(self._infos[place], files) for place, files in output.edges.items()}
        with in_process():
            return replace(output, staying=self._staying.write(output.epoch, edges))

    def commit(self, output: EpochOutput) -> None:
        """Write an epoch's edges to the folder, and commit it."""
        self.recording.commit(self.written(output))

    def take(self, epoch: int, node: str, port: str, files: Any) -> None:
        """They are only passed to `commit`."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.recording, name)


def files_in(folder: Path) -> list[Path]:
    """The files in a folder, at any depth."""
    return sorted(path for path in folder.rglob("*") if path.is_file())
