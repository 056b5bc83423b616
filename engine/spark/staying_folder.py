"""The folder of a workspace where the changelogs of a run stay. This machine reads what the workers write there."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pyarrow as pa

from engine.errors import RunFailed
from engine.spark.engines import Engine
from engine.spark.run_files import RunFiles
from engine.spark.workspace import Workspace


def staying_folder(engine: Engine, files: RunFiles, run: int, note: Callable[[str], None]) -> Workspace | None:
    """A new folder where the changelogs of a run stay; None if the engine's are kept in the store.

    note: called with it before anything is written there. Raises RunFailed if this machine cannot read what is written.
    """
    if not engine.workspace or not engine.changelogs_stay:
        return None
    folder = Workspace(f"{engine.workspace.rstrip('/')}/changelog-studio-kept-{run}-{uuid4().hex}")
    note(folder.root)
    path = folder.place("seen-from-here")
    files.write(path, pa.table({"seen": [True]}))
    try:
        next(folder.read(path, ["seen"]))
    except (OSError, pa.ArrowException) as error:
        message = (
            "the changelogs cannot stay in the workspace: this machine cannot read what the workers write to "
            f"{folder.root} ({str(error).rstrip('.')}). Make the workspace readable from here, or switch off that they "
            "stay there."
        )
        raise RunFailed(message) from error
    return folder
