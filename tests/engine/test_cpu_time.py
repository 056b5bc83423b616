"""Limits of time by what a process computes: work that others keep from a core does not use them up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from engine.spark import cpu_time
from engine.spark.cpu_time import TimeLimit, cpu_seconds

COMPUTES = "while True: pass"
SLEEPS = "import time; time.sleep(600)"
# The parent waits while its child computes, as a JVM does while its Python workers compute.
BELOW = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {COMPUTES!r}])"


@contextmanager
def process(program: str) -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", program], start_new_session=True) as started:
        try:
            yield started.pid
        finally:
            os.killpg(started.pid, signal.SIGKILL)


def over_after(seconds: float, process: int | None) -> float | None:
    began = time.monotonic()
    limit = TimeLimit(seconds, process)
    while time.monotonic() - began < 20:
        if limit.is_over():
            return time.monotonic() - began
        time.sleep(0.02)
    return None


@pytest.mark.parametrize("program", [COMPUTES, BELOW], ids=["itself", "a child"])
def test_what_computes_uses_it_up(program: str) -> None:
    with process(program) as pid:
        before = cpu_seconds(pid) or 0
        took = over_after(0.4, pid)
        assert took is not None
        assert took >= 0.4
        # Unless this machine is so busy that it has computed nothing for five times as long.
        assert (cpu_seconds(pid) or 0) - before >= 0.2 or took >= 2.0


def test_what_waits_has_five_times_as_long() -> None:
    with process(SLEEPS) as pid:
        time.sleep(0.3)
        assert (over_after(0.4, pid) or 0) >= 2.0


def test_a_machine_elsewhere_is_judged_by_the_clock() -> None:
    took = over_after(0.2, None)
    assert took is not None
    assert took >= 0.2


def test_an_ended_process_has_no_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    with process(SLEEPS) as pid:
        limit = TimeLimit(0.1, pid)
    assert cpu_seconds(pid) is None
    time.sleep(0.15)
    assert limit.is_over()
    # Where nothing tells what a process has computed, the clock counts.
    monkeypatch.setattr(cpu_time, "_PROC", cpu_time._PROC / "none")
    limit = TimeLimit(0.1, pid)
    time.sleep(0.15)
    assert limit.is_over()
