"""SIGKILL at random moments: after each the run goes on, and in the end says what a bounded run says, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from engine.spark.servers import FOLDER_ENVIRONMENT
from tests.engine.sources.kafka_cluster import cluster
from tests.live.killing import Killing, Posted, Topic


def test_a_process_that_is_killed_again_and_again_loses_nothing_and_says_nothing_twice(
    spark: SparkSession, tmp_path: Path
) -> None:
    killing = Killing(tmp_path, seed=7, engine="local[2]", on_spark=False)
    for _ in range(5):
        killing.kill(killing.chance.uniform(0.05, 2.5))
    killing.end()
    assert killing.differences() == []


def test_what_was_posted_and_what_came_from_a_topic_is_there_once_after_kills(
    spark: SparkSession, tmp_path: Path
) -> None:
    with cluster() as brokers:
        for name, feed in (("posted", Posted()), ("topic", Topic(brokers))):
            (tmp_path / name).mkdir()
            killing = Killing(tmp_path / name, seed=9, engine="local[2]", on_spark=False, feed=feed)
            for _ in range(2):
                killing.kill(killing.chance.uniform(0.05, 2.0))
            killing.end()
            assert killing.differences() == []


@pytest.mark.slow
def test_an_engine_that_is_killed_ends_the_run_with_a_sentence_and_the_next_one_takes_it_up(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An engine of its own: nobody else's is killed.
    monkeypatch.setenv(FOLDER_ENVIRONMENT, str(tmp_path / "servers"))
    killing = Killing(tmp_path, seed=8, engine="local[1]", on_spark=True)
    killing.kill(2.0, server=True)
    killing.end()
    assert killing.differences() == []
