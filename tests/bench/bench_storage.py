"""Time the store's hot queries on a run of ten million changelog records.

    python -m tests.bench.bench_storage [RECORDS]

Prints the load time of each epoch, then the median and the worst time of each query over random positions. The goal
is a median of 100 ms and a worst time of 300 ms at ten million. Not part of the test run.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from engine.contract.recorder import EdgeFile, EdgeInfo, EpochOutput
from engine.model.changelog import RowKind
from engine.model.origin import Origin
from storage import Store
from storage.changelogs.search import Search
from storage.model import EventRange
from storage.wanted import Filter, equal
from tests.storage.written_runs import columns, edge, plan, planned

EVENTS = edge(
    "events", columns(k="bigint", v="bigint", ts="bigint*", w="string", city="string"), watermark_delay_ms=5000
)
NUMBERS = edge("numbers", columns(a="bigint", b="bigint", c="bigint", d="bigint", e="bigint"))
TOTALS = edge("totals", columns(k="bigint", n="bigint", w="string"), "[I,UB,UA]", ["k"])
WINDOWS = edge("windows", columns(n="bigint"), operator="window_aggregate")
JOINED = edge("joined", columns(k="bigint", n="bigint", w="string"), "[I,UB,UA,D]")
KEYS = 200_000
REPEATS = 15


def main(records: int) -> None:
    """Build the run, load it, and time every query."""
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "bench.duckdb") as store:
        run_id = load(store, Path(folder), records)
        size = (Path(folder) / "bench.duckdb").stat().st_size
        say(f"file: {size / 2**20:.0f} MiB")
        ask(store, run_id, records)


def load(store: Store, folder: Path, records: int) -> int:
    """Load three epochs: two halves of the records, and a small epoch like those of a live run."""
    edges = (EVENTS, TOTALS, WINDOWS, JOINED)
    window = {"kind": "tumble", "size_ms": 10_000, "aggregates": [{"function": "COUNT", "name": "n"}]}
    nodes = [{"id": "windows", "operator": "window_aggregate", "parameters": window}]
    wires = [{"source": "events", "target": target} for target in ("totals", "windows", "joined")]
    document = planned(json.dumps({"nodes": nodes, "edges": wires}), edges)
    run = store.runs.create("bench", document.pipeline_json)
    recording = store.record(run.run_id)
    recording.begin(document)
    events = records // 2
    bounds = [(1, events // 2), (events // 2 + 1, events), (events + 1, events + 1000)]
    for epoch, (low, high) in enumerate(bounds):
        output = write(folder / f"epoch-{epoch}", epoch, low, high)
        started = time.perf_counter()
        recording.commit(output)
        say(f"epoch {epoch}, events {low}-{high}: {time.perf_counter() - started:.2f} s")
    started = time.perf_counter()
    recording.finish()
    store.preparation.wait()
    say(f"the end, with what is found out then: {time.perf_counter() - started:.2f} s")
    load_numbers(store, folder)
    return run.run_id


def load_numbers(store: Store, folder: Path) -> None:
    """Load 4 M x 5 BIGINT into one insert-only edge, from sorted files and from files that must be merged."""
    for name, part in (("disjoint files", "i // 1000000"), ("overlapping files", "i % 4")):
        place = folder / name.replace(" ", "-")
        with duckdb.connect() as connection:
            for n in range(4):
                sql = (
                    "SELECT i AS __seq, ''::BLOB AS __step, 0::TINYINT AS __kind, i a, i b, i c, i d, i e "
                    f"FROM range(4000000) r(i) WHERE {part} = {n}"
                )
                copy(connection, sql, place / f"part-{n}.parquet")
        document = plan(NUMBERS)
        run = store.runs.create(name, document.pipeline_json)
        recording = store.record(run.run_id)
        recording.begin(document)
        started = time.perf_counter()
        recording.commit(EpochOutput(0, {("numbers", "out"): files_in(place)}))
        say(f"4 M x 5 BIGINT, {name}: {time.perf_counter() - started:.2f} s")
        recording.finish()
        store.runs.delete(run.run_id)


def write(folder: Path, epoch: int, low: int, high: int) -> EpochOutput:
    """Write events with random keys, a -U and a +U of the key's total per event, and a join with whole retractions."""
    events = f"range({low}, {high + 1}) r(i)"
    key = f"(hash(i) % {KEYS})::BIGINT"
    word = f"'word ' || ({key} % 5000)"
    # One record in a million has an event time one minute ahead.
    time_ms = "(i * 10 - hash(i + 7) % 20000 + CASE WHEN i % 1000003 = 0 THEN 60000 ELSE 0 END)::BIGINT"
    source = (
        f"SELECT i AS __seq, ''::BLOB AS __step, 0::TINYINT AS __kind, {key} AS k, i AS v, {time_ms} AS ts, "
        f"{word} AS w, 'city ' || hash(i + 3) % CASE WHEN i % 50 = {low} % 50 THEN 5 ELSE 20 END AS city FROM {events}"
    )
    pairs = (
        f"SELECT i AS __seq, from_hex('0' || s) AS __step, (s + 1)::TINYINT AS __kind, {key} AS k, "
        f"(i - 1 + s) AS n, {word} AS w FROM {events}, range(2) q(s)"
    )
    # Every row of the join is retracted a thousand events later.
    old = "(i - CASE s WHEN 1 THEN 0 ELSE 1000 END)"
    whole = (
        "SELECT i AS __seq, from_hex('0' || s) AS __step, (CASE s WHEN 1 THEN 0 ELSE 3 END)::TINYINT AS __kind, "
        f"(hash({old}) % {KEYS})::BIGINT AS k, {old} AS n, 'w' AS w FROM {events}, range(2) q(s)"
    )
    files: dict[tuple[str, str], tuple[EdgeFile, ...]] = {}
    with duckdb.connect() as connection:
        for info, sql in ((EVENTS, source), (TOTALS, pairs), (JOINED, whole)):
            copy(connection, f"{sql} ORDER BY __seq, __step", folder / info.node / "part-0.parquet")
            files[key_of(info)] = files_in(folder / info.node)
        copy(
            connection,
            f"SELECT i AS seq, 'events' AS source, {time_ms} AS event_time_ms, "
            f"max({time_ms}) OVER (ORDER BY i ROWS UNBOUNDED PRECEDING) - 5000 AS watermark_ms, "
            f"false AS is_end FROM range({low}, {high + 1}) r(i)",
            folder / "watermarks" / "part-0.parquet",
        )
        copy(
            connection,
            "SELECT 'totals' AS node, 'in' AS port, i AS seq, ''::BLOB AS step, i * 10 AS event_time_ms, "
            "NULL::BIGINT AS window_start_ms, i * 10 AS window_end_ms, i * 10 + 5 AS watermark_ms, "
            "5::BIGINT AS lateness_ms, 'window closed' AS reason, true AS is_dropped, '' AS used "
            f"FROM range({low}, {high + 1}, 50) r(i)",
            folder / "late" / "part-0.parquet",
        )
        copy(
            connection,
            "SELECT 'windows' AS node, i AS seq, i * 10 AS window_start_ms, i * 10 + 1000 AS window_end_ms "
            f"FROM range({low}, {high + 1}, 100) r(i)",
            folder / "fires" / "part-0.parquet",
        )
    others = {name: (folder / name,) for name in ("watermarks", "late", "fires")}
    return EpochOutput(epoch, files, last_seq=high, **others)  # type: ignore[arg-type]


