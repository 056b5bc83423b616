"""Source files that only a remote engine can read.

Pages plan with the file system of the engine chosen for the next run.
"""

from __future__ import annotations

from functools import lru_cache

from streamlit.runtime.scriptrunner import get_script_run_ctx

from engine.errors import EngineUnavailable
from engine.reading.files.storage import Storage, look_at_by_default
from engine.spark.engine_storage import EngineStorage, storage_of
from engine.spark.engines import Engine
from ui.engines.chosen import chosen
from ui.engines.known import default_name, engine_of, master_of


def look_at_chosen_engine() -> None:
    """Let all plans of this process look for paths that are not on this machine on the session's chosen engine."""
    look_at_by_default(_chosen)


def _chosen() -> Storage | None:
    # A thread without a session has no chosen engine.
    return far_files_of(chosen() if get_script_run_ctx(suppress_warning=True) is not None else default_name())


def far_files_of(name: str) -> Storage | None:
    """The storage of the engine of this name; None if it shares this machine's files, or is unknown."""
    try:
        engine = engine_of(master_of(name))
    except EngineUnavailable:
        # The engine was removed; the start of a run on it reports that.
        return None
    return _kept(engine, name) if engine.workspace else None


@lru_cache(maxsize=8)
def _kept(engine: Engine, name: str) -> EngineStorage | None:
    from engine.spark.session import get_spark

    return storage_of(engine, lambda: get_spark(master_of(name)))
