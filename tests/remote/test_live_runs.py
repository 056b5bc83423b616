"""A live run on a server that shares no files with the app: the same bytes, what it goes on from, and nothing left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from engine.contract.live import Live
from engine.errors import RunFailed
from engine.model.pipeline import Pipeline
from engine.runtime import run
from engine.runtime.in_process import in_process
from engine.spark.run_files import LocalFiles, RunFiles, live_files, live_folder
from engine.spark.session import get_spark
from tests.engine.planning import pipeline_of
from tests.engine.runtime.test_live import Fed
from tests.engine.sources.kafka_cluster import Cluster, cluster
from tests.golden.trace import plan_of
from tests.remote.conftest import Far
from tests.remote.test_no_shared_files import left

pytestmark = pytest.mark.slow
COLUMNS = [{"name": "k", "type": "string"}, {"name": "v", "type": "bigint"}]
COUNT = {"group_by": ["k"], "aggregates": [{"function": "COUNT", "name": "n"}]}


def pipeline(brokers: Cluster) -> Pipeline:
    """Counts of what grows in a folder and of what comes from a topic."""
    files = {"path": "in", "types": {"k": "string", "v": "bigint"}, "monitor_interval_ms": 1}
    topic = {"servers": brokers.servers, "topic": "words", "columns": COLUMNS}
    return pipeline_of(
        "files -> both\ntopic -> both\nboth -> counts",
        files=("csv", files),
        topic=("kafka", topic),
        both=("union", {}),
        counts=("aggregate", COUNT),
    )


@contextmanager
def growing(folder: Path) -> Iterator[tuple[Pipeline, Fed]]:
    """Something that comes three times, each time from both; the second commit is lost."""
    with cluster() as brokers:
        rounds = iter(range(1, 4))

        def feed() -> bool:
            at = next(rounds, None)
            if at is not None:
                with (folder / "in" / "a.csv").open("a") as file:
                    file.write(f"a,{at}\nb,x\n" if at > 1 else "k,v\na,1\n")
                (folder / "in" / f"b{at}.csv").write_text(f"k,v\nb,{at}\n")
                brokers.send("words", {"k": "a", "v": at}, "{" if at == 2 else {"k": "c", "v": at})
            return at is not None

        (folder / "in").mkdir(parents=True)
        feed()
        yield pipeline(brokers), Fed(feed, lost=frozenset({1}))


def test_it_goes_on_from_what_lies_in_the_workspace(far: Far, spark: SparkSession, tmp_path: Path) -> None:
    folder, there = far.app / "live", get_spark(far.engine.name)

    def attempt(files: RunFiles, on: SparkSession, recorder: Fed, live: Live) -> None:
        planned = plan_of(document, on, folder)
        run(planned, spark=on, recorder=recorder, folder=folder, files=files, partitions=2, live=live)

    with growing(folder) as (document, recorder):
        for at in range(2):
            files = live_files(far.engine, there, folder / "state", "far")
            live = Live(recorder.control, 1, checkpoint=recorder.checkpoint, name="far")
            if at == 0:
                with pytest.raises(RunFailed):
                    attempt(files, there, recorder, live)
                assert left(far) == [live_folder("far")]
            else:
                attempt(files, there, recorder, live)
        assert recorder.finished
        assert left(far) == []
    assert len(recorder.decisions) > 2
    assert sorted(row["reason"] for row in recorder.rejected) == [
        "column 'v': \"x\" is not a BIGINT",
        "column 'v': \"x\" is not a BIGINT",
        "the message is broken JSON",
    ]
    # Nothing of an epoch stays here or there.
    assert not [path for path in (folder / "state").rglob("*") if path.is_file()]
    again = Fed(lambda: True)
    with in_process():
        attempt(LocalFiles(tmp_path / "again" / "attempt"), spark, again, Live(decisions=recorder.decisions))
    for one in (recorder, again):
        one.rejected.sort(key=lambda row: (row["node"], row["file"], row["line"]))
    assert again.text() == recorder.text()
