"""Aggregate functions in Python in operators: columns, rejections, SQL, consent, and the same result in a batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from engine.batch_check.check import check
from engine.errors import PipelineError, StudioError
from engine.operators.aggregate import GroupAggregate
from engine.planner import NodePlan, plan
from engine.python_functions.consent import ALL, ENVIRONMENT, CodeNotAllowed, require_consent
from engine.running import finished
from tests.engine.planning import KnownTypes, columns, pipeline_of, plan_of, rows, sql_of
from tests.golden.trace import plan_of as plan_on_spark

CODE = """
class Total:
    def create_accumulator(self):
        return [0]
    def accumulate(self, acc, value, times=1):
        acc[0] += (value or 0) * times
    def retract(self, acc, value, times=1):
        acc[0] -= (value or 0) * times
    def get_value(self, acc):
        return acc[0]
    def get_result_type(self):
        return "BIGINT"
"""
CALL = {"function": "Total", "argument": "v", "name": "n"}
APPENDS = CODE.replace("def retract", "def other")


def planned(operator: str = "aggregate", source: Any = None, **parameters: Any) -> NodePlan:
    parameters = {"group_by": ["k"], "code": CODE, "aggregates": [CALL], **parameters}
    source = source or rows("k string, v bigint")
    types = {"v + 1": "bigint", "v > 1": "boolean"}
    return plan_of("t -> node -> out", types, t=source, node=(operator, parameters), out=("sink", {})).node("node")


def test_its_result_is_a_column_of_the_type_that_its_code_says() -> None:
    made = planned(aggregates=[CALL, {"function": "COUNT", "name": "many"}])
    assert [(one.name, str(one.type), one.nullable) for one in made.schema][1:] == [
        ("n", "bigint", True),
        ("many", "bigint", False),
    ]
    operator = made.operator
    assert isinstance(operator, GroupAggregate)
    again = GroupAggregate.model_validate(operator.model_dump(mode="json"))
    assert again == operator
    assert again.foreign_code == CODE
    assert GroupAggregate.model_validate({"group_by": ["k"], "code": CODE}).foreign_code == ""


def test_a_name_that_neither_its_code_nor_flink_has_is_told_with_those_that_there_are() -> None:
    with pytest.raises(PipelineError, match=r"'Totals'. Did you mean Total\? Available: Total, COUNT, SUM, ") as caught:
        planned(aggregates=[{**CALL, "function": "Totals"}])
    assert caught.value.field == "aggregates.0.function"


def test_it_is_written_as_flink_has_it() -> None:
    more = {**CALL, "others": [{"expression": "v + 1"}], "filter": "v > 1", "distinct": True}
    made = planned(aggregates=[more])
    sql = sql_of(made)
    assert sql == "SELECT `k`, `Total`(DISTINCT `v`, v + 1) FILTER (WHERE v > 1) AS `n` FROM `t` GROUP BY `k`"
    timed = rows("k string, v bigint, ts timestamp", event_time="ts")
    windows = {"kind": "hop", "size_ms": 10_000, "slide_ms": 5_000}
    made = planned("window_aggregate", timed, code=CODE + "    def merge(self, acc, others): ...\n", **windows)
    window = "`ts`, INTERVAL '5' SECOND, INTERVAL '10' SECOND"
    assert sql_of(made) == (
        f"SELECT `k`, HOP_START({window}) AS window_start, HOP_END({window}) AS window_end, `Total`(`v`) AS `n`\n"
        f"FROM `t`\nGROUP BY `k`, HOP({window})"
    )


@pytest.mark.parametrize(
    ("parameters", "sentence", "field"),
    [
        ({"code": "class Total(:"}, "code: line 1: it is no Python: ", "code"),
        ({"code": "x = 1"}, "code: it defines no aggregate function. Write class F(AggregateFunction)", "code"),
        ({"code": CODE.replace("Total", "SUM")}, "code: line 2: there is an aggregate function SUM already.", "code"),
        (
            {"code": CODE.replace("get_result", "x")},
            "code: the result type of Total is not declared. Write udaf(",
            "code",
        ),
        (
            {"aggregates": [{"function": "Total", "name": "n"}]},
            "aggregates.0: the function Total takes 1 to 2 arguments, but 0 are given.",
            "aggregates.0.argument",
        ),
        (
            {"aggregates": [{**CALL, "function": "SUM", "others": [{"expression": "v"}]}]},
            "aggregates.0: SUM takes one argument. Leave the others out.",
            "aggregates.0.others",
        ),
    ],
)
def test_what_cannot_be_called_is_refused(parameters: dict[str, Any], sentence: str, field: str) -> None:
    whole = {"group_by": ["k"], "code": CODE, "aggregates": [CALL], **parameters}
    pipeline = pipeline_of("t -> node", t=rows("k string, v bigint"), node=("aggregate", whole))
    with pytest.raises(PipelineError) as refused:
        plan(pipeline, KnownTypes(), Path())
    assert refused.value.sentence.startswith(sentence)
    assert (refused.value.node, refused.value.field) == ("node", field)


def test_rows_are_taken_back_and_windows_merged_only_where_there_is_a_method_for_it() -> None:
    assert planned(code=APPENDS).strategy.name == "without retraction"
    changelog = rows("k string, v bigint", changelog=True, primary_key=["k"])
    with pytest.raises(StudioError, match="Total cannot retract a value, but t retracts rows. Write its method"):
        planned(source=changelog, code=APPENDS)
    timed = rows("k string, v bigint, ts timestamp", event_time="ts")
    windows = {"kind": "hop", "size_ms": 10_000, "slide_ms": 5_000}
    with pytest.raises(StudioError, match="Total cannot be merged across .* Use tumbling windows, or write its method"):
        planned("window_aggregate", timed, **windows)
    with pytest.raises(StudioError, match="Flink calls functions in Python in tumbling, hopping and session windows"):
        planned("window_aggregate", timed, kind="cumulate", size_ms=10_000, step_ms=5_000)


def test_it_does_not_run_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    made = planned()
    with pytest.raises(CodeNotAllowed, match="its code in Python can do whatever the studio can"):
        require_consent([(made.id, made.operator)])


def test_spark_gives_the_same_in_a_batch(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT, ALL)
    changes = [["+I", "a", 1], ["+I", "b", None], ["-U", "a", 1], ["+U", "a", 3], ["+I", "a", 4], ["-D", "b", None]]
    source = {"columns": columns("k string, v bigint"), "changelog": True, "rows": changes}
    calls = [CALL, {**CALL, "name": "m", "others": [{"expression": "v"}], "distinct": True, "filter": "v < 4"}]
    node = ("aggregate", {"group_by": ["k"], "code": CODE, "aggregates": calls})
    pipeline = pipeline_of("t -> node -> out", t=("rows", source), node=node, out=("sink", {}))
    made = plan_on_spark(pipeline, spark, tmp_path)
    with finished(pipeline, spark, folder=tmp_path, epochs=3) as job:
        found = [(row["kind"], row["k"], row["n"], row["m"]) for row in job.changelog("out").collect()]
        assert found[-3:] == [("-U", "a", 3, 9), ("+U", "a", 7, 9), ("-D", "b", 0, 0)]
        assert check(made, spark, job.output.recorded(made)).is_equal
