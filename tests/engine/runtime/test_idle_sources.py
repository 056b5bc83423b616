"""Idle sources above a union: the windows that fire, and sources that resume behind the combined watermark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

from engine.model.pipeline import Pipeline
from tests.engine.runtime.test_live import Fed, run_live

# The answer of Flink 2.3, with two filesystem tables, `source.monitor-interval` and these files, and
#   SET 'table.exec.source.idle-timeout' = '5 s';
#   SELECT window_end, k, SUM(v) FROM TABLE(TUMBLE(TABLE (a UNION ALL b), DESCRIPTOR(ts), INTERVAL '10' SECOND)) ...
# Both were idle after 5 s, and the windows that end at 10 and 20 s fired. Then the second file of b arrived, behind the
# watermark. With the next file of a, the windows that end at 30 s fired at once, seconds before b was idle again.
FILES = {
    "a": ["a,1,1000\na,2,12000\na,3,25000\n", "", "a,4,31000\n"],
    "b": ["b,10,2000\nb,20,5000\n", "b,30,8000\nb,40,22000\n", ""],
}
ANSWER = {("10s", "a", 1), ("10s", "b", 30), ("20s", "a", 2), ("30s", "a", 3), ("30s", "b", 40)}


def pipeline() -> Pipeline:
    total = {"function": "SUM", "argument": "v", "name": "total"}
    window = {"kind": "tumble", "size_ms": 10_000, "group_by": ["k"], "aggregates": [total]}
    source = {"event_time": "ts", "watermark_delay_ms": 0, "monitor_interval_ms": 20}
    nodes = [{"id": name, "operator": "csv", "parameters": {"path": name, **source}} for name in FILES]
    nodes += [
        {"id": "both", "operator": "union", "parameters": {}},
        {"id": "windows", "operator": "window_aggregate", "parameters": window},
    ]
    wires = [("a", "both"), ("b", "both"), ("both", "windows")]
    options = {"table.exec.source.idle-timeout": "1 h"}
    edges = [{"source": one, "target": other} for one, other in wires]
    return Pipeline.from_dict({"nodes": nodes, "edges": edges, "options": options})


def test_windows_fire_once_sources_are_idle_and_nobody_waits_for_one_that_comes_back_behind(
    spark: SparkSession, tmp_path: Path
) -> None:
    for name in FILES:
        (tmp_path / name).mkdir()
    left = 0

    def feed() -> bool:
        nonlocal left
        for name, files in FILES.items():
            if left < len(files) and files[left]:
                (tmp_path / name / f"{left}.csv").write_text(f"k,v,ts\n{files[left]}")
        left += 1
        return left <= len(FILES["a"])

    feed()
    first = Fed(feed)
    run_live(pipeline(), spark, tmp_path, tmp_path / "first", first)
    # The clock's decision is invented: both are idle after their first files.
    decisions = list(first.decisions)
    decisions[0] = replace(decisions[0], idle=["a", "b"])
    # The run fails in between: its checkpoint also has the sources that have not caught up yet.
    live = Fed(lambda: True, lost=frozenset({1, 2}))
    run_live(pipeline(), spark, tmp_path, tmp_path / "live", live, attempts=3, decisions=decisions)
    # Events 6 and 7: a and b become idle. 10 is the last record of a. 11 is the end, which Flink's tables do not have.
    assert [(row["seq"], row["window_end_ms"] // 1000) for row in live.fires] == [(7, 10), (7, 20), (10, 30), (11, 40)]
    fired = [(f"{row[2].second}s", row[0], row[3]) for seq, _, _, row in live.records["windows"] if seq < 11]
    assert set(fired) == ANSWER
    assert [(row["seq"], row["lateness_ms"]) for row in live.late] == [(8, 15001)]
