"""The recipe for an aggregate function, followed literally: one file more, and everything knows it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from engine.aggregates import functions as package
from engine.aggregates.function import AggregateCall, AggregateFunction
from engine.aggregates.over import FrameOf, OverKernel
from engine.aggregates.parameters import Aggregate
from engine.aggregates.registry import function_named, functions
from engine.columnar.in_process import ChunkLoop
from engine.contract.columnar_kernel import Layout
from engine.contract.kernel import Input, Output, run, run_key
from engine.contract.state_in_words import Label, Names
from engine.errors import PipelineError, PlanRejected
from engine.model.timeline import MAX_WATERMARK, Timeline
from engine.model.types import INT
from engine.model.windowing import Windowing, WindowKind
from engine.operators.aggregate import AggregateKernel
from engine.runtime.explain import explanation
from engine.windows.session_kernel import SessionWindowKernel
from engine.windows.sliced_kernel import SlicedWindowKernel
from engine.windows.window_kernel import WindowKernel
from tests.engine.batch_answer import checked, complaints
from tests.engine.cases import Case, check
from tests.engine.planning import columns, pipeline_of, plan_of, rows
from tests.engine.sql.queries import lines, read
from ui.forms.spec import fields_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
WINDOWS = {
    "tumbling windows": partial(SlicedWindowKernel, Windowing(WindowKind.TUMBLE, 10)),
    "hopping windows, merged of slices": partial(SlicedWindowKernel, Windowing(WindowKind.HOP, 10, 5)),
    "sessions, merged as they meet": partial(SessionWindowKernel, Windowing(WindowKind.SESSION, 10)),
}
FIRED = {
    "tumbling windows": """
        seq  kind  k  window_start  window_end  spread
        5    +I    a  0             10000       4
        5    +I    a  10000         20000       0
    """,
    "hopping windows, merged of slices": """
        seq  kind  k  window_start  window_end  spread
        5    +I    a  -5000         5000        1
        5    +I    a  0             10000       4
        5    +I    a  5000          15000       5
        5    +I    a  10000         20000       0
    """,
    "sessions, merged as they meet": """
        seq  kind  k  window_start  window_end  spread
        5    +I    a  1000          22000       5
    """,
}


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], AggregateFunction]]:
    """Puts a file among the functions, as if it lay in their folder, and gives the function that is then found."""
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])

    def add_(module: str) -> AggregateFunction:
        shutil.copy(HERE / f"{module}.py", tmp_path)
        forget()
        return function_named(module.upper())

    def forget() -> None:
        for cached in (functions, fields_of):
            cached.cache_clear()

    yield add_
    monkeypatch.undo()
    forget()


@pytest.fixture
def spread(add: Callable[[str], AggregateFunction]) -> AggregateFunction:
    return add("spread")


@pytest.fixture
def bit_or(add: Callable[[str], AggregateFunction]) -> AggregateFunction:
    return add("bit_or")


def of(name: str) -> dict[str, Any]:
    """A call of a function as a pipeline has it."""
    return {"function": name, "argument": "v", "name": "result"}


def test_a_pipeline_names_it_and_forms_offer_it(spread: AggregateFunction) -> None:
    aggregate = Aggregate.model_validate({"function": "SPREAD", "argument": "v"})
    assert aggregate.function is spread
    assert aggregate.model_dump(mode="json")["function"] == "SPREAD"
    assert Aggregate.model_json_schema()["properties"]["function"]["enum"][-1] == "SPREAD"
    assert fields_of(Aggregate)[0].choices[-1] == "SPREAD"


def test_it_is_updated_and_retracted(spread: AggregateFunction) -> None:
    check(
        Case(
            "values come and go",
            kernel=partial(AggregateKernel, [AggregateCall(spread, 1)], retracting=True),
            key=("k",),
            given="""
                seq  kind  k  v
                1    +I    a  5
                2    +I    a  9
                3    +I    a  NULL
                4    -D    a  9
                5    +I    a  2
                6    -D    a  5
                7    -D    a  2
                8    -D    a  NULL
            """,
            expect="""
                seq  kind  k  spread
                1    +I    a  0
                2    -U    a  0
                2    +U    a  4
                4    -U    a  4
                4    +U    a  0
                5    -U    a  0
                5    +U    a  3
                6    -U    a  3
                6    +U    a  0
                7    -U    a  0
                7    +U    a  NULL
                8    -D    a  NULL
            """,
            leaves_state=False,
        )
    )


@pytest.mark.parametrize("windows", WINDOWS)
def test_it_is_computed_in(windows: str, spread: AggregateFunction) -> None:
    make: Callable[..., WindowKernel] = WINDOWS[windows]
    check(
        Case(
            windows,
            kernel=partial(make, [AggregateCall(spread, 1)], retracting=False),
            key=("k",),
            given="""
                seq  kind  rt  v  k
                1    +I    1   5  a
                2    +I    9   9  a
                3    +I    12  4  a
                4    +I    2   6  a
                5    wm    MAX
            """,
            expect=FIRED[windows],
            leaves_state=False,
        )
    )


def test_it_is_computed_over_frames(spread: AggregateFunction) -> None:
    pair = (pa.int64(), pa.int64())
    line = Timeline.of([(4, MAX_WATERMARK)])
    make = partial(OverKernel, [AggregateCall(spread, 1)], 2, 0, FrameOf(1, judges_by_emitted=True))
    loop = ChunkLoop(make, Layout((), (pair,), (*pair, pa.int64())), line, Output(line))
    given = [Input(seq, 0, (seq, value)) for seq, value in ((1, 5), (2, 9), (3, 8))]
    run_key(loop, given, line, (), None)
    assert [row[-1] for row in loop.out.rows] == [0, 4, 1]


def test_its_state_is_told_in_words(spread: AggregateFunction) -> None:
    kernel = AggregateKernel([AggregateCall(spread, 1)], retracting=True)
    run(kernel, [Input(1, 0, ("a", 5)), Input(2, 0, ("a", 9)), Input(3, 0, ("a", 5))])
    kept, result = kernel.describe(Names(((Label("k"), Label("v")),), (Label("spread"),)))
    assert kept.rows == (("number of rows", 3), ("values and how often of v", {5: 2, 9: 1}))
    assert result.rows == ((4,),)


def test_the_planner_types_it_and_says_what_runs_it(spread: AggregateFunction) -> None:
    plan = plan_of("t -> a", t=rows("k string, v int"), a=("aggregate", {"aggregates": [of("SPREAD")]}))
    assert plan.node("a").schema.column("result").type == INT
    found = explanation(plan).node("a")
    assert found is not None
    assert found.state == "per group: SPREAD(v)"
    assert found.kernel == "record by record: SPREAD has no columnar kernel"


def test_a_wrong_argument_is_rejected_in_a_sentence(spread: AggregateFunction) -> None:
    with pytest.raises(PipelineError, match=r"SPREAD\(v\) needs a number, but it is STRING\."):
        plan_of("t -> a", t=rows("v string"), a=("aggregate", {"aggregates": [of("SPREAD")]}))


def test_it_is_read_from_flink_sql_and_written_to_it(spread: AggregateFunction) -> None:
    found = read("SELECT k, SPREAD(v) FILTER (WHERE v > 0) AS s FROM t GROUP BY k")
    assert lines(found)[0] == (
        'aggregate(t) group_by=["k"] aggregates=[{"filter": "v > 0", "function": "SPREAD", "argument": "v", '
        '"name": "s"}]'
    )
    plan = plan_of("t -> a", t=rows("k string, v int"), a=("aggregate", {"aggregates": [of("SPREAD")]}))
    written = plan.node("a").operator.flink_sql([("t", plan.node("t").schema)])
    assert written == "SELECT SPREAD(`v`) AS `result` FROM `t`"


@pytest.mark.slow
def test_it_comes_to_its_batch_answer(spread: AggregateFunction, spark: SparkSession) -> None:
    table = {
        "columns": columns("k string, g string, v int, rt bigint"),
        "rows": [["a", "x", 5, 1000], ["b", "x", 9, 2000], ["a", "x", 7, 12000], ["c", "y", None, 13000]],
        "event_time": "rt",
    }
    per_key = {"group_by": ["k", "g"], "aggregates": [{"function": "SUM", "argument": "v", "name": "v"}]}
    hops = {"kind": "hop", "size_ms": 10000, "slide_ms": 5000, "group_by": ["g"], "aggregates": [of("SPREAD")]}
    pipeline = pipeline_of(
        """
        t -> sums -> spreads -> out
        t -> hops -> fired
        t -> over -> rows
        """,
        t=("rows", table),
        sums=("aggregate", per_key),
        spreads=("aggregate", {"group_by": ["g"], "aggregates": [of("SPREAD")]}),
        hops=("window_aggregate", hops),
        over=("over_aggregate", {"partition_by": ["g"], "preceding_ms": 5000, "aggregates": [of("SPREAD")]}),
        out=("sink", {"mode": "changelog"}),
        fired=("sink", {}),
        rows=("sink", {}),
    )
    found = checked(pipeline, spark)
    assert not complaints(found)
    assert {node.node: node.same for node in found.sinks} == {"out": 2, "fired": 6, "rows": 4}


def test_what_cannot_be_taken_back_is_rejected_where_rows_are(bit_or: AggregateFunction) -> None:
    calls = {"aggregates": [of("BIT_OR")]}
    table = rows("v int, rt bigint", event_time="rt")
    plan_of("t -> a", t=table, a=("aggregate", calls))
    plan_of("t -> o", t=table, o=("over_aggregate", calls))
    with pytest.raises(PlanRejected, match="BIT_OR cannot retract a value, but t retracts rows"):
        plan_of("t -> a", t=rows("v int", changelog=True), a=("aggregate", calls))
    with pytest.raises(PlanRejected, match="BIT_OR cannot retract a value, but rows leave their frame again"):
        plan_of("t -> o", t=table, o=("over_aggregate", {"preceding_ms": 5, **calls}))


def test_what_cannot_be_merged_is_rejected_where_windows_are(
    bit_or: AggregateFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(bit_or), "can_merge", False)
    table = rows("v int, rt bigint", event_time="rt")
    plan_of("t -> w", t=table, w=("window_aggregate", {"size_ms": 5, "aggregates": [of("BIT_OR")]}))
    sessions = {"kind": "session", "gap_ms": 5, "aggregates": [of("BIT_OR")]}
    with pytest.raises(PlanRejected, match="BIT_OR cannot be merged across slices or sessions"):
        plan_of("t -> w", t=table, w=("window_aggregate", sessions))
