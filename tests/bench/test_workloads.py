"""Tests of the benchmark without measurements: its workloads plan, and its figures of processes are right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.contract.recorder import Progress
from engine.expressions.analyzer import TypeRules
from engine.planner import plan
from engine.script import script_of
from tests.bench import process_tree, report
from tests.bench.bench_engine import DEFAULT, KNOWN
from tests.bench.child import Ended
from tests.bench.events import events, first_events
from tests.bench.figures import Figure
from tests.bench.measured import EpochSpent, Measured, NodeSpent, Spent
from tests.bench.phases import Phases
from tests.bench.turns import Case
from tests.bench.workloads import QUERIES, script

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


EPOCH = EpochSpent("1", 1.5, {"java": 1.0}, {"java": 2**30}, 4096)


@pytest.mark.slow
@pytest.mark.parametrize("workload", QUERIES)
def test_every_workload_plans(workload: str, spark: SparkSession, tmp_path: Path) -> None:
    analyzer, file = TypeRules(), events(tmp_path, 10, 3)
    planned = plan(script_of(script(workload, file.name), analyzer, tmp_path).pipeline, analyzer, tmp_path)
    tables = [line for line in script(workload, file.name).splitlines() if line.startswith("CREATE TABLE")]
    assert len(planned.sources) == len(tables)


def test_the_default_workloads_are_known() -> None:
    assert set(DEFAULT) <= set(KNOWN)


def test_the_same_numbers_make_the_same_events(tmp_path: Path) -> None:
    one, other = events(tmp_path / "a", 3000, 7), events(tmp_path / "b", 3000, 7)
    assert one.read_bytes() == other.read_bytes()
    assert first_events(one).read_text() == "".join(one.read_text().splitlines(keepends=True)[:2000])


def test_what_a_side_measured_comes_back_from_json() -> None:
    measured = Measured((Spent("sources", 1.5, {"java": 2.0}),), (NodeSpent("ev", 1.0, 10),), (EPOCH,), 10, 4096)
    assert Measured.from_json(json.dumps(asdict(measured))) == measured


def test_phases_of_later_epochs_add_up() -> None:
    progress = Progress()
    phases = Phases(progress)
    phases.start()
    for phase in ("reading the sources", "running top", "keeping the changelogs", "running top", "finished"):
        progress.phase = phase
        while phases.seen != phase:
            time.sleep(0.01)
    assert [part.name for part in phases.end()] == ["planning", "sources", "top", "keeping"]


@pytest.mark.skipif(not process_tree.IS_AVAILABLE, reason="there is no /proc")
def test_a_process_tree_has_the_process_itself_and_its_children() -> None:
    child = os.posix_spawn("/bin/sleep", ["sleep", "60"], os.environ)
    try:
        assert {os.getpid(), child} <= {process.pid for process in process_tree.tree(os.getpid())}
        assert process_tree.memory(os.getpid())[process_tree.DRIVER] > 1_000_000
    finally:
        process_tree.kill(child)
        os.waitpid(child, 0)


_WORKER = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork() == 0:
    while time.process_time() < 0.2:
        pass
    print("burnt", flush=True)
    input()
    os._exit(0)
time.sleep(60)
"""


@pytest.mark.skipif(not process_tree.IS_AVAILABLE, reason="there is no /proc")
def test_a_worker_that_has_ended_still_counts_though_its_daemon_ignores_that() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", _WORKER], stdin=pipe, stdout=pipe, text=True) as daemon:
        try:
            assert daemon.stdout is not None
            assert daemon.stdout.readline() == "burnt\n"
            assert process_tree.cpu(daemon.pid)[process_tree.WORKERS] > 0.1
            assert daemon.stdin is not None
            daemon.stdin.write("\n")
            daemon.stdin.flush()
            while len(process_tree.tree(daemon.pid)) > 1:
                time.sleep(0.01)
            assert process_tree.cpu(daemon.pid)[process_tree.WORKERS] > 0.1
        finally:
            process_tree.kill(daemon.pid)


@pytest.fixture
def cases() -> list[Case]:
    parts = (Spent("sources", 4, {"java": 6.0, "driver": 2.0}), Spent("top", 1, {"java": 4.0}))
    studio = Measured(parts, (), (EPOCH,), 7, 2**20)
    case = Case("top3", "top3", 100, 10)
    case.units.append(Ended("spark_side", Measured((Spent("CSV to Parquet", 2, {"java": 4.0}),))))
    case.studio.append(Ended("studio_side", studio, peak={"java": 2**30, "python": 2**20}))
    case.flink.append(Ended("flink_side", None, "no end within 5 s"))
    return [case]


def test_the_report_tells_units_and_what_is_missing(cases: list[Case]) -> None:
    figures = [Figure("CSV of 18 integers", "sources", None, why="no end within 120 s")]
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in report.text(cases, figures, nodes=True).splitlines()
        if line.startswith("| top3 ")
    ]
    assert rows[0] == ["top3", "5.0", "12.0", "3.00", "-", "-", "-", "-", "10000.0", "7", "1", "1,024", "1", "-"]
    assert rows[1][4:10] == ["4.0", "8.0", "2.00", "1.0", "4.0", "1.00"]
    assert report.has_failed(cases, figures)
    assert "top3, flink_side: no end within 5 s" in report.text(cases, figures, nodes=False)
