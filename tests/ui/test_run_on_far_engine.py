"""A run on a Spark Connect server with a workspace, as the app runs it: recorded here, and nothing left there."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

from engine.examples import examples
from engine.spark.engines import Engine, save_engine
from storage import Store
from storage.model import RunStatus
from tests.remote.connect_server import connect_server
from ui.runs.batch_checks import Checker
from ui.runs.manager import RunManager

TOKEN = "s3cret/+token"
pytestmark = pytest.mark.slow


def test_a_run_on_a_far_engine_is_recorded_checked_here_and_leaves_nothing(
    spark: object, store: Store, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with connect_server(tmp_path_factory.mktemp("server"), (), token=TOKEN) as server:
        save_engine(Engine("far", server.address, server.workspace, TOKEN))
        manager = RunManager(store)
        run_id = manager.start(examples()["01-word-frequency"], master="far", epochs=2)
        assert manager.wait(run_id, 180)
        run = store.runs.get(run_id)
        assert (run.status, run.error, run.engine) == (RunStatus.FINISHED, "", "far")
        assert not list(Path(server.workspace).iterdir())
        assert not list(manager.work.iterdir())
    # The server is gone by now.
    checker = Checker(store, tmp_path)
    checked = checker._check(run_id)
    assert "error" not in checked
    assert all(node["missing"] == node["extra"] == 0 for node in checked["nodes"])
    written = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert not [file for file in written if any(each.encode() in file.read_bytes() for each in (TOKEN, quote(TOKEN)))]
