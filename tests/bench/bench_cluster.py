"""Which part of a run on a cluster is serial: CPU seconds by process, and the bytes that its tasks write.

    python -m tests.bench.bench_cluster [--events N] [--keys N] [--workers 1 2 4] [--workloads ...]

Spark standalone on this machine, with workers of one core each. A workload runs once over its first events, and is then
measured. Its serial part is what the app's process does (planning, the client, loading into the store) and the driver's
JVM; how much of it is loading is the difference to a run that keeps nothing. The rest are the executors and their
Python workers. Tasks are those of Spark's event log; Spark shuffles nothing, as tasks write the files of each
partition. Skewed inputs follow: many small keys, and one key with half of all records. Not part of the test run.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from engine.contract.recorder import Nobody, Recorder
from engine.expressions.analyzer import TypeRules
from engine.planner import plan
from engine.runtime import run
from engine.script import script_of
from engine.spark.run_files import LocalFiles
from engine.spark.servers import FOLDER_ENVIRONMENT
from engine.spark.session import get_spark, server_of
from storage import Store
from tests.bench.events import events, first_events
from tests.bench.process_tree import tree
from tests.bench.workloads import QUERIES, script
from tests.remote.standalone import standalone

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WORKLOADS: Final = ("scan", "word_freq", "tumble", "dedup_last_rowtime", "join")
_LOG: Final = {
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
}


class Cluster:
    """A cluster with a session."""

    def __init__(self, spark: SparkSession, workers: list[int], log: Path) -> None:
        self.spark, self._workers, self._log = spark, workers, log
        server = server_of(spark)
        assert server is not None
        self._driver = server.jvm

    def cpu(self) -> dict[str, float]:
        """CPU seconds so far: of the app, the driver, the executors."""
        own = os.times()
        [driver] = [each for each in tree(self._driver) if each.pid == self._driver]
        of_workers = sum(each.cpu_s for worker in self._workers for each in tree(worker))
        return {"app": own.user + own.system, "driver": driver.cpu_s, "executors": of_workers}

    def tasks(self, skip: int) -> list[dict[str, Any]]:
        """The tasks that have ended, without the first ones."""
        time.sleep(1)
        [file] = [each for each in self._log.iterdir() if each.is_file()]
        ended = []
        for line in file.read_text(encoding="utf-8").splitlines():
            if '"SparkListenerTaskEnd"' in line:
                # The log is being written: its last line may be incomplete.
                try:
                    ended.append(json.loads(line))
                except ValueError:
                    break
        return ended[skip:]


@contextmanager
def _cluster(workers: int, folder: Path) -> Iterator[Cluster]:
    settings, log = folder / "conf", folder / "events"
    for each in (settings, log):
        each.mkdir()
    text = "".join(f"{name} {value}\n" for name, value in (_LOG | {"spark.eventLog.dir": log.as_uri()}).items())
    (settings / "spark-defaults.conf").write_text(text)
    os.environ |= {"SPARK_CONF_DIR": str(settings), FOLDER_ENVIRONMENT: str(folder / "servers")}
    with standalone(folder, workers) as (address, started):
        spark = get_spark(address)
        server = server_of(spark)
        assert server is not None
        try:
            yield Cluster(spark, [each.pid for each in started], log)
        finally:
            server.close(20)


def _run(cluster: Cluster, workload: str, file: Path, place: Path, *, keeps: bool) -> int:
    """Run it; returns the bytes of its files."""
    pipeline = script_of(script(workload, file.name), TypeRules(), file.parent).pipeline
    planned = plan(pipeline, TypeRules(), file.parent)
    with tempfile.TemporaryDirectory(dir=place) as name, Store.open(Path(name) / "studio.duckdb") as store:
        files = LocalFiles(Path(name) / "run")
        recorder: Recorder = store.record(store.runs.create("x", pipeline.to_json()).run_id) if keeps else Nobody()
        run(planned, spark=cluster.spark, recorder=recorder, folder=file.parent, files=files)
        return sum(each.stat().st_size for each in files.folder.rglob("*") if each.is_file())


def _measured(cluster: Cluster, workload: str, file: Path, place: Path, *, keeps: bool = True) -> str:
    """A line with what it took."""
    seen = len(cluster.tasks(0))
    before, began = cluster.cpu(), time.perf_counter()
    written = _run(cluster, workload, file, place, keeps=keeps)
    wall = time.perf_counter() - began
    spent = {role: seconds - before[role] for role, seconds in cluster.cpu().items()}
    serial = (spent["app"] + spent["driver"]) / sum(spent.values())
    parts = " ".join(f"{role} {seconds:6.1f}" for role, seconds in spent.items())
    ended = cluster.tasks(seen)
    return (
        f"{wall:6.1f} s | CPU s: {parts} | serial {serial:4.0%} | {len(ended):4} tasks, "
        f"{written / 1e6:7.1f} MB of files | slowest task {_slowest(ended)}"
    )


def _slowest(ended: list[dict[str, Any]]) -> str:
    """The longest task of the stage that took longest, after that which reads, as a multiple of the mean."""
    stages: dict[int, list[int]] = defaultdict(list)
    for task in ended:
        stages[task["Stage ID"]].append(task["Task Metrics"]["Executor Run Time"])
    stages.pop(min(stages), None)
    longest = max(stages.values(), key=sum, default=[0])
    mean = sum(longest) / len(longest)
    return f"{max(longest) / mean if mean else 0:.1f} times the mean of {len(longest)}, {max(longest) / 1000:.1f} s"


def _skewed(folder: Path, count: int) -> Path:
    """Events of which one key has half."""
    file = folder / f"skewed-{count}.csv"
    random = np.random.default_rng(7)
    seq = np.arange(1, count + 1)
    keys = np.where(random.random(count) < 0.5, 1, random.integers(0, 100_000, count))
    columns = {"seq": seq, "k": keys, "v": random.integers(0, 1_000_000, count), "ts": 1_700_000_000_000 + seq // 4}
    pd.DataFrame(columns).to_csv(file, header=False, index=False)
    return file


def main() -> int:
    """Measure, and print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.bench_cluster")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--workloads", nargs="+", default=_WORKLOADS, choices=[*QUERIES])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cluster-", ignore_cleanup_errors=True) as name:
        place = Path(name)
        file, skewed = events(place, given.events, given.keys), _skewed(place, given.events)
        for workers in given.workers:
            (place / str(workers)).mkdir()
            with _cluster(workers, place / str(workers)) as cluster:
                for workload in given.workloads:
                    _run(cluster, workload, first_events(file), place, keeps=True)
                    _say(f"{workers} workers {workload:20} kept    {_measured(cluster, workload, file, place)}")
                    if workers == max(given.workers):
                        measured = _measured(cluster, workload, file, place, keeps=False)
                        _say(f"{workers} workers {workload:20} nothing {measured}")
                if workers == max(given.workers):
                    for title, path in (("small keys", file), ("half in one", skewed)):
                        for workload in ("agg", "dedup_last_rowtime", "tumble"):
                            measured = _measured(cluster, workload, path, place, keeps=False)
                            _say(f"{workers} workers {f'{workload}, {title}':32} {measured}")
    return 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
