"""A store with a few small runs in it, as Spark would have left them: what the views are tested on.

example      the example of the word frequency as it is shipped
word_count   words -> inner -> outer; no event time; -U +U pairs and a cascade of three edges
windows      clicks -> per_window; watermark delay 5000; two of six records late, two rows rejected;
             with a delay of 12000 nothing is late
two_sources  orders and payments; the combined watermark is held back by payments
future       clicks from a file -> per_window; record 8 comes from an hour ahead, and 12 records after it are late
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from engine.contract.explanation import NodeExplanation, PlanExplanation
from engine.contract.recorder import EdgeInfo, RunPlan
from engine.examples import examples
from engine.model.position import timer
from engine.model.schema import Schema
from storage import Store
from tests.storage.written_runs import Epoch, columns, edge

END = (1 << 63) - 1
BASE = 1_000_000_000_000


def document(name: str, nodes: Sequence[tuple[str, str]], wires: Sequence[tuple[str, str]]) -> str:
    """A pipeline document: nodes are (id, operator)."""
    return json.dumps(
        {
            "version": 1,
            "name": name,
            "nodes": [{"id": node, "operator": operator} for node, operator in nodes],
            "edges": [{"source": source, "target": target} for source, target in wires],
        }
    )


def record(store: Store, folder: Path, name: str, text: str, edges: Sequence[EdgeInfo], epoch: Epoch) -> int:
    """Store a run of one epoch that ended well; its number."""
    run = store.runs.create(name, text, engine="local[2]")
    recorder = store.record(run.run_id)
    recorder.begin(RunPlan(text, tuple(edges), PlanExplanation(tuple(map(_explained, edges))), 1))
    recorder.commit(epoch.write(folder / f"run-{run.run_id}", edges))
    recorder.finish()
    return run.run_id


def _explained(info: EdgeInfo) -> NodeExplanation:
    """As much as the pages show of it."""
    if info.role == "source":
        return NodeExplanation(info.node, info.operator, role=info.role, mode=info.mode)
    strategy, reason, state = "as it comes", "nobody asked for more", "a row per key"
    kernel = "columnar: the rule of this test"
    return NodeExplanation(
        info.node,
        info.operator,
        role=info.role,
        mode=info.mode,
        strategy=strategy,
        reason=reason,
        state=state,
        kernel=kernel,
    )


def word_count(store: Store, folder: Path) -> int:
    """The word frequency of the retraction document: Hello, World, Hello."""
    nodes = ("words", "inner", "outer", "out")
    text = document(
        "word count",
        [("words", "rows"), ("inner", "group_aggregate"), ("outer", "group_aggregate"), ("out", "sink")],
        [("words", "inner"), ("inner", "outer"), ("outer", "out")],
    )
    counted = columns(cnt="bigint", words="bigint")
    return _word_frequency(store, folder, "word count", text, nodes, "group_aggregate", counted)


def example(store: Store, folder: Path, last: tuple[int, int] = (2, 1)) -> int:
    """The example of the word frequency, with its own document: what the engine can replay.

    last: the row with which its sink ends, where that shall be a wrong one.
    """
    found = examples()["01-word-frequency"]
    nodes = ("words", "count_words", "count_counts", "frequencies")
    counted = columns(cnt="bigint", freq="bigint")
    return _word_frequency(store, folder, found.name, found.to_json(), nodes, "aggregate", counted, last)


def _word_frequency(
    store: Store,
    folder: Path,
    name: str,
    text: str,
    nodes: tuple[str, str, str, str],
    operator: str,
    counted: Schema,
    last: tuple[int, int] = (2, 1),
) -> int:
    words, inner, outer, out = nodes
    edges = (
        edge(words, columns(word="string"), operator="rows", role="source"),
        edge(inner, columns(word="string", cnt="bigint"), "[I,UB,UA]", ["word"], operator=operator),
        edge(outer, counted, "[I,UB,UA,D]", ["cnt"], operator=operator),
        edge(out, counted, "[I,UB,UA,D]", ["cnt"], operator="sink", role="sink"),
    )
    frequencies = [
        (1, b"\x00\x00", "+I", (1, 1)),
        (2, b"\x00\x00", "-U", (1, 1)),
        (2, b"\x00\x01", "+U", (1, 2)),
        (3, b"\x00\x00", "-U", (1, 2)),
        (3, b"\x00\x01", "+U", (1, 1)),
        (3, b"\x01\x00", "+I", (2, 1)),
    ]
    epoch = Epoch(
        records={
            words: [(1, b"", "+I", ("Hello",)), (2, b"", "+I", ("World",)), (3, b"", "+I", ("Hello",))],
            inner: [
                (1, b"\x00", "+I", ("Hello", 1)),
                (2, b"\x00", "+I", ("World", 1)),
                (3, b"\x00", "-U", ("Hello", 1)),
                (3, b"\x01", "+U", ("Hello", 2)),
            ],
            outer: frequencies,
            out: [*frequencies[:-1], (3, b"\x01\x00", "+I", last)],
        },
        watermarks=[(n, words, None, None, False) for n in (1, 2, 3)] + [(4, words, None, END, True)],
    )
    return record(store, folder, name, text, edges, epoch)


def windows(store: Store, folder: Path, delay: int = 5000) -> int:
    """The second trace of the window document: delay 5000, records 5 and 6 are lost; 12000 keeps them."""
    raw = json.loads(
        document(
            "windows of ten seconds",
            [("clicks", "rows"), ("per_window", "tumbling_window"), ("out", "sink")],
            [("clicks", "per_window"), ("per_window", "out")],
        )
    )
    raw["nodes"][0]["parameters"] = {"event_time": "ts", "watermark_delay_ms": delay}
    text = json.dumps(raw)
    fired = columns(window_start="bigint", key="string", ids="string")
    edges = (
        edge("clicks", columns(key="string", id="string", ts="bigint*"), operator="rows", watermark_delay_ms=delay),
        edge("per_window", fired, operator="tumbling_window"),
        edge("out", fired, operator="sink", role="sink"),
    )
    times = [50_000, 54_000, 79_900, 120_000, 100_001, 109_000]
    marks = [max(times[:n]) - delay for n in range(1, 7)]
    fires = [
        (3, 50_000, ("a", "[1,2]")),
        (4, 70_000, ("a", "[3]")),
        (7, 120_000, ("a", "[4]")),
    ]
    lost = [(5, 100_001), (6, 109_000)]
    if delay > 10_001:
        fires = [(4, *fires[0][1:]), fires[1], (7, 100_000, ("b", "[5,6]")), fires[2]]
        lost = []
    first = {50_000: 1, 70_000: 3, 100_000: 5, 120_000: 4}
    results = [
        (seq, timer(1, BASE + start + 9_999, first[start], b"") + b"\x00", "+I", (BASE + start, *values))
        for seq, start, values in fires
    ]
    epoch = Epoch(
        records={
            "clicks": [
                (n, b"", "+I", ("a" if n <= 4 else "b", str(n), BASE + time)) for n, time in enumerate(times, 1)
            ],
            "per_window": results,
            "out": results,
        },
        watermarks=[
            (n, "clicks", BASE + time, BASE + mark, False)
            for n, (time, mark) in enumerate(zip(times, marks, strict=True), 1)
        ]
        + [(7, "clicks", None, END, True)],
        late=[
            (
                "per_window",
                "in",
                n,
                b"",
                BASE + time,
                BASE + 100_000,
                BASE + 110_000,
                BASE + 115_000,
                5001,
                "window closed",
            )
            for n, time in lost
        ],
        fires=[("per_window", seq, BASE + start, BASE + start + 10_000) for seq, start, _ in fires],
        rejected=[
            ("clicks", "clicks.csv", 4, "a,2,yesterday", "ts: 'yesterday' is not a BIGINT"),
            ("clicks", "clicks.csv", 9, "b", "3 columns are declared, the line has 1"),
        ],
    )
    return record(store, folder, "windows of ten seconds", text, edges, epoch)


def two_sources(store: Store, folder: Path) -> int:
    """Orders and payments in turn; payments are behind, so they hold the combined watermark back."""
    text = document(
        "orders and payments",
        [("orders", "rows"), ("payments", "rows"), ("both", "window_join")],
        [("orders", "both"), ("payments", "both")],
    )
    joined = columns(id="bigint", amount="bigint")
    edges = (
        edge("orders", columns(id="bigint", ts="bigint*"), operator="rows", watermark_delay_ms=2000),
        edge("payments", columns(id="bigint", ts="bigint*"), operator="rows", watermark_delay_ms=0),
        edge("both", joined, operator="window_join"),
    )
    records: dict[str, list[tuple[int, bytes, str, tuple[int, ...]]]] = {"orders": [], "payments": [], "both": []}
    watermarks: list[tuple[int, str, int | None, int, bool]] = []
    top = {"orders": 0, "payments": 0}
    for seq in range(1, 41):
        source, delay, behind = ("orders", 2000, 0) if seq % 2 else ("payments", 0, 7000)
        time = BASE + seq * 1000 - behind - (3000 if seq % 7 == 0 else 0)
        top[source] = max(top[source], time)
        records[source].append((seq, b"", "+I", (seq, time)))
        watermarks.append((seq, source, time, top[source] - delay, False))
    watermarks += [(41, "orders", None, END, True), (42, "payments", None, END, True)]
    fires = []
    for start in range(0, 40_000, 10_000):
        at = next((seq for seq in range(2, 41, 2) if seq * 1000 - 7000 >= start + 9999), 42)
        fires.append(("both", at, BASE + start, BASE + start + 10_000))
        path = timer(2, BASE + start + 9_999, start // 1000 + 1, b"") + b"\x00"
        records["both"].append((at, path, "+I", (start, 1)))
    return record(
        store, folder, "orders and payments", text, edges, Epoch(records=records, watermarks=watermarks, fires=fires)
    )


def future(store: Store, folder: Path) -> int:
    """Twenty clicks, a second apart, in windows of a second; record 8 is an hour ahead of its time."""
    raw = json.loads(
        document(
            "a record from the future",
            [("clicks", "csv"), ("per_window", "window_aggregate"), ("out", "sink")],
            [("clicks", "per_window"), ("per_window", "out")],
        )
    )
    raw["nodes"][0]["parameters"] = {"path": "logs/clicks.csv", "event_time": "ts", "watermark_delay_ms": 2000}
    raw["nodes"][1]["parameters"] = {"kind": "tumble", "size_ms": 1000}
    text = json.dumps(raw)
    counted = columns(records="bigint")
    edges = (
        edge("clicks", columns(id="bigint", ts="bigint*"), operator="csv", watermark_delay_ms=2000),
        edge("per_window", counted, operator="window_aggregate"),
        edge("out", counted, operator="sink", role="sink"),
    )
    times = [BASE + seq * 1000 + (3_600_000 if seq == 8 else 0) for seq in range(1, 21)]
    marks = [max(times[:seq]) - 2000 for seq in range(1, 21)]
    late = []
    for seq in range(9, 21):
        start, mark = times[seq - 1], marks[seq - 2]
        late.append(
            ("per_window", "in", seq, b"", start, start, start + 1000, mark, mark - (start + 999), "window closed")
        )
    fires = [("per_window", min(seq + 3, 8), BASE + seq * 1000, BASE + seq * 1000 + 1000) for seq in range(1, 8)]
    results = [
        (seq, timer(1, end - 1, start // 1000 % 1000, b"") + b"\x00", "+I", (1,)) for _, seq, start, end in fires
    ]
    epoch = Epoch(
        records={
            "clicks": [(seq, b"", "+I", (seq, time)) for seq, time in enumerate(times, 1)],
            "per_window": results,
            "out": results,
        },
        watermarks=[
            (seq, "clicks", time, mark, False) for seq, (time, mark) in enumerate(zip(times, marks, strict=True), 1)
        ]
        + [(21, "clicks", None, END, True)],
        late=late,
        fires=fires,
    )
    return record(store, folder, "a record from the future", text, edges, epoch)


def failed(store: Store) -> int:
    """A run that failed at a node before its first epoch."""
    text = document("broken", [("words", "rows"), ("ratio", "project")], [("words", "ratio")])
    run = store.runs.create("broken", text, engine="local[2]")
    store.runs.fail(run.run_id, "division by zero in `a / b`. Guard it with NULLIF.", "ratio")
    return run.run_id
