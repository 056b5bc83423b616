"""A function in Python as an operator: columns, rejections, SQL, and the same changelog for every executor."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from engine.batch_check.check import check
from engine.errors import PipelineError, RunFailed, StudioError
from engine.local.preview import first_records
from engine.model.changelog import SYMBOLS
from engine.model.types import DATE, INT, STRING
from engine.planner import NodePlan, plan
from engine.python_functions.consent import ALL, ENVIRONMENT
from engine.running import finished
from engine.runtime.in_process import in_process
from tests.engine.planning import KnownTypes, columns, pipeline_of, plan_of, rows, sql_of
from tests.golden.trace import plan_of as plan_on_spark

CODE = "def f(k, v=0):\n    return None if v is None else v * 10\n"


def called(source: tuple[str, dict[str, Any]], **parameters: Any) -> NodePlan:
    parameters = {"code": CODE, "arguments": [{"expression": "k"}], "type": "BIGINT", **parameters}
    return plan_of("t -> call -> out", t=source, call=("python_function", parameters), out=("sink", {})).node("call")


def test_the_results_come_behind_the_columns_and_keys_stay() -> None:
    made = called(rows("k string, v bigint", changelog=True, primary_key=["k"]), name="n")
    assert [(column.name, str(column.type)) for column in made.schema] == [
        ("k", "string"),
        ("v", "bigint"),
        ("n", "bigint"),
    ]
    assert made.derived.upsert_keys == frozenset({frozenset({"k"})})
    assert sql_of(made) == "SELECT `k`, `v`, `f`(k) AS `n` FROM `t`"
    assert str(made.mode) == "[I,UB,UA,D]"


def test_the_code_may_say_the_type_and_the_last_function_is_called() -> None:
    code = "@udf(result_type='INT')\ndef f(a): ...\n@udf(result_type='DATE')\ndef g(a): ..."
    assert called(rows("k string"), code=code, type="").schema.column("result").type == DATE
    assert called(rows("k string"), code=code, type="", function="f").schema.column("result").type == INT
    assert called(rows("k string"), code=code, type="STRING").schema.column("result").type == STRING


@pytest.mark.parametrize(
    ("parameters", "sentence", "field"),
    [
        ({"code": "def f(:"}, "code: line 1: it is no Python: invalid syntax.", "code"),
        ({"code": "x = 1"}, "code: it defines no function. Write def f(a): return a.", "code"),
        ({"function": "g"}, "function: unknown function 'g'. Available: f.", "function"),
        ({"type": ""}, "type: the result type of f is not declared. Choose a type, such as STRING.", "type"),
        ({"type": "WORD"}, "type: unknown type 'WORD'.", "type"),
        ({"name": "K"}, "name: the input has a column 'K' already. Give the results another name.", "name"),
        ({"arguments": []}, "arguments: the function f takes 1 to 2, but 0 are given.", "arguments"),
        (
            {"code": "def f(a, *b): ...", "arguments": []},
            "arguments: the function f takes 1 or more, but 0 are given.",
            "arguments",
        ),
        ({"code": "def f(): ..."}, "arguments: the function f takes 0, but 1 are given.", "arguments"),
        ({"arguments": [{"expression": "x"}]}, "arguments.0.expression: 'x' cannot be used", "arguments.0.expression"),
    ],
)
def test_what_cannot_be_called_is_refused(parameters: dict[str, Any], sentence: str, field: str) -> None:
    whole = {"code": CODE, "arguments": [{"expression": "k"}], "type": "BIGINT", **parameters}
    pipeline = pipeline_of("t -> call", t=rows("k string"), call=("python_function", whole))
    with pytest.raises(PipelineError) as refused:
        plan(pipeline, KnownTypes(), Path())
    assert refused.value.sentence.startswith(sentence)
    assert (refused.value.node, refused.value.field) == ("call", field)


CHANGES = [
    *(["+I", "a", 1], ["+I", "b", None], ["-U", "a", 1], ["+U", "a", 3], ["+I", "c.d", 4], ["-D", "b", None]),
    *(["+I", "b", 5], ["-U", "a", 3], ["+U", "a", 6]),
]
EMITTED = [
    *(("+I", 10), ("+I", None), ("-U", 10), ("+U", 30), ("+I", 40), ("-D", None), ("+I", 50), ("-U", 30), ("+U", 60)),
]


@pytest.mark.parametrize("second", ["v", "CAST(CAST(v AS STRING) AS BIGINT) + size(array(1)) - 1"])
def test_every_record_keeps_its_kind_in_arrow_in_spark_and_in_a_look(
    second: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENVIRONMENT, ALL)
    source = {"columns": columns("k string, v bigint"), "changelog": True, "primary_key": ["k"], "rows": CHANGES}
    source["columns"][0]["name"] = "k.`y"
    source["primary_key"] = ["k.`y"]
    function = {"code": CODE, "arguments": [{"expression": "`k.``y`"}, {"expression": second}], "type": "BIGINT"}
    pipeline = pipeline_of("t -> call -> out", t=("rows", source), call=("python_function", function), out=("sink", {}))
    planned = plan_on_spark(pipeline, spark, tmp_path)
    for epochs in (1, 3):
        # Once in workers, and once cut.
        with in_process() if epochs > 1 else nullcontext(), finished(pipeline, spark, tmp_path, epochs) as job:
            found = [(row["kind"], row["result"]) for row in job.changelog("out").collect()]
            assert found == EMITTED
            assert check(planned, spark, job.output.recorded(planned)).is_equal
    looked = first_records(planned, "out", lambda: spark, tmp_path).records
    assert [(SYMBOLS[record.kind], record.row[-1]) for record in looked] == EMITTED


def test_what_it_raises_names_the_node_the_values_and_the_line(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENVIRONMENT, ALL)
    source = ("rows", {"columns": columns("k string, v bigint"), "rows": [["a", 1], ["b", None]]})
    code = "def f(v):\n    return v + 1\n"
    function = ("python_function", {"code": code, "arguments": [{"expression": "v"}], "type": "BIGINT"})
    pipeline = pipeline_of(
        "t -> kept -> call -> out", t=source, kept=("filter", {"condition": "k <> ''"}), call=function, out=("sink", {})
    )
    sentence = r"call: .*f\(None\) failed: TypeError: unsupported operand .* \(line 2 of its code\)"
    with pytest.raises(RunFailed, match=sentence), finished(pipeline, spark, folder=tmp_path):
        pass
    with pytest.raises(StudioError, match=r"f\(None\) failed: TypeError"):
        first_records(plan_on_spark(pipeline, spark, tmp_path), "out", lambda: spark, tmp_path)
