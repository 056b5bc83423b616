"""Kills a live run at random moments while its folder grows, resumes it each time, and compares the stores.

The pipeline has a window, a join of two updating inputs and a Top N. One source feeds it, so that the order of the
records does not depend on when somebody looked: a bounded run over the whole of it says what the live one has to say.
A source that forgets what it has said is recorded first; then the pipeline has no window, which takes no changes.
"""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final, Protocol

import duckdb

from engine.__main__ import main
from engine.reading.files.received import receive
from engine.runtime.in_process import in_process
from engine.spark.servers import servers
from tests.engine.sources.kafka_cluster import Cluster
from tests.live.child import Child

COLUMNS: Final = {"k": "string", "v": "bigint", "ts": "bigint"}
_START_S = 300.0


class Feed(Protocol):
    """Where the records go, and the source that reads them. is_changelog: whether it forgets, and takes rows back."""

    @property
    def is_changelog(self) -> bool: ...

    def source(self, folder: Path) -> tuple[str, dict[str, Any]]:
        """Its operator and parameters."""

    def write(self, folder: Path, text: str) -> None:
        """Some characters of lines more."""


class Files:
    """A folder of CSV files. A line may come in two pieces, and a new file begin with any."""

    is_changelog = False

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._files = 0
        self._begins = True

    def source(self, folder: Path) -> tuple[str, dict[str, Any]]:
        """CSV."""
        (folder / "in").mkdir(exist_ok=True)
        return "csv", {"path": "in", "monitor_interval_ms": 20}

    def write(self, folder: Path, text: str) -> None:
        """To the end of the last file, or of a new one."""
        with (folder / "in" / f"{self._files:05d}.csv").open("a") as stream:
            stream.write("k,v,ts\n" * self._begins + text)
        self._begins = text.endswith("\n") and self._chance.random() < 0.3
        self._files += self._begins


class Whole(ABC):
    """Takes lines once they are whole, as rows of JSON."""

    is_changelog = False

    def __init__(self) -> None:
        self._rest = ""

    def write(self, folder: Path, text: str) -> None:
        """What is whole now."""
        *lines, self._rest = (self._rest + text).split("\n")
        values = [dict(zip(COLUMNS, line.split(","), strict=True)) for line in lines]
        self.put(folder, [json.dumps({**row, "v": int(row["v"]), "ts": int(row["ts"])}) for row in values])

    @abstractmethod
    def put(self, folder: Path, rows: list[str]) -> None:
        """These rows."""


class Posted(Whole):
    """Rows that are posted as JSON."""

    def source(self, folder: Path) -> tuple[str, dict[str, Any]]:
        """HTTP."""
        return "http_rows", {"path": "events", "types": COLUMNS, "monitor_interval_ms": 20}

    def put(self, folder: Path, rows: list[str]) -> None:
        """As the app does."""
        receive(folder, "events", rows)


class Topic(Whole):
    """Messages of a topic."""

    def __init__(self, brokers: Cluster) -> None:
        super().__init__()
        self._brokers = brokers

    def source(self, folder: Path) -> tuple[str, dict[str, Any]]:
        """Kafka."""
        columns = [{"name": name, "type": type_} for name, type_ in COLUMNS.items()]
        return "kafka", {"servers": self._brokers.servers, "topic": "events", "columns": columns}

    def put(self, folder: Path, rows: list[str]) -> None:
        """To one partition."""
        self._brokers.send("events", *rows)


class Target(Protocol):
    """A place outside of the store to which two sinks write: `best` its changelog, `rows` a table by the key k."""

    def sinks(self, folder: Path) -> Mapping[str, dict[str, Any]]:
        """Their parameters."""

    def written(self, folder: Path) -> tuple[list[tuple[Any, ...]] | None, set[tuple[Any, ...]]]:
        """What is there: the changelog of `best` in order, (kind, k, n, total); the rows of `rows`, (k, n).

        None: it takes no changelog.
        """

    def committed(self, there: list[tuple[Any, ...]], wanted: list[tuple[Any, ...]]) -> bool:
        """Whether this changelog is there, once, as the place tells it."""


