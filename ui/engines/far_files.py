"""The files of sources that only an engine sees, as pages plan: those of the engine that the next run takes."""

from __future__ import annotations

from functools import lru_cache

from streamlit.runtime.scriptrunner import get_script_run_ctx

from engine.errors import EngineUnavailable
from engine.reading.files.storage import Storage, look_at_by_default
from engine.spark.engine_storage import EngineStorage, storage_of
from engine.spark.engines import Engine
from ui.components.engines.engine_choice import chosen
from ui.engines.known import default_name, engine_of, master_of


def look_at_chosen_engine() -> None:
    """From now on, whatever is planned in this process looks there for paths that are not on this machine."""
    look_at_by_default(_chosen)


def _chosen() -> Storage | None:
    # A thread without a page has nobody who chose.
    return far_files_of(chosen() if get_script_run_ctx(suppress_warning=True) is not None else default_name())


def far_files_of(name: str) -> Storage | None:
    """What only the engine of this name sees; None where it sees what this machine sees, or is not known."""
    try:
        engine = engine_of(master_of(name))
    except EngineUnavailable:
        # None of the user's any more; said where a run is started on it.
        return None
    return _kept(engine, name) if engine.workspace else None


@lru_cache(maxsize=8)
def _kept(engine: Engine, name: str) -> EngineStorage | None:
    from engine.spark.session import get_spark

    return storage_of(engine, lambda: get_spark(master_of(name)))
