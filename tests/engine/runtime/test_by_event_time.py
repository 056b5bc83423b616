"""Sources that arrive by event time are merged, and each keeps its own order: what is late in it stays late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import merge
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from engine.contract.live import Control, Live
from engine.errors import PipelineError
from engine.model.pipeline import Pipeline
from engine.planner import plan
from engine.runtime import run
from engine.runtime.in_process import in_process
from engine.spark.run_files import LocalFiles
from tests.engine.planning import KnownTypes
from tests.golden.trace import TraceRecorder, plan_of, run_locally, run_pipeline

Times = Sequence[int | dict[str, int]]

TIMED: dict[str, Any] = {"event_time": "at", "watermark_delay_ms": 5}
COUNTS = {"kind": "tumble", "size_ms": 10, "aggregates": [{"function": "COUNT", "name": "n"}]}


def pipeline_of(sources: Mapping[str, dict[str, Any]], mode: str = "by_event_time") -> Pipeline:
    """Sources that a window sees, by name with their parameters; those with a path are CSV files."""
    nodes = [
        {"id": name, "operator": "csv" if "path" in own else "rows", "parameters": own} for name, own in sources.items()
    ]
    nodes += [
        {"id": "all", "operator": "union"},
        {"id": "counts", "operator": "window_aggregate", "parameters": COUNTS},
    ]
    edges = [{"source": name, "target": "all"} for name in sources] + [{"source": "all", "target": "counts"}]
    return Pipeline.from_dict({"nodes": nodes, "edges": edges, "arrival": {"mode": mode, "ends": "together"}})


def typed(times: Times, **given: Any) -> dict[str, Any]:
    """A source of rows with these event times."""
    rows = [time if isinstance(time, dict) else [time] for time in times]
    return {"columns": [{"name": "at", "type": "bigint"}], "rows": rows, **TIMED, **given}


def in_files(folder: Path, times: Sequence[int], cuts: Sequence[int], **given: Any) -> dict[str, Any]:
    """A source of files, each with the rows up to the next cut."""
    folder.mkdir()
    bounds = [0, *sorted(min(cut, len(times)) for cut in cuts), len(times)]
    for number, (low, high) in enumerate(zip(bounds, bounds[1:], strict=False)):
        (folder / f"{number}.csv").write_text("\n".join(["at,x", *(f"{time},x" for time in times[low:high]), ""]))
    return {"path": str(folder), "types": {"at": "BIGINT"}, **TIMED, **given}


def arrived(trace: TraceRecorder) -> list[tuple[str, int | None]]:
    """The sources and times of events, without the ends."""
    return [(row["source"], row["event_time_ms"]) for row in trace.watermarks if not row["is_end"]]


def k_way(sources: dict[str, Sequence[int]]) -> list[tuple[str, int | None]]:
    """A plain merge, which asks for the first of several that come at the same time in their order."""
    heads: list[list[tuple[int, str, int]]] = []
    for name, times in sources.items():
        heads.append([(top, name, time) for top, time in zip(accumulate(times, max), times, strict=True)])
    return [(name, time) for _, name, time in merge(*heads, key=lambda head: head[0])]


CASES: dict[str, tuple[dict[str, Times], str]] = {
    "in order": ({"a": [10, 30], "b": [20, 40]}, "a10 b20 a30 b40"),
    "one that is late follows the one before it": ({"a": [10, 50, 20, 60], "b": [30, 55]}, "a10 b30 a50 a20 b55 a60"),
    "at the same time, in the order of the sources": ({"a": [10, 5, 10], "b": [10, 7]}, "a10 a5 a10 b10 b7"),
    "the last one is late": ({"a": [40], "b": [10, 50, 1]}, "b10 a40 b50 b1"),
    "from the future, it holds back its source": ({"a": [10, 999, 11], "b": [12, 13]}, "a10 b12 b13 a999 a11"),
    "before 1970": ({"a": [-5, 5], "b": [-9, -20]}, "b-9 b-20 a-5 a5"),
    "an explicit watermark": ({"a": [10, {"watermark": 90}, 30], "b": [20]}, "a10 aNone b20 a30"),
    "a watermark before all records": ({"a": [{"watermark": 5}, 20], "b": [10]}, "aNone b10 a20"),
    "nothing": ({"a": [], "b": [20, 10]}, "b20 b10"),
}


@pytest.mark.parametrize("title", CASES)
def test_sources_are_merged(title: str, spark: SparkSession, tmp_path: Path) -> None:
    rows, expected = CASES[title]
    pipeline = pipeline_of({name: typed(times) for name, times in rows.items()})
    with in_process():
        trace = run_pipeline(pipeline, spark, tmp_path, tmp_path / "run", epochs=2)
    assert " ".join(f"{name}{time}" for name, time in arrived(trace)) == expected
    assert run_locally(pipeline, spark, tmp_path).text() == trace.text()


def test_times_of_all_types_and_units_are_compared(spark: SparkSession, tmp_path: Path) -> None:
    texts = {"columns": [{"name": "at", "type": "timestamp(3)"}], **TIMED}
    sources = {
        "seconds": typed([1, 3, 0], event_time_unit="epoch_s"),
        "texts": {**texts, "rows": [["1970-01-01 00:00:02.000"], ["1970-01-01 00:00:01.500"]]},
        "ms": typed([2500, 100]),
    }
    nodes = [{"id": name, "operator": "rows", "parameters": own} for name, own in sources.items()]
    pipeline = Pipeline.from_dict({"nodes": nodes, "edges": [], "arrival": {"mode": "by_event_time"}})
    trace = run_pipeline(pipeline, spark, tmp_path, tmp_path / "run", partitions=2)
    assert arrived(trace) == [
        ("seconds", 1000),
        ("texts", 2000),
        ("texts", 1500),
        ("ms", 2500),
        ("ms", 100),
        ("seconds", 3000),
        ("seconds", 0),
    ]
    assert run_locally(pipeline, spark, tmp_path).text() == trace.text()


def test_a_sort_by_the_event_time_hides_what_the_merge_shows_as_late(spark: SparkSession, tmp_path: Path) -> None:
    """Documents that sort by arrival columns go on to do so."""
    sources = {"a": typed([10, 40, 3, 50], arrival_column="at"), "b": typed([12, 38, 45], arrival_column="at")}
    late = {}
    for mode in ("by_event_time", "by_column"):
        with in_process():
            trace = run_pipeline(pipeline_of(sources, mode), spark, tmp_path, tmp_path / mode)
        late[mode] = [(row["event_time_ms"], row["node"]) for row in trace.late]
    assert late == {"by_event_time": [(3, "counts")], "by_column": []}


def test_every_source_needs_an_event_time() -> None:
    without = {**typed([]), "event_time": None, "watermark_delay_ms": None}
    planned = pipeline_of({"a": typed([]), "b": without}).part(["a", "b"])
    with pytest.raises(PipelineError, match="^b: the sources arrive by event time, but this one has none") as caught:
        plan(planned, KnownTypes(), Path())
    assert caught.value.field == "event_time"


TIMES = st.lists(st.integers(0, 60), max_size=12)


@given(
    sources=st.lists(st.tuples(TIMES, st.lists(st.integers(0, 12), max_size=2)), min_size=2, max_size=4),
    epochs=st.integers(1, 4),
    partitions=st.integers(1, 3),
)
@settings(max_examples=10, deadline=None, derandomize=True)
def test_it_is_a_plain_merge_whatever_the_files_epochs_and_partitions(
    spark: SparkSession, sources: list[tuple[list[int], list[int]]], epochs: int, partitions: int
) -> None:
    named = dict(zip("abcd", sources, strict=False))
    with TemporaryDirectory() as place:
        folder = Path(place)
        pipeline = pipeline_of({name: in_files(folder / name, *own) for name, own in named.items()})
        with in_process():
            trace = run_pipeline(pipeline, spark, folder, folder / "run", epochs=epochs, partitions=partitions)
        assert arrived(trace) == k_way({name: times for name, (times, _) in named.items()})
        assert run_locally(pipeline, spark, folder).text() == trace.text()


class _Feed(TraceRecorder):
    """A live run that ends with its second epoch, for which it appends rows."""

    def __init__(self, more: dict[Path, str]) -> None:
        super().__init__()
        self.control = Control()
        self._more = more

    def commit(self, output: Any) -> None:
        super().commit(output)
        for path, lines in self._more.items():
            path.write_text(lines)
        self.control.stop(end=True)


def test_of_a_live_run_it_is_the_largest_time_of_all_epochs(spark: SparkSession, tmp_path: Path) -> None:
    sources = {
        name: in_files(tmp_path / name, times, [], monitor_interval_ms=1)
        for name, times in {"a": [10, 50], "b": [20]}.items()
    }
    feed = _Feed({tmp_path / "a" / "1.csv": "at,x\n15,x\n60,x\n", tmp_path / "b" / "1.csv": "at,x\n30,x\n55,x\n"})
    with in_process():
        run(
            plan_of(pipeline_of(sources), spark, tmp_path),
            spark=spark,
            recorder=feed,
            folder=tmp_path,
            files=LocalFiles(tmp_path / "runs" / "1"),
            live=Live(feed.control, 1),
        )
    times = [("a", 10), ("b", 20), ("a", 50), ("b", 30), ("a", 15), ("b", 55), ("a", 60)]
    assert arrived(feed) == times
