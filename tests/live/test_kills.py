"""SIGKILL at random moments: after each the run goes on, and in the end says what a bounded run says, byte for byte."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from engine.spark.servers import FOLDER_ENVIRONMENT, servers
from tests.conftest import interpreted
from tests.engine.sources.kafka_cluster import broker, cluster
from tests.engine.sources.postgres_server import server
from tests.live.killing import Killing, Posted, Topic
from tests.live.postgres_table import Table
from tests.live.written import KafkaTopics, ParquetFolders, PostgresTables


def test_a_process_that_is_killed_again_and_again_loses_nothing_and_says_nothing_twice(
    spark: SparkSession, tmp_path: Path
) -> None:
    killing = Killing(tmp_path, seed=7, engine="local[2]", on_spark=False)
    for _ in range(5):
        killing.kill(killing.chance.uniform(0.05, 2.5))
    killing.end()
    assert killing.differences() == []


def kill_three_times(killing: Killing, most_s: float) -> None:
    """End a run three times within this long after an epoch: what it writes to its target is there once."""
    for _ in range(3):
        killing.kill(killing.chance.uniform(0.05, most_s), after_epoch=True)
    killing.end()
    assert killing.epochs > 3
    assert killing.differences() == []
    assert killing.leftovers() == []


def test_what_a_run_writes_is_there_once_after_kills(spark: SparkSession, tmp_path: Path) -> None:
    kill_three_times(Killing(tmp_path, seed=5, engine="local[2]", on_spark=False, target=ParquetFolders()), 1.5)


def test_what_a_run_writes_to_a_table_is_there_once_after_kills(spark: SparkSession, tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as place, server(Path(place)) as running:
        target = PostgresTables(running)
        kill_three_times(Killing(tmp_path, seed=6, engine="local[2]", on_spark=False, target=target), 1.0)


def test_what_a_run_writes_to_topics_is_there_once_after_kills(spark: SparkSession, tmp_path: Path) -> None:
    with broker("best") as brokers:
        target = KafkaTopics(brokers.servers)
        kill_three_times(Killing(tmp_path, seed=4, engine="local[2]", on_spark=False, target=target), 1.0)


def test_what_was_posted_and_what_came_from_a_topic_is_there_once_after_kills(
    spark: SparkSession, tmp_path: Path
) -> None:
    with cluster() as brokers:
        # State that goes by the times of epochs, in a zone.
        expiring = {"table.exec.state.ttl": "300 ms", "table.local-time-zone": "Europe/Berlin"}
        for name, feed, options in (("posted", Posted(), expiring), ("topic", Topic(brokers), {})):
            (tmp_path / name).mkdir()
            place = tmp_path / name
            killing = Killing(place, seed=9, engine="local[2]", on_spark=False, feed=feed, options=options)
            for _ in range(2):
                killing.kill(killing.chance.uniform(0.05, 0.5), after_epoch=True)
            killing.end()
            assert killing.epochs > 2
            assert killing.differences() == []
            assert killing.leftovers() == []


def test_each_change_of_a_table_counts_once_after_kills(spark: SparkSession, tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as place, server(Path(place)) as running:
        table = Table(running, random.Random(3))
        killing = Killing(tmp_path, seed=11, engine="local[2]", on_spark=False, feed=table)
        # The first one as it makes its slot and takes the rows that are there.
        killing.kill(0.02)
        for after_s in (0.3, 0.05):
            killing.kill(after_s, after_epoch=True)
        killing.end()
        assert table.says(killing.records("events"))
        assert killing.differences() == []
        assert killing.leftovers() == []


@pytest.mark.slow
def test_an_engine_that_is_killed_ends_the_run_with_a_sentence_and_the_next_one_takes_it_up(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An engine of its own: nobody else's is killed.
    for name, value in {FOLDER_ENVIRONMENT: str(tmp_path / "servers"), **interpreted()}.items():
        monkeypatch.setenv(name, value)
    killing = Killing(tmp_path, seed=8, engine="local[1]", on_spark=True)
    try:
        killing.kill(2.0, server=True)
        killing.end()
        assert killing.differences() == []
    finally:
        for one in servers():
            one.close(20)
