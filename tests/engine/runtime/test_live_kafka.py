"""A live run on topics equals a bounded run over its messages, after any failure; a replay needs no brokers."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from engine.model.pipeline import Pipeline
from engine.runtime.in_process import in_process
from tests.engine.runtime.test_live import Fed, listed, run_live
from tests.engine.sources.kafka_cluster import Cluster, cluster
from tests.golden.trace import run_pipeline


def pipeline(servers: str) -> Pipeline:
    """A window over changes of orders, and the number of users per town, which changes as users move."""
    total = {"function": "SUM", "argument": "v", "name": "total"}
    count = {"function": "COUNT", "name": "n"}
    time = {"metadata": [{"name": "ts", "of": "timestamp"}], "event_time": "ts"}
    orders: dict[str, Any] = {
        "topic": "orders",
        "columns": [{"name": "k", "type": "string"}, {"name": "v", "type": "bigint"}],
        "watermark_delay_ms": 50,
        **time,
    }
    users: dict[str, Any] = {
        "topic": "users",
        "columns": [{"name": "name", "type": "string"}, {"name": "town", "type": "string"}],
        "primary_key": ["name"],
        "value_has_key": False,
        **time,
    }
    window = {"kind": "tumble", "size_ms": 1000, "group_by": ["k"], "aggregates": [total]}
    nodes = [
        {"id": "orders", "operator": "kafka", "parameters": {"servers": servers, **orders}},
        {"id": "users", "operator": "upsert_kafka", "parameters": {"servers": servers, **users}},
        {"id": "windows", "operator": "window_aggregate", "parameters": window},
        {"id": "towns", "operator": "aggregate", "parameters": {"group_by": ["town"], "aggregates": [count]}},
    ]
    edges = [{"source": "orders", "target": "windows"}, {"source": "users", "target": "towns"}]
    return Pipeline.from_dict({"nodes": nodes, "edges": edges, "arrival": {"mode": "in_turn", "ends": "together"}})


def write(brokers: Cluster, chance: random.Random, first: int, size: int) -> None:
    """Orders in three partitions, and users who move and leave; one message of each topic is broken."""
    for at in range(first, first + size):
        order = "{" if at == 5 else {"k": chance.choice("ab"), "v": at}
        brokers.send("orders", order, partition=at % 3, ms=1_700_000_000_000 + at * 120)
        town = None if chance.random() < 0.2 else {"town": chance.choice("xyz")}
        key = "[" if at == 7 else {"name": chance.choice("mnop")}
        brokers.send("users", town, key=key, ms=1_700_000_000_000 + at)


def test_whatever_is_lost_on_the_way_it_says_what_a_bounded_run_says(spark: SparkSession, tmp_path: Path) -> None:
    chance = random.Random(3)
    with cluster() as brokers:
        write(brokers, chance, 0, 20)
        written = 20

        def feed() -> bool:
            nonlocal written
            if written >= 50:
                return False
            write(brokers, chance, written, 6)
            written += 6
            return True

        document = pipeline(brokers.servers)
        recorder = Fed(feed, lost=frozenset({0, 2}))
        run_live(document, spark, tmp_path, tmp_path / "state", recorder, attempts=3, records=20)
        with in_process():
            bounded = run_pipeline(
                listed(document, recorder), spark, tmp_path, tmp_path / "bounded", epochs=3, partitions=2
            )
    recorder.rejected.sort(key=lambda row: (row["node"], row["file"], row["line"]))
    assert [(row["file"], row["line"], row["reason"]) for row in recorder.rejected] == [
        ("orders, partition 2", 1, "the message is broken JSON"),
        ("users, partition 0", 7, "the key: the message is not a JSON object"),
    ]
    assert len(recorder.decisions) > 3
    assert recorder.text().splitlines() == bounded.text().splitlines()
    # The brokers are gone, but the received messages remain.
    replayed = Fed(lambda: True)
    run_live(document, spark, tmp_path, tmp_path / "again", replayed, decisions=recorder.decisions)
    replayed.rejected.sort(key=lambda row: (row["node"], row["file"], row["line"]))
    assert replayed.text() == recorder.text()
