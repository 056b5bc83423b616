"""Limits that protect the machine from a pipeline: windows per record, a worker's memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from engine.errors import RunFailed
from engine.model.windowing import MOST_WINDOWS, Windowing, WindowKind
from engine.spark.failures import NodeFailed, failing_node, reason_of, unexpected_sentence
from engine.spark.memory import worker_mb
from tests.engine.planning import pipeline_of
from tests.golden.trace import run_pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("kind", [WindowKind.HOP, WindowKind.CUMULATE])
def test_a_record_is_not_in_more_windows_than_anybody_means(kind: WindowKind) -> None:
    Windowing(kind, MOST_WINDOWS, 1)
    with pytest.raises(ValueError, match=r"up to 1,000,000,000 windows, but 100,000 are the most. Use a larger s"):
        Windowing(kind, 1_000_000_000, 1)


def test_a_worker_has_a_limit_of_memory(spark: SparkSession) -> None:
    def limits(batches: Iterator[Any]) -> Iterator[Any]:
        import resource

        import pyarrow as pa

        for _ in batches:
            yield pa.RecordBatch.from_arrays([pa.array([resource.getrlimit(resource.RLIMIT_AS)[0] >> 20])], ["mb"])

    assert spark.range(1).mapInArrow(limits, "mb BIGINT").first() == (worker_mb(),)


def test_a_worker_that_is_killed_is_a_sentence_and_the_next_one_works(spark: SparkSession) -> None:
    def killed(batches: Iterator[Any]) -> Iterator[Any]:
        import os
        import signal

        for _ in batches:
            os.kill(os.getpid(), signal.SIGKILL)
        yield

    with pytest.raises(Exception, match="Python worker exited unexpectedly") as raised:
        spark.range(4, numPartitions=2).mapInArrow(killed, "id BIGINT").collect()
    assert reason_of(raised.value).startswith("a Spark worker ended unexpectedly,")
    same = spark.range(4, numPartitions=2).mapInArrow(lambda batches: batches, "id BIGINT")
    assert sorted(row.id for row in same.collect()) == [0, 1, 2, 3]


def _python(last: str) -> str:
    return f'An exception was thrown from the Python worker:\nTraceback (most recent call last):\n  File "x"\n{last}\n'


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (_python("MemoryError"), "a worker ran out of memory."),
        (_python("pyarrow.lib.ArrowMemoryError: malloc of size 99 failed"), "a worker ran out of memory."),
        ("Job aborted: java.lang.OutOfMemoryError: Java heap space", "Spark ran out of memory. Give it more with"),
        (_python("OSError: [Errno 28] No space left on device"), "the disk is full."),
        ("org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)", "a Spark worker ended"),
        ("EOFException occurred while reading the port number from worker_daemon's stdout.", "a Spark worker ended"),
        (_python("ValueError: about a MemoryError"), "about a MemoryError"),
    ],
)
def test_running_into_a_limit_is_a_sentence(said: str, sentence: str) -> None:
    assert reason_of(RuntimeError(said)).startswith(sentence)


@pytest.mark.parametrize(
    "far_off",
    [pa.array([1 << 58], pa.timestamp("us")), pa.array([1 << 22], pa.date32()), pa.array([-1 << 20], pa.date32())],
)
def test_a_moment_that_python_has_not_is_a_sentence(far_off: pa.Array) -> None:
    with pytest.raises((OverflowError, ValueError)) as caught:
        far_off.to_pylist()
    sentence = "a date or a time lies outside the years 1 to 9999."
    assert reason_of(caught.value).startswith(sentence)
    assert reason_of(RuntimeError(_python(f"{type(caught.value).__name__}: {caught.value}"))).startswith(sentence)
    assert unexpected_sentence(caught.value).startswith(sentence)


def test_the_node_that_ran_out_of_memory_is_named() -> None:
    told = _python(f"MemoryError\n\nTraceback (most recent call last):\nNodeFailed: {NodeFailed('a', MemoryError())}")
    assert failing_node(RuntimeError(told)) == "a"
    assert reason_of(RuntimeError(told)).startswith("a worker ran out of memory.")


def test_an_expression_that_asks_for_too_much_is_told_with_its_node(spark: SparkSession, tmp_path: Path) -> None:
    """It took all memory of the engine, for minutes, and everybody's runs with it."""
    loops = "size(transform(sequence(1, 100000), x -> transform(sequence(1, 100000), y -> x * y * n)))"
    columns = [{"name": "n", "expression": "n"}, {"name": "v", "expression": loops}]
    pipeline = pipeline_of(
        "in -> big -> out",
        **{"in": ("rows", {"columns": [{"name": "n", "type": "INT"}], "rows": [[1]]})},
        big=("project", {"columns": columns}),
        out=("sink", {}),
    )
    with pytest.raises(RunFailed, match="^big: it failed while running: it makes or reads a list of more than 3,162"):
        run_pipeline(pipeline, spark, tmp_path, tmp_path / "work")