def pipeline(
    source: tuple[str, dict[str, Any]], *, has_window: bool, sinks: Mapping[str, dict[str, Any]]
) -> dict[str, Any]:
    """Words with a key, a value and a time, some of them late. sinks: the parameters of some."""
    count = {"function": "COUNT", "name": "n"}
    total = {"function": "SUM", "argument": "v", "name": "total"}
    operator, parameters = source
    events = {"event_time": "ts", "watermark_delay_ms": 300, **parameters}
    window = {"kind": "tumble", "size_ms": 1000, "group_by": ["k"], "aggregates": [total]}
    keys = {"kind": "full", "left_keys": ["k"], "right_keys": ["k"]}
    ordered = [{"column": "n", "descending": True}, {"column": "total"}]
    nodes = [
        ("events", operator, events),
        ("counts", "aggregate", {"group_by": ["k"], "aggregates": [count]}),
        ("totals", "aggregate", {"group_by": ["k"], "aggregates": [total]}),
        ("joined", "join", keys),
        ("top", "topn", {"partition_by": [], "order_by": ordered, "rank_end": 3}),
        ("best", "sink", sinks.get("best", {})),
    ]
    wires = [
        ("events", "counts", "in"),
        ("events", "totals", "in"),
        ("counts", "joined", "left"),
        ("totals", "joined", "right"),
        ("joined", "top", "in"),
        ("top", "best", "in"),
    ]
    if "rows" in sinks:
        nodes.append(("rows", "sink", sinks["rows"]))
        wires.append(("counts", "rows", "in"))
    if has_window:
        nodes += [("windows", "window_aggregate", window), ("fired", "sink", {})]
        wires += [("events", "windows", "in"), ("windows", "fired", "in")]
    return {
        "nodes": [{"id": name, "operator": operator, "parameters": given} for name, operator, given in nodes],
        "edges": [{"source": one, "target": other, "target_port": port} for one, other, port in wires],
    }


