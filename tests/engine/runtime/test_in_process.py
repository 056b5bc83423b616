"""Tasks in the studio's own process: their reports, and their errors as those of a worker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from engine.errors import SourceError
from engine.model.pipeline import Pipeline
from engine.reading.files.text_files import TextPart
from engine.runtime.arrivals import intake
from engine.runtime.in_process import TaskFailed
from engine.runtime.keyed.states import _Near
from engine.runtime.record_waits import Watched
from engine.runtime.reports import Report, run_each, task_name
from engine.spark.failures import NodeFailed, failing_node, reason_of
from engine.spark.run_files import LocalFiles
from tests.golden.trace import plan_of


def reporting() -> Iterator[Report]:
    yield {"file": task_name()}


def failing() -> Iterator[Report]:
    yield from reporting()
    message = "month must be in 1..12"
    node = "counts"
    raise NodeFailed(node, ValueError(message))


def test_tasks_of_few_records_run_without_a_session() -> None:
    no_session: Any = None
    assert [report["file"] for report in run_each(no_session, [reporting, reporting], here=True)] == [
        "00000-0",
        "00001-0",
    ]


def test_an_error_names_its_node_as_that_of_a_worker() -> None:
    no_session: Any = None
    with pytest.raises(TaskFailed) as raised:
        run_each(no_session, [failing], here=True)
    assert failing_node(raised.value) == "counts"
    assert reason_of(raised.value) == "month must be in 1..12"


def test_keys_of_a_state_are_found_by_their_hashes() -> None:
    hashes = np.array([1, 1 << 40, 5, 1, (1 << 40) + 1, 1 << 63], np.uint64)
    wanted = np.array([1, 7, 1 << 40, 1 << 63], np.uint64)
    rows, places = _Near.of(wanted).among(hashes)
    assert (rows.tolist(), sorted(places.tolist())) == ([0, 1, 3, 5], [0, 0, 2, 3])
    assert [found.tolist() for found in _Near.of(wanted[:1]).among(hashes[1:3])] == [[], []]


LINES = [*[f'{{"k": {at % 3}, "ts": {at}}}' for at in range(50)], "no json", '{"k": "x", "ts": 1}']


def taken_in(
    spark: SparkSession | None, folder: Path, work: str, *, end: int | None, is_live: bool
) -> tuple[pa.Table, list[dict[str, Any]]]:
    """The records and the rejected rows of a range of a file, read as an epoch of a run does."""
    parameters = {"path": "in.jsonl", "types": {"k": "BIGINT", "ts": "BIGINT"}, "event_time": "ts"}
    document = Pipeline.from_dict({"nodes": [{"id": "n", "operator": "jsonl", "parameters": parameters}]})
    plan = plan_of(document, spark, folder)
    given = intake.given_of(plan, plan.node("n"), folder)
    assert given.scan is not None
    part = TextPart(str(folder / "in.jsonl"), "in.jsonl", 0, end)
    files = LocalFiles(folder / work)
    nobody: Any = None
    read = intake.take_in(
        [replace(given, scan=replace(given.scan, parts=(part,)))],
        spark or nobody,
        folder,
        Watched(files, nobody),
        is_live=is_live,
    )["n"]
    rows = [row for path in read.rejected for row in pq.read_table(path).to_pylist()]
    return pq.read_table(read.units[0].path), rows


def test_few_lines_of_a_live_epoch_are_read_without_a_session_as_workers_read_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in.jsonl").write_text("\n".join(LINES), encoding="utf-8")
    size = (tmp_path / "in.jsonl").stat().st_size
    here = taken_in(None, tmp_path, "here", end=size, is_live=True)
    assert here == taken_in(spark, tmp_path, "there", end=size, is_live=False)
    assert (here[0].num_rows, [row["line"] for row in here[1]]) == (50, [51, 52])


@pytest.mark.parametrize(("end", "is_live"), [(None, True), (100, False), (1 << 20, True)])
def test_many_lines_or_a_bounded_run_are_a_job(tmp_path: Path, end: int | None, is_live: bool) -> None:
    (tmp_path / "in.jsonl").write_text("\n".join(LINES), encoding="utf-8")
    with pytest.raises(AssertionError, match="tasks that do not run here run somewhere"):
        taken_in(None, tmp_path, "here", end=end, is_live=is_live)


def test_a_file_that_vanished_is_a_sentence_of_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in.jsonl").write_text("\n".join(LINES), encoding="utf-8")
    begun = intake._read_part
    monkeypatch.setattr(
        intake, "_read_part", lambda *given: ((tmp_path / "in.jsonl").unlink(missing_ok=True), begun(*given))[1]
    )
    with pytest.raises(SourceError, match=r"^n: it cannot be read: .*No such file"):
        taken_in(None, tmp_path, "here", end=100, is_live=True)
