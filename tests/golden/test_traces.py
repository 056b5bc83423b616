"""Every example gives its golden trace, byte for byte, for any number of partitions and epochs."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from engine.examples import FOLDER, examples
from engine.runtime.in_process import in_process
from tests.golden.trace import run_locally, run_pipeline

TRACES = Path(__file__).parent / "traces"


@pytest.mark.parametrize(("partitions", "epochs"), [(1, 1), (3, 1), (1, 3), (3, 4)])
@pytest.mark.parametrize("name", examples())
def test_an_example_gives_its_golden_trace(
    name: str, partitions: int, epochs: int, spark: SparkSession, tmp_path: Path, update_golden: bool
) -> None:
    # In Spark's workers as it is, and with the most of both; in between, tasks run in this process.
    in_workers = (partitions, epochs) in ((1, 1), (3, 4))
    with nullcontext() if in_workers else in_process():
        got = run_pipeline(examples()[name], spark, FOLDER, tmp_path, epochs=epochs, partitions=partitions).text()
    file = TRACES / f"{name}.txt"
    if update_golden and (partitions, epochs) == (1, 1):
        file.parent.mkdir(exist_ok=True)
        file.write_text(got, encoding="utf-8")
    assert got == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", examples())
def test_the_local_executor_gives_the_golden_trace(name: str, spark: SparkSession) -> None:
    text, _, rejected = (TRACES / f"{name}.txt").read_text(encoding="utf-8").partition("\n\n== rejected rows")
    got = run_locally(examples()[name], spark, FOLDER).text()
    assert got == (f"{text}\n" if rejected else text)


def test_there_is_a_trace_for_every_example_and_for_nothing_else() -> None:
    assert sorted(path.stem for path in TRACES.glob("*.txt")) == sorted(examples())
