"""A store with a few small runs for the tests of the views, with the same records as runs on Spark.

example      the shipped example of the word frequency
word_count   words -> inner -> outer -> out; no event time; -U +U pairs and a cascade of four edges
windows      clicks -> per_window -> out; watermark delay 5000; two of six records late, two rows rejected;
             with a delay of 12000 nothing is late
alerted      the same windows as a live run that has ended, with an alert of its dropped records
two_sources  orders and payments -> both; the combined watermark is held back by payments
marked_up    notes -> out; one record whose text is HTML and Markdown
future       clicks from a file -> per_window -> out; the time of record 8 is an hour ahead, and the 12 records after
             it are late; two lines rejected
expiring     the shipped example of the word frequency with a TTL of one hour; three records met expired state
failed       words -> ratio; Spark refused an expression before the first epoch
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.contract.live import Begun
from engine.contract.recorder import Held
from engine.examples import examples
from engine.model.pipeline import Arrival, Pipeline
from storage import Store
from storage.library.conditions import DROPPED_SHARE
from tests.engine.planning import pipeline_of, rows
from tests.storage.local_runs import computed, keep, run_locally

BASE = 1_000_000_000_000
COUNT = {"function": "COUNT", "name": "cnt"}


def word_count(store: Store, folder: Path) -> int:
    """The word frequency of the retraction document: Hello, World, Hello."""
    return run_locally(store, folder, words_counted())


def words_counted() -> Pipeline:
    """How many words occur equally often."""
    pipeline = pipeline_of(
        "words -> inner -> outer -> out",
        words=rows("word string", rows=[["Hello"], ["World"], ["Hello"]]),
        inner=("aggregate", {"group_by": ["word"], "aggregates": [COUNT]}),
        outer=("aggregate", {"group_by": ["cnt"], "aggregates": [COUNT | {"name": "words"}]}),
        out=("sink", {"mode": "changelog"}),
    )
    return pipeline.model_copy(update={"name": "word count"})


def expiring(store: Store, folder: Path) -> int:
    """The example of the word frequency with a TTL, and what a run on Spark counts of its state."""
    pipeline = examples()["10-word-frequency-ttl"]
    run_plan, epoch = computed(pipeline, folder)
    seqs, kinds, nothing = tuple(range(1, 9)), ("accumulators",), (0,) * 8
    words = (1, 1, 0, 0, 0, 0, 1, 0)
    counts = (1, 0, 1, 0, -1, 1, 0, 0)
    nine = 1_704_099_600_000
    hour = 3_600_000

    def later(*minutes: int) -> tuple[tuple[int, int, int], ...]:
        return tuple((kind, nine + hour + at * 60_000, 1) for kind in (0, 1) for at in minutes)

    held = (
        Held(
            *("count_words", kinds, seqs, (words, words), ((0, 0, 0, 1, 1, 0, 0, 0), nothing)),
            *(later(105, 110, 120), 105, 3, ((1, '["World"]'), (1, '["Hello"]'), (1, '["Flink"]'))),
        ),
        Held(
            *("count_counts", kinds, seqs, (counts, counts), ((0, 0, 0, 0, 1, 0, 0, 0), nothing)),
            *(later(110, 120), 76, 2, ((1, "[2]"), (1, "[1]"))),
        ),
    )
    half_past, ten_past = nine + 30 * 60_000, nine + 10 * 60_000
    expired = (
        ("count_words", "in", 5, b"", 0, 1, half_past, half_past + hour, nine + 105 * 60_000),
        ("count_counts", "in", 6, b"\x01", 0, 1, half_past, half_past + hour, nine + 110 * 60_000),
        ("count_words", "in", 7, b"", 0, 1, ten_past, ten_past + hour, nine + 120 * 60_000),
    )
    return keep(store, pipeline, run_plan, replace(epoch, held=held, expired=expired))


def freed(store: Store, folder: Path) -> int:
    """Windows of which the watermark has freed all by the end of the only epoch."""
    pipeline = examples()["02-window-late-record"]
    run_plan, epoch = computed(pipeline, folder)
    (node,) = [node.id for node in pipeline.nodes if node.operator == "window_aggregate"]
    return keep(
        store, pipeline, run_plan, replace(epoch, held=(Held(node, ("accumulators",), (1,), ((0,),) * 2, ((0,),) * 2),))
    )


def marked_up(store: Store, folder: Path) -> int:
    """A record whose text is HTML and Markdown."""
    pipeline = pipeline_of(
        "notes -> out",
        notes=rows("note string, ts bigint", rows=[["<b>`x`</b>", BASE]], event_time="ts"),
        out=("sink", {"mode": "changelog"}),
    )
    return run_locally(store, folder, pipeline)


def example(store: Store, folder: Path, last: tuple[int, int] = (2, 1)) -> int:
    """The example of the word frequency.

    last: the last row of its sink, which a test may set to a wrong one.
    """
    pipeline = examples()["01-word-frequency"]
    run_plan, epoch = computed(pipeline, folder)
    *before, sink = run_plan.edges
    *records, end = epoch.records[sink.node]
    # A sink whose changelog equals its input's has no records of its own.
    run_plan = replace(run_plan, edges=(*before, replace(sink, view=None)))
    epoch = replace(epoch, records={**epoch.records, sink.node: [*records, (*end[:3], last)]})
    return keep(store, pipeline, run_plan, epoch)


def windows(store: Store, folder: Path, delay: int = 5000) -> int:
    """The second trace of the window document: with a delay of 5000 records 5 and 6 are late; with 12000 none is."""
    return run_locally(store, folder, windows_of_ten_seconds(delay))


def alerted(store: Store, folder: Path) -> int:
    """The windows as a live run that has ended, of which more records were dropped than its condition allows."""
    pipeline = windows_of_ten_seconds(5000)
    run_plan, epoch = computed(pipeline, folder)
    run = store.runs.create(pipeline.name, pipeline.to_json(), engine="local[2]", live=Begun(str(folder)))
    recorder = store.record(run.run_id)
    recorder.begin(run_plan)
    recorder.commit(epoch.write(folder / "alerted", run_plan.edges))
    store.conditions.set(run.run_id, DROPPED_SHARE, 10)
    store.conditions.look(run.run_id, BASE)
    recorder.finish()
    return run.run_id


def windows_of_ten_seconds(delay: int) -> Pipeline:
    """Two of the rows have no event time. delay: of the watermark, in ms."""
    times = [50_000, 54_000, 79_900, 120_000, 100_001, 109_000]
    clicks: list[list[object]] = [
        ["a" if n <= 4 else "b", str(n), BASE + time] for n, time in enumerate(times, start=1)
    ]
    clicks.insert(3, ["a", "2", "yesterday"])
    pipeline = pipeline_of(
        "clicks -> per_window -> out",
        clicks=rows(
            "key string, id string, ts bigint",
            rows=[*clicks, ["b"]],
            event_time="ts",
            watermark_delay_ms=delay,
        ),
        per_window=(
            "window_aggregate",
            {
                "kind": "tumble",
                "size_ms": 10_000,
                "group_by": ["key"],
                "aggregates": [{"function": "ARRAY_AGG", "argument": "id", "name": "ids"}],
            },
        ),
        out=("sink", {"mode": "append"}),
    )
    return pipeline.model_copy(update={"name": "windows of ten seconds"})


def two_sources(store: Store, folder: Path) -> int:
    """Orders and payments in turn; payments are behind, so they hold the combined watermark back."""
    arrivals: dict[str, list[list[int]]] = {"orders": [], "payments": []}
    for seq in range(1, 41):
        source, behind = ("orders", 0) if seq % 2 else ("payments", 7000)
        time = BASE + seq * 1000 - behind - (3000 if seq % 7 == 0 else 0)
        arrivals[source].append([(seq + 1) // 2, time])
    pipeline = pipeline_of(
        "orders -> both:left -> out\npayments -> both:right",
        orders=rows("id bigint, ts bigint", rows=arrivals["orders"], event_time="ts", watermark_delay_ms=2000),
        payments=rows("id bigint, ts bigint", rows=arrivals["payments"], event_time="ts", watermark_delay_ms=0),
        both=(
            "window_join",
            {"left_keys": ["id"], "right_keys": ["id"], "windows": "tumble", "size_ms": 10_000},
        ),
        out=("sink", {"mode": "append"}),
    )
    named = {"name": "orders and payments", "arrival": Arrival(mode="in_turn", ends="together")}
    return run_locally(store, folder, pipeline.model_copy(update=named))


def future(store: Store, folder: Path) -> int:
    """Twenty clicks, a second apart, in windows of a second; the event time of record 8 is an hour ahead."""
    times = [BASE + seq * 1000 + (3_600_000 if seq == 8 else 0) for seq in range(1, 21)]
    lines = ["id,ts", *(f"{seq},{time}" for seq, time in enumerate(times, start=1)), "21,yesterday", "22"]
    file = folder / "logs" / "clicks.csv"
    file.parent.mkdir(exist_ok=True)
    file.write_text("\n".join(lines), encoding="utf-8")
    pipeline = pipeline_of(
        "clicks -> per_window -> out",
        clicks=(
            "csv",
            {
                "path": "logs/clicks.csv",
                "types": {"id": "bigint", "ts": "bigint"},
                "event_time": "ts",
                "watermark_delay_ms": 2000,
            },
        ),
        per_window=(
            "window_aggregate",
            {"kind": "tumble", "size_ms": 1000, "aggregates": [COUNT | {"name": "records"}]},
        ),
        out=("sink", {"mode": "append"}),
    )
    return run_locally(store, folder, pipeline.model_copy(update={"name": "a record from the future"}))


def cancelled(store: Store, example: str) -> int:
    """A run of an example that was cancelled before its first epoch."""
    pipeline = examples()[example]
    run = store.runs.create(pipeline.name, pipeline.to_json())
    store.runs.fail(run.run_id, "the run was cancelled.", cancelled=True)
    return run.run_id


def check_of(same: int, missing: int = 0, extra: int = 0, rows: Sequence[Any] = ()) -> dict[str, Any]:
    """The result of a batch check for the sink `out`. rows: (cells, in batch, in the stream)."""
    found = {"same": same, "missing": missing, "extra": extra, "rows": rows}
    return {"node": "out", "columns": ["cnt", "words"], "is_sink": True, **found}


def failed(store: Store) -> int:
    """A run that failed at a node before its first epoch."""
    pipeline = pipeline_of(
        "words -> ratio -> out",
        words=rows("a bigint, b bigint", rows=[[1, 0]]),
        ratio=("project", {"columns": [{"name": "ratio", "expression": "a / b"}]}),
        out=("sink", {"mode": "append"}),
    )
    run = store.runs.create("broken", pipeline.model_copy(update={"name": "broken"}).to_json(), engine="local[2]")
    store.runs.fail(run.run_id, "division by zero in `a / b`. Guard it with NULLIF.", "ratio")
    return run.run_id
