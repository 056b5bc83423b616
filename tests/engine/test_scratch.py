"""Temporary folders are removed after the end of their process, for any kind of end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from engine.scratch import hold, kept_scratch, scratch, sweep
from engine.spark.workspace import writing

ROOT = Path(__file__).resolve().parents[2]
HOLDER = """
from engine.command_line.interrupts import ending
from engine.scratch import scratch
import time
with ending(), scratch("test") as folder:
    (folder / "file").touch()
    print(folder, flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("engine.scratch._NEW_S", 0)


@pytest.mark.parametrize(
    ("number", "is_left"), [(signal.SIGKILL, True), (signal.SIGTERM, False), (signal.SIGINT, False)]
)
def test_what_a_process_leaves(number: signal.Signals, is_left: bool) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as holder:
        assert holder.stdout is not None
        folder = Path(holder.stdout.readline().strip())
        assert sweep() == [], "it is another living process's"
        assert (folder / "file").exists()
        holder.send_signal(number)
        holder.wait(30)
    assert folder.exists() is is_left
    assert sweep() == ([folder] if is_left else [])
    assert not folder.exists()


def test_a_folder_is_held_by_whoever_has_its_descriptor() -> None:
    folder = kept_scratch("test")
    held = hold(folder)
    assert held is not None
    other = os.dup(held)
    os.close(held)
    assert sweep() == []
    os.close(other)
    assert sweep() == [folder]


def test_what_is_not_ours_or_was_made_just_now_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "else").mkdir()
    (tmp_path / "changelog-studio.file").touch()
    (tmp_path / "changelog-studio.link").symlink_to(tmp_path / "else")
    with scratch("test"):
        pass
    assert sweep() == []
    monkeypatch.setattr("engine.scratch._NEW_S", 60)
    folder = kept_scratch("test")
    assert sweep() == []
    assert folder.exists()


def test_a_task_that_goes_on_brings_no_folder_back(tmp_path: Path) -> None:
    def go_on(folder: Path) -> None:
        with contextlib.suppress(FileNotFoundError):
            for number in range(1_000_000):
                writing(str(folder / "run" / str(number % 50) / str(number))).close()

    with scratch("run") as folder:
        task = threading.Thread(target=go_on, args=[folder])
        task.start()
        while not (folder / "run" / "7").exists():
            time.sleep(0.001)
    task.join(30)
    assert not task.is_alive()
    assert list(tmp_path.iterdir()) == []