@dataclass
class Killing:
    """A live run in a folder of its own. on_spark: whether its tasks are Spark's, or run in the process itself.

    options: of the pipeline. With any, the run is compared with its recording: when an epoch was decided counts.
    """

    folder: Path
    seed: int
    engine: str
    on_spark: bool
    feed: Feed | None = None
    target: Target | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    chance: random.Random = field(init=False)
    text: str = field(default="", init=False)
    kills: int = field(default=0, init=False)
    is_begun: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self._feed = self.feed or Files(self.chance)
        sinks = {} if self.target is None else self.target.sinks(self.folder)
        made = pipeline(self._feed.source(self.folder), has_window=not self._feed.is_changelog, sinks=sinks)
        (self.folder / "pipeline.json").write_text(json.dumps({**made, "options": dict(self.options)}))
        self.lines = self._lines()
        self.append(40)

    def append(self, lines: int) -> None:
        """Write more: up to anywhere within a line, or to the end of one."""
        self.text += "".join(next(self.lines) for _ in range(lines))
        cut = self.chance.randrange(len(self.text) // 2, len(self.text))
        if self.chance.random() < 0.3:
            cut = self.text.index("\n", cut) + 1
        self._feed.write(self.folder, self.text[:cut])
        self.text = self.text[cut:]

    def kill(self, after_s: float, *, server: bool = False, after_epoch: bool = False) -> None:
        """Start or resume the run and kill it, or its engine's JVM, so long after it has gone live.

        after_epoch: or after it has kept an epoch, whenever that is.
        """
        with self._started() as process:
            said = _wait_for(process, process.stderr, "the run is live")
            if after_epoch:
                self.append(30)
                _wait_for(process, process.stdout, "+I")
                self.append(30)
            time.sleep(after_s / 2)
            self.append(self.chance.randrange(1, 30))
            time.sleep(after_s / 2)
            if server:
                for one in servers():
                    if one.master == self.engine:
                        os.kill(one.jvm, signal.SIGKILL)
                # Whether a job was on or not: it says what has happened and how to go on, and ends.
                words = "committed epochs are stored. Resume with: python -m engine resume 1"
                _wait_for(process, process.stderr, words)
                assert process.wait(60) == 1, said
        self.is_begun = True
        self.kills += 1

    def end(self) -> None:
        """Write what is left, and let the run take it and end."""
        self._feed.write(self.folder, self.text)
        with self._started("--end") as process:
            status, said = process.rest(_START_S)
        assert status == 0, said

    def differences(self) -> list[str]:
        """What the live run keeps that a bounded run over the same records does not, table by table, in order."""
        bounded, document = self.folder / "bounded.duckdb", self.folder / "pipeline.json"
        if self._feed.is_changelog or self.options:
            document = self.folder / "recorded.json"
            with document.open("w") as file, redirect_stdout(file):
                assert main(["record", "1", "--store", str(self._store)]) == 0
        with in_process():
            assert main(["run", str(document), "--edge", "best", "--engine", self.engine, "--store", str(bounded)]) == 0
        live, other = _tables(self._store), _tables(bounded)
        assert len(live["events"]) > 40
        assert live["_late"] or self._feed.is_changelog
        assert set(live) == set(other)
        assert live["_expired"] or not self.options
        different = [name for name in sorted(live) if live[name] != other[name]]
        return different if self.target is None else different + self._unwritten(self.target)

    def _unwritten(self, target: Target) -> list[str]:
        """The sinks whose target differs from the store."""
        changelog, rows = target.written(self.folder)
        with duckdb.connect(str(self._store), read_only=True) as connection:
            best = connection.execute(
                "SELECT kind::VARCHAR, b.* EXCLUDE (seq, step, kind) FROM run_1.best b ORDER BY seq, step"
            )
            is_best = changelog is None or target.committed(changelog, best.fetchall())
            [(last,)] = connection.execute("SELECT max(last_seq) FROM run_epochs").fetchall()
            now = connection.execute(f'SELECT k, n FROM run_1."rows as of"({last})').fetchall()
        assert changelog is None or changelog
        assert now
        return ["what best wrote"] * (not is_best) + ["what rows wrote"] * (set(now) != rows or len(now) != len(rows))

    def leftovers(self) -> list[str]:
        """What the run has left beside its store, but for what it has received."""
        state = [str(path) for path in (self.folder / "live.live").rglob("*") if path.is_file()]
        kept = [str(path) for path in (self.folder / "received").glob("*/")]
        return state + kept[1:]

    def records(self, edge: str) -> list[tuple[Any, ...]]:
        """The kinds and rows of an edge, in order."""
        with duckdb.connect(str(self._store), read_only=True) as connection:
            return connection.execute(f"SELECT kind, {', '.join(COLUMNS)} FROM run_1.{edge} ORDER BY rowid").fetchall()

    @property
    def _store(self) -> Path:
        return self.folder / "live.duckdb"

    @property
    def epochs(self) -> int:
        """How many epochs of the run are kept."""
        with duckdb.connect(str(self._store), read_only=True) as connection:
            [(epochs,)] = connection.execute("SELECT count(*) FROM run_epochs WHERE run_id = 1").fetchall()
        return int(epochs)

    def _lines(self) -> Iterator[str]:
        at = 0
        while True:
            at += 1
            late_ms = self.chance.choice([0, 0, 0, 150, 2500])
            yield f"{self.chance.choice('abcdef')},{self.chance.randrange(10)},{at * 30 - late_ms}\n"

    def _started(self, *options: str) -> Child:
        what = ["resume", "1"] if self.is_begun else ["run", "--live", str(self.folder / "pipeline.json")]
        how = ["--engine", self.engine, "--store", str(self._store), "--edge", "events"]
        # Small epochs: a kill meets one at any of its points.
        how += ["--interval", "1ms", "--records", str(self.chance.randrange(2, 20))] if not options else []
        return Child([*what, *how, *options], on_spark=self.on_spark)


def _wait_for(process: Child, stream: IO[str], words: str) -> list[str]:
    """Read what a process says until it says this."""
    timer = threading.Timer(_START_S, process.kill)
    timer.start()
    said = []
    for line in stream:
        said.append(line)
        if words in line:
            timer.cancel()
            return said
    timer.cancel()
    raise AssertionError("".join(said))


def _tables(store: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All that a run keeps but for how long keys took, and what state held when, row by row as it lies there."""
    with duckdb.connect(str(store), read_only=True) as connection:
        found = connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'run_1' "
            "AND table_name NOT IN ('_key_times', '_overview') AND NOT starts_with(table_name, '_lifetimes') "
            "AND NOT starts_with(table_name, '_held')"
        ).fetchall()
        return {name: connection.execute(f'FROM run_1."{name}"').fetchall() for (name,) in found}
