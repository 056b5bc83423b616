"""Compares the load of a word frequency run with DuckDB reading the same Parquet files into plain tables, in turn.

    python -m tests.bench.bench_loading [EVENTS] [TURNS]

Prints the CPU seconds of both, per edge and in total, and their ratio; the goal is at most 1.5. Four million events
make 27.4 million records. Then it measures the answers that are computed after the end of the run. Not part of the
test run.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from engine.contract.frames import KIND, SEQ, STEP, TIME, TOP
from engine.contract.recorder import ClockFile, EdgeFile, EdgeInfo, EdgeView, EpochOutput
from storage import Store, store
from storage.database.memory import MEMORY_MIB
from tests.storage.written_runs import columns, edge, plan

Longs = NDArray[np.int64]
PARTITIONS = 2
DELAY_MS = 5000
EVENTS = edge("events", columns(seq="bigint", k="bigint", v="bigint", ts="bigint*"), watermark_delay_ms=DELAY_MS)
WORDS = edge("words", columns(k="bigint", c="bigint"), "[I,UB,UA]", ["k"])
COUNTS = edge("counts", columns(c="bigint", f="bigint"), "[I,UB,UA,D]", ["c"])
OUT = edge("out", COUNTS.schema, COUNTS.mode, ["c"], view=EdgeView("counts", "out", ("c", "f")))


def main(events: int, turns: int) -> None:
    """Write the files, and load them both ways, `turns` times."""
    # The answers at the end of the run are measured separately.
    store.LARGE = sys.maxsize
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files, clocks = write(folder, events)
        ratios = []
        for turn in range(turns):
            plain = load_plain(folder / f"plain-{turn}.duckdb", files)
            ours = load_store(folder / f"store-{turn}.duckdb", files, clocks, events)
            ratios.append(sum(ours.values()) / sum(plain.values()))
            for what, seconds in ours.items():
                beside = f", plain {plain[what]:5.2f}" if what in plain else ""
                say(f"{what:24} {seconds:5.2f} CPU s{beside}")
            say(f"{'in all':24} {sum(ours.values()):5.2f} CPU s, plain {sum(plain.values()):5.2f}: {ratios[-1]:.2f}")
        say(f"median ratio: {statistics.median(ratios):.2f}")
        ask(folder / f"store-{turns - 1}.duckdb")


def load_plain(path: Path, files: dict[str, list[EdgeFile]]) -> dict[str, float]:
    """The CPU seconds per edge for plain tables."""
    found = {}
    with duckdb.connect(path, config={"memory_limit": f"{MEMORY_MIB}MiB"}) as connection:
        for name, parts in files.items():
            names = [part.path for part in parts]
            found[name] = timed(lambda name=name, names=names: connection.read_parquet(names).create(name))  # type: ignore[misc]
    return found


def load_store(
    path: Path, files: dict[str, list[EdgeFile]], clocks: Sequence[ClockFile], events: int
) -> dict[str, float]:
    """The CPU seconds per edge for the store, one after the other, and for the commit and the end of the run."""
    with Store.open(path) as opened:
        infos: tuple[EdgeInfo, ...] = (EVENTS, WORDS, COUNTS, OUT)
        document = plan(*infos, wires=[("events", "words"), ("words", "counts"), ("counts", "out")])
        recording = opened.record(opened.runs.create("word frequency", document.pipeline_json).run_id)
        recording.begin(document)
        found = {}
        for name, parts in files.items():

            def take(name: str = name, parts: Sequence[EdgeFile] = tuple(parts)) -> None:
                recording.take(0, name, "out", tuple(parts))
                recording.wait()

            found[name] = timed(take)
        edges = {(name, "out"): tuple(parts) for name, parts in files.items()}
        output = EpochOutput(0, edges, tuple(clocks), last_seq=events)
        found["commit, with its events"] = timed(lambda: recording.commit(output))
        found["end of the run"] = timed(recording.finish)
        return found


def ask(path: Path) -> None:
    """Measure the answers that the store computes about a large run in the background."""
    with Store.open(path) as opened:
        for each in opened.runs.edges(1):
            if not each.is_insert_only:
                say(f"lifetimes of {each.node:11} {timed(lambda each=each: opened.lifetimes.note(each)):5.2f} CPU s")  # type: ignore[misc]
            for name, find in (("keys", opened.flows.keys), ("seconds", opened.flows.seconds)):
                seconds = timed(lambda each=each, find=find: find(1, each.node))  # type: ignore[misc]
                say(f"{name} of {each.node:16} {seconds:5.2f} CPU s")
        for seq in (1_000, 1_000_000, 3_900_000):
            started = time.perf_counter()
            opened.changelog.table_as_of(1, "words", seq, order="position")
            say(f"the table as of event {seq}: {(time.perf_counter() - started) * 1000:.0f} ms")


def write(folder: Path, events: int) -> tuple[dict[str, list[EdgeFile]], list[ClockFile]]:
    """Write files as the engine does: the source's in order of arrival, the others' by key."""
    chance = np.random.default_rng(7)
    seqs = np.arange(1, events + 1)
    keys = chance.integers(0, max(1, events // 20), events)
    times = seqs * 10 - chance.integers(0, 20_000, events)
    files: dict[str, list[EdgeFile]] = {"events": [], "words": [], "counts": []}
    clocks = []
    top_before: int | None = None
    for part, place in enumerate(np.array_split(np.arange(events), PARTITIONS)):
        rows = {"seq": seqs[place], "k": keys[place], "v": keys[place] % 1000, "ts": times[place]}
        tops = np.maximum.accumulate(times[place])
        path, first = write_part(folder, "events", part, {**rows, TIME: times[place], TOP: tops}), int(place[0]) + 1
        high = first + len(place) - 1
        files["events"].append(EdgeFile(path, first, first, high))
        clocks.append(ClockFile(path, "events", first, top_before, DELAY_MS, first, high))
        top_before = max(int(tops[-1]), top_before or int(tops[-1]))
    words = counted(keys, seqs, np.zeros((events, 0), np.uint8), np.ones(events, np.int64))
    counts = counted(words[4], words[0], words[1], np.where(words[2] == 1, -1, 1))
    for name, (seq, step, kind, key, count), names in (("words", words, ("k", "c")), ("counts", counts, ("c", "f"))):
        for part in range(PARTITIONS):
            mine = key * 2654435761 % 1000003 % PARTITIONS == part if name == "words" else key % PARTITIONS == part
            rows = {
                SEQ: seq[mine],
                STEP: steps(step[mine]),
                KIND: kind[mine],
                names[0]: key[mine],
                names[1]: count[mine],
            }
            files[name].append(EdgeFile(write_part(folder, name, part, rows)))
    return files, clocks


Counted = tuple[Longs, NDArray[np.uint8], NDArray[np.int8], Longs, Longs]


def counted(keys: Longs, seqs: Longs, paths: NDArray[np.uint8], by: Longs) -> Counted:
    """COUNT(*) by key over records in any order: seq, step, kind, key, count. by: 1 adds a row, -1 retracts one."""
    order = np.lexsort((*(paths[:, at] for at in reversed(range(paths.shape[1]))), seqs, keys))
    keys, seqs, paths, by = keys[order], seqs[order], paths[order], by[order]
    starts = np.r_[True, keys[1:] != keys[:-1]]
    sums = np.cumsum(by)
    after = sums - (sums - by)[starts][np.cumsum(starts) - 1]
    before = after - by
    pairs = np.where((before == 0) | (after == 0), 1, 2)
    of = np.repeat(np.arange(len(keys)), pairs)
    nth = np.arange(len(of)) - np.repeat(np.cumsum(pairs) - pairs, pairs)
    old, new, single = before[of], after[of], pairs[of] == 1
    kinds = np.where(single, np.where(old == 0, 0, 3), 1 + nth).astype(np.int8)
    values = np.where(single, np.maximum(old, new), np.where(nth == 0, old, new))
    step = np.concatenate([paths[of], nth[:, None].astype(np.uint8)], axis=1)
    return seqs[of], step, kinds, keys[of], values


def steps(paths: NDArray[np.uint8]) -> pa.Array:
    """Paths of the same length as an Arrow array."""
    offsets = np.arange(0, paths.size + 1, paths.shape[1], dtype=np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(paths))]
    return pa.Array.from_buffers(pa.binary(), len(paths), buffers)


def write_part(folder: Path, name: str, part: int, rows: dict[str, object]) -> str:
    """Write one file, and return its path."""
    path = folder / f"{name}-{part}.parquet"
    pq.write_table(pa.table(rows), path)
    return str(path)


def timed(work: Callable[[], object]) -> float:
    """The CPU seconds of this process for a piece of work."""
    started = os.times()
    work()
    ended = os.times()
    return ended.user + ended.system - started.user - started.system


def say(line: str) -> None:
    """Print at once."""
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4_000_000, int(sys.argv[2]) if len(sys.argv) > 2 else 3)