def files_in(folder: Path) -> tuple[EdgeFile, ...]:
    """The Parquet files of a folder."""
    return tuple(EdgeFile(str(path)) for path in sorted(folder.glob("*.parquet")))


def ask(store: Store, run_id: int, records: int) -> None:
    """Time every query of the pages, at random positions."""
    chance = random.Random(7)
    last = records // 2

    def at() -> int:
        return chance.randrange(1, last)

    changes, timeline, late = store.changelog, store.timeline, store.late
    kinds, digits = frozenset({RowKind.UPDATE_AFTER}), Filter(text="77")
    changes.search(run_id, "totals", Search(), filter=digits)
    (late_operator,) = store.what_if.operators(run_id)

    def unremembered(question: Callable[[], object]) -> Callable[[], object]:
        """The query without the memory cache, as after a start of the app."""

        def ask_anew() -> object:
            store.cache.clear_memory()
            return question()

        return ask_anew

    questions: dict[str, Callable[[], object]] = {
        "list of runs": lambda: store.runs.list(),
        "counters": lambda: store.runs.counters(run_id),
        "page by offset": lambda: changes.page(run_id, "totals", offset=at()),
        "page folded": lambda: changes.changes(run_id, "totals", offset=at()),
        "page by kind, deep": lambda: changes.page(run_id, "totals", filter=Filter(kinds=kinds), offset=at()),
        "page by key": lambda: changes.changes(run_id, "totals", filter=Filter(terms=equal((("k", at() % KEYS),)))),
        "page by text": lambda: changes.page(run_id, "totals", filter=Filter(text=f"word {at() % 5000}")),
        "digits found": lambda: changes.search(run_id, "totals", Search(at()), filter=Filter(text=str(at() % 1000))),
        "digits found, page": lambda: changes.page(run_id, "totals", filter=digits, offset=at() % 10_000),
        "digits found, another event": lambda: changes.counts(run_id, "totals", at(), filter=digits),
        "page by seq range": lambda: changes.page(run_id, "totals", filter=Filter(from_seq=at())),
        "cascade of one event": lambda: changes.cascade(run_id, at()),
        "as of, by key": lambda: changes.table_as_of(run_id, "totals", at(), offset=at() % 1000),
        "as of, by position": lambda: changes.table_as_of(run_id, "totals", at(), order="position"),
        "as of, newest": lambda: changes.table_as_of(run_id, "totals", at(), order="newest"),
        "as of, one key": lambda: changes.table_as_of(
            run_id, "totals", at(), filter=Filter(terms=equal((("k", at() % KEYS),)))
        ),
        "as of, whole rows": lambda: changes.table_as_of(run_id, "joined", at()),
        "as of, insert-only": lambda: changes.table_as_of(run_id, "events", at(), offset=at()),
        "next retraction": lambda: changes.next_seq(
            run_id, "totals", at(), filter=Filter(frozenset({RowKind.UPDATE_BEFORE}))
        ),
        "previous retraction": lambda: changes.previous_seq(
            run_id, "joined", at(), filter=Filter(frozenset({RowKind.DELETE}))
        ),
        "timeline, whole run": lambda: timeline.timeline(run_id),
        "timeline, zoomed": lambda: timeline.timeline(run_id, EventRange(last // 3, last // 3 + 50_000)),
        "timeline of an operator": lambda: timeline.timeline(run_id, node="totals"),
        "records of a range": lambda: store.arrivals.page(run_id, offset=at()),
        "late ones of a range": lambda: store.arrivals.page(run_id, state="late", offset=99),
        "sources in figures": lambda: store.arrivals.sources(run_id),
        "operators in figures": lambda: store.arrivals.operators(run_id),
        "idle sources": lambda: store.idle_sources.find(run_id, timeline.timeline(run_id)),
        "records from the future": unremembered(lambda: store.future_records.find(run_id)),
        "losses of every delay": unremembered(lambda: store.what_if.losses(run_id, late_operator)),
        "records another delay loses": lambda: store.what_if.records(
            run_id, late_operator, late_operator.with_delay(at() % 20_000), 0
        ),
        "how much later windows fire": lambda: store.added_latency.compared(
            run_id, late_operator, late_operator.with_delay(at() % 20_000)
        ),
        "first different event": unremembered(
            lambda: store.run_differences.first_different_event(run_id, run_id, "totals")
        ),
        "changelogs side by side": lambda: store.run_differences.records(run_id, run_id, "totals", from_seq=at()),
        "late ledgers compared": lambda: store.run_differences.late(run_id, run_id),
        "event times compared": unremembered(lambda: store.run_differences.times(run_id, run_id)),
        "tables compared": lambda: store.table_differences.between(run_id, run_id, "totals"),
        "SQL: counted by kind": lambda: store.queries.run(
            "SELECT kind, count(*) FROM totals GROUP BY kind", schema=f"run_{run_id}"
        ),
        "tables described": lambda: store.catalog.tables(f"run_{run_id}"),
        "late records": lambda: late.page(run_id, offset=at() // 100),
        "late summary": lambda: late.summary(run_id, last),
        "which records are late": unremembered(lambda: store.telling_values.groups(run_id, "events")),
        "map of leads, whole run": unremembered(lambda: store.lead_maps.of(run_id)),
    }
    flows, origins = store.flows, {("totals", "in"): Origin((("k", "k"),))}
    questions |= {
        "wires": lambda: flows.wires(run_id),
        "amplification": lambda: flows.amplification(run_id),
        "keys taken back": unremembered(lambda: flows.keys(run_id, "totals")),
        "seconds taken back": lambda: flows.seconds(run_id, "totals"),
        "pairs for nothing": unremembered(lambda: flows.cancelled(run_id, "totals")),
        "lineage by key": lambda: store.lineage.of(run_id, "totals", at(), origins),
        "lineage by position": lambda: store.lineage.of(run_id, "joined", at(), {}),
        "slowest keys": lambda: flows.slowest(run_id, "totals"),
        "unordered writers": lambda: store.disorder.deliver(run_id, "totals", writers=4, seed=at(), materialised=False),
        "the same, materialised": lambda: store.disorder.deliver(
            run_id, "totals", writers=4, seed=at(), materialised=True
        ),
        "a check's findings": lambda: store.batch_checks.load(run_id),
    }
    navigation, replays = store.navigation, store.replays

    def marks() -> object:
        found = replays.marks(run_id)
        return [found.reached("events", found.at("events", at())) for _ in range(20)]

    questions |= {
        "next retraction of all edges": lambda: navigation.next_retraction(run_id, at()),
        "next fired window": lambda: navigation.next_fire(run_id, at()),
        "next late record": lambda: navigation.next_late(run_id, at()),
        "lanes around an event": lambda: navigation.around(run_id, at()),
        "a key's records": lambda: replays.records(
            run_id, "events", "out", Filter(terms=equal((("k", at() % KEYS),)), to_seq=at()), 20_000
        ),
        "last records before an event": lambda: replays.last_records(run_id, "totals", "out", at(), 400),
        "watermarks at 20 places": marks,
    }
    for name, question in questions.items():
        times = []
        for _ in range(REPEATS):
            started = time.perf_counter()
            question()
            times.append((time.perf_counter() - started) * 1000)
        say(f"{name:28} median {statistics.median(times):7.1f} ms   worst {max(times):7.1f} ms")


def copy(connection: duckdb.DuckDBPyConnection, sql: str, file: Path) -> None:
    """Write a query's result as one Parquet file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    connection.execute(f"COPY ({sql}) TO '{file}' (FORMAT parquet)")


def key_of(info: EdgeInfo) -> tuple[str, str]:
    """The key of an edge in an epoch's output."""
    return info.node, info.port


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
