"""Measures live runs: their sustained rate, their latency, and the cost of a small epoch with a large state.

    python -m tests.bench.bench_live rate [--rate 1000] [--seconds 60] [--keep EVENTS] [--engine local[2]]
    python -m tests.bench.bench_live page [--rate 1000] [--seconds 60] [--keep EVENTS] [--engine local[2]]
    python -m tests.bench.bench_live state [--keys 10000 1000000] [--epochs 20] [--source jsonl] [--engine local[2]]

`rate` runs an endless generator into a count by key. For each tenth of the time, it prints the events per second, the
time between epochs, the median and the longest latency from a record's due time to its commit, the memory of this
process, of the JVM and of its workers, and the bytes of the store (which keeps the last events) and of the run's state.
`page` measures the latency up to the browser. `state` fills a count by key, then commits epochs of 1,000 events each:
lines of a file that grows, or of the generator, which is a job of Spark for each epoch.
Not part of the test run.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.command_line.printing_recorder import PrintingRecorder
from engine.contract.live import Begun, Control, Decision, Live
from engine.contract.recorder import EpochOutput
from engine.contract.stream import Taken
from engine.expressions.analyzer import TypeRules
from engine.model.pipeline import Pipeline
from engine.planner import plan
from engine.reading.paced import Paced
from engine.runtime import run
from engine.spark.run_files import LocalFiles
from engine.spark.session import get_spark
from storage import Store
from storage.recording.retention import Keep
from tests.bench.live_page import page_latency
from tests.bench.live_runs import counting, footprint

_EVENTS = 1000


@dataclass
class Epochs:
    """The commits of epochs: the time, the number of events so far, and the due time of the first event.

    due: the due time of the first event by the source's current clock, as a machine that cannot keep up generates
    fewer.
    """

    began: float = field(default_factory=time.monotonic)
    due: float = math.inf
    kept: list[tuple[float, int, float]] = field(default_factory=list)

    def note(self, output: EpochOutput) -> None:
        """Note the commit of an epoch."""
        self.kept.append((time.monotonic() - self.began, output.last_seq, self.due))


class Timed(PrintingRecorder):
    """A recorder that notes the commits of epochs, and prints nothing."""

    epochs: Epochs

    def commit(self, output: EpochOutput) -> None:
        """Commit the epoch, and note it."""
        self._to.commit(output)
        self.epochs.note(output)


def rate(per_second: int, seconds: int, engine: str, keep: Keep) -> None:
    """Measure a live run at a rate."""
    pipeline = counting("generator", rows=None, rate=per_second, keys=10_000)
    with tempfile.TemporaryDirectory(prefix="live-") as name:
        folder = Path(name)
        tenth = seconds / 10
        control = Control()
        marks: list[str] = []
        epochs = Epochs()

        def told(output: EpochOutput) -> None:
            Epochs.note(epochs, output)
            at, events, _ = epochs.kept[-1]
            if at > tenth * (len(marks) + 1):
                first = next(kept for kept in epochs.kept if kept[0] > tenth * len(marks))
                own = [kept for kept in epochs.kept if kept[0] >= first[0]]
                took = [two[0] - one[0] for one, two in zip(own, own[1:], strict=False)]
                sustained = (events - first[1]) / max(at - first[0], 1e-9)
                middle, longest = _latency(epochs.kept, first[1], per_second)
                marks.append(
                    f"{at:6.0f} s  {sustained:9,.0f} events/s  epochs every {statistics.median(took or [0]):.2f} s  "
                    f"latency {middle:5.2f} s, at most {longest:5.2f} s  "
                    f"{footprint(os.getpid(), folder / 's.duckdb')}"
                )
                sys.stdout.write(f"{marks[-1]}\n")
                sys.stdout.flush()
            if at > seconds:
                control.stop()

        def polled(stream: Paced, position: Any, *args: Any, **kwargs: Any) -> Taken:
            taken = poll(stream, position, *args, **kwargs)
            if stream._since is not None:
                began_ms, event = stream._since
                epochs.due = began_ms / 1000 - epochs.began - event / per_second
            return taken

        poll = Paced.poll
        Paced.poll = polled  # type: ignore[assignment]
        epochs.note = told  # type: ignore[method-assign]
        _run(pipeline, folder, engine, epochs, Live(control), keep)


def state(keys: Sequence[int], count: int, source: str, engine: str) -> None:
    """Compare the cost of small epochs between states of different numbers of keys."""
    medians = []
    for size in keys:
        cuts = [(0, size), *((size + at * _EVENTS, size + (at + 1) * _EVENTS) for at in range(count))]
        epochs = Epochs()
        with tempfile.TemporaryDirectory(prefix="live-") as name:
            folder = Path(name)
            if source == "jsonl":
                pipeline = counting("jsonl", path="in.jsonl", monitor_interval_ms=1)
                took = _lines(folder / "in.jsonl", size, cuts)
            else:
                pipeline = counting("generator", rows=size + _EVENTS * count, keys=size, rate=1_000_000)
                took = [list(cut) for cut in cuts]
            _run(pipeline, folder, engine, epochs, Live(decisions=[Decision({"made": what}) for what in took]))
        times = [at for at, _, _ in epochs.kept]
        waits = [after - before for before, after in zip(times[2:], times[3:], strict=False)]
        medians.append(statistics.median(waits))
        sys.stdout.write(f"{size:>10,} keys: an epoch of {_EVENTS:,} events takes {medians[-1]:.3f} s (median)\n")
        sys.stdout.flush()
    if len(medians) > 1:
        sys.stdout.write(f"ratio of the last to the first: {medians[-1] / medians[0]:.2f}\n")


def _lines(file: Path, keys: int, cuts: Sequence[tuple[int, int]]) -> list[list[list[Any]]]:
    """Write the events of all epochs, and give the parts of the file that each of them reads."""
    took, start = [], 0
    with file.open("w", encoding="utf-8") as written:
        for first, end in cuts:
            written.writelines(f'{{"key":{at * 7919 % keys},"amount":{at}}}\n' for at in range(first, end))
            took.append([[str(file), file.name, start, written.tell()]])
            start = written.tell()
    return took


def _run(pipeline: Pipeline, folder: Path, engine: str, epochs: Epochs, live: Live, keep: Keep | None = None) -> None:
    spark = get_spark(engine)
    planned = plan(pipeline, TypeRules(), folder)
    with Store.open(folder / "s.duckdb") as store:
        created = store.runs.create("live", planned.pipeline.to_json(), live=Begun(str(folder)))
        store.retention.set(created.run_id, keep or Keep())
        files = LocalFiles(store.runs.state_folder(created.run_id) / "attempt")
        recorder = Timed(files.workspace, ("out", "out"), "jsonl", lambda text: None, store.record(created.run_id))
        recorder.epochs = epochs
        epochs.began = time.monotonic()
        run(planned, spark=spark, recorder=recorder, folder=folder, files=files, live=live)


def _latency(kept: Sequence[tuple[float, int, float]], after: int, per_second: int) -> tuple[float, float]:
    """The median and the longest time in seconds from a record's due time to its commit, for records after an event."""
    waits = []
    longest = 0.0
    for (_, before, _), (at, events, due) in zip(kept, kept[1:], strict=False):
        if events > after:
            longest = max(longest, at - due - before / per_second)
            waits += [at - due - (before + part * (events - before) / 10) / per_second for part in range(10)]
    return statistics.median(waits or [0.0]), longest


def main() -> None:
    """Run the requested measurement."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.bench_live")
    parser.add_argument("what", choices=["rate", "page", "state"])
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--keep", type=int, default=None)
    parser.add_argument("--keys", type=int, nargs="+", default=[10_000, 1_000_000])
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--source", choices=["jsonl", "generator"], default="jsonl")
    parser.add_argument("--engine", default="local[2]")
    args = parser.parse_args()
    if args.what == "rate":
        rate(args.rate, args.seconds, args.engine, Keep(args.keep))
    elif args.what == "page":
        page_latency(args.rate, args.seconds, args.engine, args.keep)
    else:
        state(args.keys, args.epochs, args.source, args.engine)


if __name__ == "__main__":
    main()
