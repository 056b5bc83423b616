"""Deletion of a run, with its resources outside of the store."""

from __future__ import annotations

from collections.abc import Sequence

from engine.contract.live import Begun
from engine.errors import EngineUnavailable
from engine.live_runs.external_resources import let_go
from storage.model import Run
from storage.store import Store
from ui.engines.known import engine_of, master_of
from ui.runs.leftovers import empty_in_background, note_workspace
from ui.runs.manager import runs


def delete_run(store: Store, run_id: int) -> Sequence[str]:
    """Delete a run; returns a sentence for everything that could not be removed. Raises UnknownRun, RunIsRunning."""
    run, begun = store.runs.get(run_id), store.runs.live(run_id)
    store.runs.delete(run_id)
    staying = store.staying.sweep(run_id)
    if begun is None:
        return staying
    return (*staying, *_state_removed(run, begun), *let_go(run.document, begun))


def _state_removed(run: Run, begun: Begun) -> Sequence[str]:
    """Remove the state of a resumable run from its engine's workspace; returns a sentence if the engine is unknown."""
    from engine.spark.run_files import live_folder

    if not run.can_resume:
        return ()
    folder = live_folder(begun.name)
    try:
        has_workspace = bool(engine_of(master_of(run.engine)).workspace)
    except EngineUnavailable:
        return (f"The engine {run.engine} is not known any more. If it had a workspace, remove {folder} there.",)
    if has_workspace:
        empty_in_background([note_workspace(runs().work / f"run_{run.run_id}", run.engine, folder)])
    return ()
