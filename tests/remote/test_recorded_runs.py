"""A run on a Spark Connect server with a workspace, as the app runs it: recorded here, and nothing left there."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from urllib.parse import quote

import pytest
from pyspark.sql import SparkSession

from engine.contract.live import Control, Live
from engine.examples import examples
from engine.spark.engines import engines_file
from storage import Store
from storage.model import RunStatus
from tests.engine.planning import pipeline_of
from tests.remote.conftest import Far
from tests.remote.test_no_shared_files import left
from ui.runs.batch_checks import Checker
from ui.runs.deleting import delete_run
from ui.runs.manager import RunManager, use

pytestmark = pytest.mark.slow


def _live_run(manager: RunManager, store: Store, far: Far) -> None:
    """One that is stopped has left there what it goes on from, until it is deleted."""
    count = {"group_by": ["key"], "aggregates": [{"function": "COUNT", "name": "n"}]}
    made = ("generator", {"rows": None, "rate": 1000})
    pipeline = pipeline_of("made -> counts", made=made, counts=("aggregate", count))
    use(manager)
    run_id = manager.start(pipeline, master=far.engine.name, live=Live(Control()))
    while store.runs.get(run_id).epochs_done < 2:
        job = manager.job(run_id)
        assert job is not None
        assert job.ended is None, store.runs.get(run_id).error
        time.sleep(0.1)
    control = manager.control(run_id)
    assert control is not None
    control.stop()
    assert manager.wait(run_id, 180)
    assert store.runs.get(run_id).status is RunStatus.STOPPED
    assert len(left(far)) == 1
    assert delete_run(store, run_id) == ()
    for thread in threading.enumerate():
        if thread.name == "changelog-studio-leftovers":
            thread.join()
    assert left(far) == []


def test_a_run_is_recorded_checked_here_and_leaves_nothing_there(far: Far, spark: SparkSession, tmp_path: Path) -> None:
    with Store.open(tmp_path / "studio.duckdb") as store:
        manager = RunManager(store)
        run_id = manager.start(examples()["01-word-frequency"], master=far.engine.name, epochs=2)
        assert manager.wait(run_id, 180)
        run = store.runs.get(run_id)
        assert (run.status, run.error, run.engine) == (RunStatus.FINISHED, "", far.engine.name)
        assert left(far) == []
        assert not list(manager.work.iterdir())
        _live_run(manager, store, far)
        checked = Checker(store, tmp_path)._check(run_id)
        assert "error" not in checked
        assert all(node["missing"] == node["extra"] == 0 for node in checked["nodes"])
    written = [file for file in tmp_path.rglob("*") if file.is_file() and file != engines_file()]
    tokens = [each.encode() for each in (far.engine.token, quote(far.engine.token))]
    assert not [file for file in written if any(token in file.read_bytes() for token in tokens)]
