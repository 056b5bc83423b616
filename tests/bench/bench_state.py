"""Shows that state with a TTL is bounded: entries, bytes and CPU seconds of each epoch of a live run whose keys rotate.

    python -m tests.bench.bench_state [EVENTS] [--ttl-s 60] [--engine local[2]]
    python -m tests.bench.bench_state [EVENTS] --what-if
    python -m tests.bench.bench_state --hour [EVENTS] [--ttl-s 60] [--keep 500000] [--engine local[2]]

Events come as 5,000 a second, and an epoch has those of one second. Each of 2,000 keys is seen for 10 seconds and
never again. A group aggregate and a deduplication keep it. Tasks run in this process, so its CPU seconds are all there
are. The same run without a TTL stands beside it. `--what-if`: the CPU seconds of this process and its JVM in which five
TTLs are tried on a bounded run of so many events, of these two operators, and of a join with an aggregate below.
`--hour`: a live run with a store and workers, by default over the 18 M events of an hour, in epochs of half a minute of
them; twelve times in it, the memory of this process (the app's and the driver's), of the JVM and of the workers, the
bytes of the store, the entries and bytes of the state, and the CPU seconds of all of these processes for an epoch. Not
part of the test run.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from engine.contract.live import Begun, Live
from engine.contract.recorder import EdgeFile, EpochOutput, ForwardingRecorder, Recorder, RunPlan
from engine.expressions.analyzer import TypeRules
from engine.model.options import CLOCK, STATE_TTL
from engine.model.pipeline import Pipeline
from engine.runtime import run
from engine.runtime.in_process import in_process
from engine.script import script_of
from engine.spark.run_files import LocalFiles
from engine.spark.servers import FOLDER_ENVIRONMENT, servers
from engine.spark.session import get_spark
from engine.spark.workspace import Workspace
from engine.ttl_trials import TtlTrials
from storage import Store
from storage.recording.retention import Keep
from tests.bench import process_tree
from tests.bench.live_runs import footprint
from tests.golden.trace import plan_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_A_SECOND: Final = 5_000
_EPOCH: Final = _A_SECOND
_HOUR: Final = 3_600 * _A_SECOND
_LONG: Final = 30 * _A_SECOND
_POINTS: Final = 12
_KEYS: Final = 2_000
_SCRIPT: Final = """
SET '{ttl}' = '{ttl_s} s';
SET '{clock}' = 'EVENT_TIME';
CREATE TABLE events (
  id BIGINT,
  k AS MOD(id, {keys}) + {keys} * (id / {lives}),
  ts AS TO_TIMESTAMP_LTZ(id / {per_ms}, 3),
  WATERMARK FOR ts AS ts
) WITH ('connector' = 'datagen', 'number-of-rows' = '{events}', 'fields.id.kind' = 'sequence',
  'fields.id.start' = '1', 'fields.id.end' = '{events}');
CREATE TABLE counts (k BIGINT, n BIGINT, latest BIGINT) WITH ('connector' = 'print');
CREATE TABLE latest (k BIGINT, id BIGINT) WITH ('connector' = 'print');
INSERT INTO counts SELECT k, COUNT(*) AS n, MAX(id) AS latest FROM events GROUP BY k;
INSERT INTO latest SELECT k, id FROM (
  SELECT k, id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS r FROM events) WHERE r = 1;
"""

_JOINED: Final = """
SET '{ttl}' = '{ttl_s} s';
SET '{clock}' = 'EVENT_TIME';
CREATE TABLE events (
  id BIGINT,
  k AS id / 2,
  ts AS TO_TIMESTAMP_LTZ(id / {per_ms}, 3),
  WATERMARK FOR ts AS ts
) WITH ('connector' = 'datagen', 'number-of-rows' = '{events}', 'fields.id.kind' = 'sequence',
  'fields.id.start' = '1', 'fields.id.end' = '{events}');
