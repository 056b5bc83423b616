"""A run whose state expires: the recorded clock decides, not the number of tasks, and not where epochs end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.model.pipeline import Pipeline
from engine.runtime.in_process import in_process
from engine.spark.workspace import Workspace
from tests.engine.planning import pipeline_of
from tests.golden.trace import TraceRecorder, plan_of, run_locally, run_pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
TTL = "table.exec.state.ttl"
CLOCK = "changelog-studio.clock"
MINI_BATCH = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "20 ms",
    "table.exec.mini-batch.size": "4",
}
BY_ARRIVAL = {CLOCK: "ARRIVAL_COLUMN"}
COLUMNS = [{"name": name, "type": "bigint"} for name in ("k", "v", "at", "came")]
_OVER_BOTH = (
    "latest",
    "first",
    "arrived",
    "seen",
    "distinct",
    "best",
    "over",
    "over_all",
    "timed",
    "timed_all",
    "ordered",
)
_ENDS = ("FIRST_VALUE", "LAST_VALUE", "PERCENTILE")


def pipeline(
    options: Mapping[str, str],
    mode: str = "in_turn",
    every: int = 1,
    events_of_each: int = 60,
    right_ttl_ms: int | None = 50,
    seed: int = 40,
) -> Pipeline:
    """Two sources out of order, and what keeps state that expires, over both."""
    random = Random(seed)

    def came(at: int) -> int | None:
        """A time of arrival: sometimes none, sometimes an earlier one."""
        return random.choice([None, 7 * at, 7 * at, 7 * at - random.randrange(40)])

    def events(start: int) -> dict[str, Any]:
        times = sorted(random.randrange(start, 400) for _ in range(events_of_each))
        rows: list[Any] = [
            [random.randrange(5), random.randrange(3), time - random.randrange(9), came(at)]
            for at, time in enumerate(times)
        ]
        middle = events_of_each // 2
        rows[middle:middle] = [{"watermark": 150}]
        by = "came" if BY_ARRIVAL.items() <= options.items() else "at"
        timed = {"event_time": "at", "watermark_delay_ms": 10, "watermark_every": every, "arrival_column": by}
        return {"columns": COLUMNS, "rows": rows, **timed}

    dedup = {"keys": ["k"], "order": "event_time"}
    by_v = {"group_by": ["v"], "aggregates": [{"function": "SUM", "argument": "k", "name": "s"}]}
    distinct = {"function": "COUNT", "argument": "k", "distinct": True}
    over = {"preceding_rows": 2, "aggregates": [{"function": "SUM", "argument": "v", "name": "s"}]}
    by_k = {"left_keys": ["k"], "right_keys": ["k"]}
    nodes = {
        "a": ("rows", events(0)),
        "b": ("rows", events(100)),
        "both": ("union", {}),
        "latest": ("deduplicate", {**dedup, "keep": "last"}),
        "first": ("deduplicate", {**dedup, "keep": "first"}),
        "arrived": ("deduplicate", {"keys": ["k", "v"], "order": "arrival", "keep": "last"}),
        "seen": ("deduplicate", {"keys": ["v"], "order": "arrival", "keep": "first"}),
        "sums": ("aggregate", by_v),
        "by_sum": ("sink", {"mode": "upsert", "keys": ["s"]}),
        "ends": ("aggregate", {"aggregates": [{"function": name, "argument": "v", "name": name} for name in _ENDS]}),
        "distinct": ("aggregate", {"group_by": ["v"], "aggregates": [{**distinct, "name": "keys"}]}),
        "best": ("topn", {"partition_by": ["k"], "order_by": [{"column": "at"}], "rank_end": 2}),
        "ranked": ("topn", {"order_by": [{"column": "s"}], "rank_end": 3, "with_rank": True}),
        "over": ("over_aggregate", {"order": "arrival", "partition_by": ["k"], "frame": "rows", **over}),
        "timed": ("over_aggregate", {"partition_by": ["k"], "frame": "rows", **over}),
        "timed_all": ("over_aggregate", {"partition_by": ["k"], **over, "preceding_rows": None}),
        "ordered": ("over_aggregate", {"order_column": "v", "partition_by": ["k"], **over, "preceding_rows": None}),
        "over_all": ("over_aggregate", {"order": "arrival", "partition_by": ["k"], **over, "preceding_rows": None}),
        "pairs": ("join", {"kind": "full", **by_k, "right_state_ttl_ms": right_ttl_ms}),
        "unpaired": ("join", {"kind": "anti", **by_k}),
    }
    edges = [("a", "both"), ("b", "both"), ("latest", "sums"), ("sums", "by_sum"), ("sums", "ranked")]
    edges += [("sums", "ends")]
    edges += [("both", name) for name in nodes if name in _OVER_BOTH]
    ports = [(source, join, port) for join in ("pairs", "unpaired") for source, port in (("a", "left"), ("b", "right"))]
    return Pipeline.from_dict(
        {
            "name": "state with a TTL",
            "nodes": [{"id": name, "operator": op, "parameters": given} for name, (op, given) in nodes.items()],
            "edges": [
                *({"source": source, "target": target} for source, target in edges),
                *({"source": source, "target": join, "target_port": port} for source, join, port in ports),
            ],
            "arrival": {"mode": mode},
            "options": dict(options),
        }
    )


Run = Callable[..., str]
CLOCKS: list[dict[str, str]] = [{}, BY_ARRIVAL, {CLOCK: "EVENT_TIME"}]


@pytest.fixture
def text_of(spark: SparkSession, tmp_path: Path) -> Run:
    places = count()

    def ran(made: Pipeline, epochs: int, partitions: int) -> str:
        work = tmp_path / f"{next(places)}"
        return without_repeats(run_pipeline(made, spark, HERE, work, epochs=epochs, partitions=partitions))

    return ran


def without_repeats(trace: TraceRecorder) -> str:
    """The text of a trace; on Spark, every task reports its fired windows."""
    trace.fires = [fire for at, fire in enumerate(trace.fires) if fire not in trace.fires[:at]]
    return trace.text()


@pytest.mark.parametrize(
    ("mode", "every", "options"),
    [
        ("by_column", 3, {}),
        ("one_after_the_other", 2, {}),
        ("in_turn", 1, MINI_BATCH),
        ("by_column", 3, BY_ARRIVAL),
        ("one_after_the_other", 2, BY_ARRIVAL),
        ("in_turn", 1, {**MINI_BATCH, **BY_ARRIVAL}),
    ],
)
def test_any_epochs_and_tasks_give_the_same_bytes(
    mode: str, every: int, options: Mapping[str, str], spark: SparkSession, text_of: Run
) -> None:
    made = pipeline({TTL: "30 ms", **options}, mode, every)
    with in_process():
        whole = text_of(made, 1, 1)
        assert text_of(made, 7, 3) == whole
        assert without_repeats(run_locally(made, spark, HERE)) == whole
        assert text_of(pipeline({TTL: "1 d", **options}, mode, every), 1, 1) != whole, "something has expired"


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 1 << 30), st.integers(1, 400), st.integers(2, 9), st.integers(1, 4), st.sampled_from(CLOCKS))
def test_for_any_records_and_ttl_any_epochs_and_tasks_give_the_same_bytes(
    spark: SparkSession,
    text_of: Run,
    seed: int,
    ttl_ms: int,
    epochs: int,
    partitions: int,
    clock: Mapping[str, str],
) -> None:
    made = partial(pipeline, events_of_each=30, seed=seed)
    with in_process():
        text = text_of(made({TTL: f"{ttl_ms} ms", **clock}), epochs, partitions)
        assert text == without_repeats(run_locally(made({TTL: f"{ttl_ms} ms", **clock}), spark, HERE))
        endless = text_of(made({TTL: "1 d", **clock}, right_ttl_ms=None), epochs, partitions)
        assert records(endless) == records(text_of(made({TTL: "1 d", CLOCK: "NONE"}), 1, 1))


def test_workers_read_the_clock_too(text_of: Run, spark: SparkSession) -> None:
    made = pipeline({TTL: "30 ms"})
    assert text_of(made, 3, 2) == without_repeats(run_locally(made, spark, HERE))


def test_a_ttl_that_never_ends_is_none_but_for_what_is_repeated(text_of: Run) -> None:
    with in_process():
        longest = text_of(pipeline({TTL: f"{1 << 62} ms"}, right_ttl_ms=None), 5, 2)
        unread = text_of(pipeline({TTL: "30 ms", CLOCK: "NONE"}), 5, 2)
    assert records(longest) == records(unread)


def records(text: str) -> list[str]:
    """The records of a trace."""
    return [line for line in text.splitlines() if any(kind in line for kind in ("+I", "-U", "+U", "-D"))]


def test_what_has_expired_is_freed_and_no_byte_changes(spark: SparkSession, tmp_path: Path) -> None:
    """Every event has a key of its own; of those of many epochs, merged into one file, few are left."""
    made = rotating({TTL: "30 ms"})
    with in_process():
        whole = run_pipeline(made, spark, HERE, tmp_path / "whole", epochs=1).text()
        assert run_pipeline(made, spark, HERE, tmp_path / "cut", epochs=EPOCHS).text() == whole
        run_pipeline(rotating({TTL: "30 ms", CLOCK: "NONE"}), spark, HERE, tmp_path / "kept", epochs=EPOCHS)
    kept, freed = (merged(tmp_path / work, "latest") for work in ("kept", "cut"))
    # Each file that is merged has the keys that are less than 30 ms old, of all epochs before it: an epoch has 15 ms.
    assert max(kept.values()) == 64 * 5
    assert max(freed.values()) == 5


EPOCHS = 68


def rotating(options: Mapping[str, str]) -> Pipeline:
    """Events 3 ms apart, each with a key of its own."""
    timed = {"columns": COLUMNS, "rows": [[at, 0, at * 3, None] for at in range(EPOCHS * 5)], "event_time": "at"}
    nodes = {
        "a": ("rows", timed),
        "latest": ("deduplicate", {"keys": ["k"], "order": "event_time", "keep": "last"}),
        "pairs": ("join", {"left_keys": ["k"], "right_keys": ["v"]}),
    }
    edges = [("a", "latest", "in"), ("a", "pairs", "left"), ("latest", "pairs", "right")]
    return Pipeline.from_dict(
        {
            "nodes": [{"id": name, "operator": op, "parameters": given} for name, (op, given) in nodes.items()],
            "edges": [{"source": source, "target": target, "target_port": port} for source, target, port in edges],
            "options": dict(options),
        }
    )


def merged(work: Path, node: str) -> dict[int, int]:
    """The number of states in the merged files of a node, by the epoch that wrote them."""
    found = work.glob(f"**/{node}/epoch=*/merged/*.arrow")
    batches = {int(file.parts[-3][6:]): Workspace(str(work)).mapped(str(file)) for file in found}
    return {epoch: sum(batch.num_rows for batch in own) for epoch, own in batches.items()}


def test_the_plan_says_what_obeys(spark: SparkSession) -> None:
    planned = plan_of(pipeline({TTL: "30 ms"}), spark, HERE)
    states = {node.id: node.strategy.state for node in planned.nodes}
    assert states["latest"] == "per key: the kept row; each entry goes 30 ms after its last write"
    assert states["pairs"].endswith(
        "goes 30 ms after its last write on the left, 50 ms after its last write on the right"
    )
    assert states["best"].endswith("each entry goes 30 ms after its last write")
    assert states["both"] == "none"
    assert "last write" not in plan_of(pipeline({}), spark, HERE).node("latest").strategy.state


@pytest.mark.parametrize(
    ("node", "has", "goes"),
    [
        ("latest", 40, "each entry goes 40 ms after its last write"),
        ("sums", 40, "each entry goes 40 ms after its last write"),
        ("best", 0, "the best 2 rows of each partition"),
    ],
)
def test_an_operator_may_have_a_ttl_of_its_own(
    node: str, has: int, goes: str, spark: SparkSession, text_of: Run
) -> None:
    whole = pipeline({TTL: "30 ms"})
    nodes = [
        one.with_parameters({**one.parameters, "state_ttl_ms": has}) if one.id == node else one for one in whole.nodes
    ]
    own = whole.model_copy(update={"nodes": tuple(nodes)})
    assert plan_of(own, spark, HERE).node(node).strategy.state.endswith(goes)
    with in_process():
        assert text_of(own, 3, 2) != text_of(whole, 3, 2)


def test_the_plan_says_that_nothing_expires_without_an_event_time(spark: SparkSession) -> None:
    words = {"columns": [{"name": "word", "type": "string"}], "rows": [["a"]]}
    latest = {"keys": ["word"], "order": "arrival", "keep": "first"}
    timeless = pipeline_of(
        "words -> latest -> out", words=("rows", words), latest=("deduplicate", latest), out=("sink", {})
    )
    planned = plan_of(timeless.model_copy(update={"options": {TTL: "1 h"}}), spark, HERE)
    assert planned.node("latest").strategy.state.endswith(
        "; each entry goes 1 h after its last write in a live run; no source has an event time, so in a bounded run "
        "nothing frees it"
    )
