"""The JVM of a server ends with its keeper, for any end of the keeper and any state of the JVM."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.spark.jvm_guard import GuardedJvm
from engine.spark.servers import server_for

ROOT = Path(__file__).resolve().parents[2]

# Represents the app: it prints the pid of its child, and waits to be killed. The child ignores SIGTERM.
PARENT = """
import signal, subprocess, sys, time
from pathlib import Path
from engine.spark.jvm_guard import GuardedJvm
# A suite that runs in the background hands on that SIGINT is ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
child = subprocess.Popen(["sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"])
guarded = GuardedJvm(child, Path(sys.argv[1]), grace_s=1)
print(child.pid, flush=True)
time.sleep(600)
"""


def is_running(process: int) -> bool:
    """True for a process that exists and is not a zombie."""
    said = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False)
    return said.stdout.strip() != "" and not said.stdout.strip().startswith("Z")


def has_ended(process: int, within_s: float) -> bool:
    """Wait for a process to end. False if it has to be killed."""
    deadline = time.monotonic() + within_s
    while is_running(process):
        if time.monotonic() > deadline:
            os.kill(process, signal.SIGKILL)
            return False
        time.sleep(0.1)
    return True


def child_of(program: str, *arguments: str) -> tuple[subprocess.Popen[str], int]:
    parent = subprocess.Popen([sys.executable, "-c", program, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    return parent, int(parent.stdout.readline())


def ended(parent: subprocess.Popen[str], by: signal.Signals) -> None:
    parent.send_signal(by)
    parent.communicate(timeout=60)


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_child_that_hears_nothing_ends_with_its_parent(tmp_path: Path, by: signal.Signals) -> None:
    scratch = tmp_path / "it's scratch"
    scratch.mkdir()
    parent, child = child_of(PARENT, str(scratch))
    ended(parent, by)
    assert has_ended(child, within_s=20)
    deadline = time.monotonic() + 20
    while scratch.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not scratch.exists()


def test_a_child_that_ended_by_itself_is_noticed_and_its_number_is_let_alone(tmp_path: Path) -> None:
    child = subprocess.Popen(["true"])
    guarded = GuardedJvm(child, tmp_path)
    deadline = time.monotonic() + 20
    while guarded.is_alive() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert guarded._shell is None
    assert tmp_path.exists()


def test_closing_waits_for_the_end_and_says_how_it_was(tmp_path: Path) -> None:
    listens = subprocess.Popen(["sh", "-c", "trap 'exit 143' TERM; while :; do sleep 0.05; done"])
    time.sleep(0.3)
    assert GuardedJvm(listens, tmp_path).close(timeout_s=20)
    deaf = subprocess.Popen(["sh", "-c", "trap '' TERM; while :; do sleep 0.05; done"])
    time.sleep(0.3)
    assert not GuardedJvm(deaf, tmp_path).close(timeout_s=0.2)
    assert deaf.returncode == -signal.SIGKILL


@pytest.mark.slow
def test_a_jvm_that_can_do_nothing_ends_with_a_killed_keeper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHANGELOG_STUDIO_SERVERS", str(tmp_path))
    server = server_for("local[1]")
    # A stopped JVM reacts as little as one that only collects garbage.
    os.kill(server.jvm, signal.SIGSTOP)
    os.kill(server.keeper, signal.SIGKILL)
    assert has_ended(server.jvm, within_s=20)
    assert not server.is_alive()