CREATE VIEW orders AS SELECT k, MOD(k, {keys}) AS customer FROM events WHERE MOD(id, 2) = 0;
CREATE VIEW payments AS SELECT k - 250 * (1 + MOD(k, 8)) AS k, id FROM events WHERE MOD(id, 2) = 1;
CREATE TABLE paid (customer BIGINT, n BIGINT, latest BIGINT) WITH ('connector' = 'print');
INSERT INTO paid SELECT o.customer, COUNT(*) AS n, MAX(p.id) AS latest
  FROM orders AS o JOIN payments AS p ON o.k = p.k GROUP BY o.customer;
"""


@dataclass
class Watching:
    """A recorder that keeps the figures of each epoch, and nothing else."""

    root: Path
    entries: list[int] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    _spent_s: float = field(default_factory=time.process_time)

    def begin(self, plan: RunPlan) -> None:
        """Nothing is kept of it."""

    def take(self, epoch: int, node: str, port: str, files: tuple[EdgeFile, ...]) -> None:
        """Nothing is kept of it."""

    def commit(self, output: EpochOutput) -> None:
        """Note what the state takes after the epoch, and what the epoch took."""
        spent_s = time.process_time()
        self.cpu_s.append(spent_s - self._spent_s)
        entries, size = _state_of(output, self.root)
        self.entries.append(entries)
        self.bytes.append(size)
        self._spent_s = time.process_time()

    def pause(self, *, paused: bool) -> None:
        """Nothing is kept of it."""

    def stop(self) -> None:
        """Nothing is kept of it."""

    def finish(self) -> None:
        """Nothing is kept of it."""

    def fail(self, error: str, node: str, *, cancelled: bool) -> None:
        """Nothing is kept of it."""


class Hour(ForwardingRecorder):
    """A recorder that passes a live run on to its store, and tells its figures at some points."""

    def __init__(self, to: Recorder, root: Path, store: Path, events: int) -> None:
        super().__init__(to)
        self._root, self._store, self._events = root, store, events
        self._points = 0
        self._epochs = 0
        self._spent_s = sum(process_tree.cpu(os.getpid()).values())

    def commit(self, output: EpochOutput) -> None:
        """Commit the epoch, and tell the figures if a point is reached."""
        super().commit(output)
        self._epochs += 1
        if output.last_seq * _POINTS < self._events * (self._points + 1):
            return
        self._points += 1
        spent_s = sum(process_tree.cpu(os.getpid()).values())
        entries, size = _state_of(output, self._root)
        sys.stdout.write(
            f"{output.last_seq:>10,}  {entries:>9,} rows of state, {size / 1e6:5.1f} MB  "
            f"{(spent_s - self._spent_s) / self._epochs:6.3f} CPU s/epoch  {footprint(os.getpid(), self._store)}\n"
        )
        sys.stdout.flush()
        self._spent_s, self._epochs = spent_s, 0


def _state_of(output: EpochOutput, root: Path) -> tuple[int, int]:
    """The rows in the files of the state after an epoch, and their bytes."""
    states = json.loads(output.checkpoint)["states"].values()
    paths = [root / file["path"] for files in states for file in files]
    rows = sum(batch.num_rows for path in paths for batch in Workspace(str(root)).mapped(str(path)))
    return rows, sum(path.stat().st_size for path in paths)


def hour(events: int, ttl_s: int, keep: int, spark: SparkSession) -> None:
    """Run so many events live, and print the figures of the run at each of the points."""
    with tempfile.TemporaryDirectory(prefix="hour-") as name:
        folder = Path(name)
        place = folder / "s.duckdb"
        plan = plan_of(_pipeline(events, ttl_s), spark, folder)
        with Store.open(place) as store:
            created = store.runs.create("hour", plan.pipeline.to_json(), live=Begun(str(folder)))
            store.retention.set(created.run_id, Keep(keep))
            root = store.runs.state_folder(created.run_id)
            files = LocalFiles(root / "attempt")
            recorder = Hour(store.record(created.run_id), root, place, events)
            live = Live(interval_ms=0, records=_LONG)
            run(plan, spark=spark, recorder=recorder, folder=folder, files=files, live=live)


def _pipeline(
    events: int, ttl_s: int, *, script: str = _SCRIPT, lives: int = 10 * _A_SECOND, per_ms: int = _A_SECOND // 1000
) -> Pipeline:
    """The pipeline, whose keys are each seen for so many events."""
    named = {"ttl": STATE_TTL.name, "clock": CLOCK.name, "ttl_s": ttl_s}
    text = script.format(**named, keys=_KEYS, lives=lives, per_ms=per_ms, events=events)
    read = script_of(text, TypeRules(), Path())
    assert not read.failures, read.failures
    return read.pipeline


def watched(events: int, ttl_s: int, spark: SparkSession) -> Watching:
    """The figures of a live run over so many events."""
    with tempfile.TemporaryDirectory(prefix="state-") as name:
        folder = Path(name)
        recorder = Watching(folder)
        plan, files = plan_of(_pipeline(events, ttl_s), spark, folder), LocalFiles(folder / "attempt")
        live = Live(interval_ms=0, records=_EPOCH)
        with in_process():
            run(plan, spark=spark, recorder=recorder, folder=folder, files=files, partitions=2, live=live)
    return recorder


def what_if(script: str, events: int, spark: SparkSession) -> None:
    """Try five TTLs on a run of so many events, and print the CPU seconds of each.

    A key comes back after two seconds; a payment after a half to four seconds.
    """
    pipeline = _pipeline(events, 60, script=script, lives=events, per_ms=1)
    with tempfile.TemporaryDirectory(prefix="what-if-") as name, in_process():
        folder = Path(name)
        trials = TtlTrials(pipeline, spark, folder, folder / "work", lambda seq: seq, events)
        began = spent_s = _cpu_s()
        trials.free()
        sys.stdout.write(f"without a TTL {_cpu_s() - began:6.1f} CPU s\n")
        for ttl_ms in (500, 1_500, 2_500, 60_000, 600_000):
            spent_s = _cpu_s()
            trial = trials.tried(ttl_ms)
            line = f"{ttl_ms / 1000:>11.1f} s {_cpu_s() - spent_s:6.1f} CPU s {trial.share:8.2%} other results\n"
            sys.stdout.write(line)
        sys.stdout.write(f"together      {_cpu_s() - began:6.1f} CPU s\n")


def _cpu_s() -> float:
    """The CPU seconds of this process and the JVM so far."""
    return sum(process_tree.cpu(os.getpid()).values())


def main() -> int:
    """Run both, and print their figures a tenth of the run at a time."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.bench_state")
    parser.add_argument("events", nargs="?", type=int)
    parser.add_argument("--ttl-s", type=int, default=10)
    parser.add_argument("--keep", type=int, default=500_000)
    parser.add_argument("--engine", default="local[2]")
    parser.add_argument("--hour", action="store_true")
    parser.add_argument("--what-if", action="store_true")
    args = parser.parse_args()
    # A JVM of its own, whose CPU seconds are those of this run.
    with tempfile.TemporaryDirectory(prefix="servers-") as folder:
        os.environ[FOLDER_ENVIRONMENT] = folder
        try:
            return _measured(args, get_spark(args.engine))
        finally:
            for server in servers():
                server.kill()


def _measured(args: argparse.Namespace, spark: SparkSession) -> int:
    if args.hour:
        hour(args.events or _HOUR, args.ttl_s, args.keep, spark)
        return 0
    events = args.events or 600_000
    if args.what_if:
        for title, script in (("aggregate and deduplication", _SCRIPT), ("join and aggregate", _JOINED)):
            sys.stdout.write(f"{title}\n")
            what_if(script, events, spark)
        return 0
    sys.stdout.write("               with a TTL                       without\n")
    sys.stdout.write("events         entries        MB  CPU s/epoch   entries        MB  CPU s/epoch\n")
    sides = [watched(events, ttl_s, spark) for ttl_s in (args.ttl_s, 0)]
    epochs = min(len(side.entries) for side in sides)
    for part in range(10):
        part_of = slice(epochs * part // 10, epochs * (part + 1) // 10)
        line = f"{part_of.stop * _EPOCH:>10,}"
        for side in sides:
            entries, size = max(side.entries[part_of]), max(side.bytes[part_of]) / 1e6
            line += f"  {entries:>10,}  {size:>8.1f}  {statistics.mean(side.cpu_s[part_of]):>11.3f}"
        sys.stdout.write(f"{line}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
