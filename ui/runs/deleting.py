"""Deleting a run, with what it holds outside of the store."""

from __future__ import annotations

from collections.abc import Sequence

from engine.letting_go import let_go
from storage.store import Store


def delete_run(store: Store, run_id: int) -> Sequence[str]:
    """Delete a run for good. What could not be removed, in sentences. Raises UnknownRun, RunIsRunning."""
    run, begun = store.runs.get(run_id), store.runs.live(run_id)
    store.runs.delete(run_id)
    return let_go(run.document, begun) if begun is not None else ()
