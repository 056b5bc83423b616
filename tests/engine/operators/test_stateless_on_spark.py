"""Filter, project, union and sink on Spark: Flink's cases, and Spark's errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from engine.errors import ExpressionError
from engine.model.pipeline import Pipeline
from tests.engine.planning import columns, pipeline_of
from tests.golden.trace import plan_of, run_pipeline

CHANGES = (
    "rows",
    {
        "columns": columns("k string, v bigint"),
        "changelog": True,
        "primary_key": ["k"],
        "rows": [
            ["+I", "a", 1],
            ["+I", "b", 20],
            ["-U", "a", 1],
            ["+U", "a", 30],
            ["-U", "b", 20],
            ["+U", "b", 2],
            ["-U", "a", 30],
            ["+U", "a", 40],
            ["-D", "b", 2],
            ["-D", "a", 40],
        ],
    },
)

CALC_FILTER_CHANGELOG = ["+I(b, 40)", "+U(a, 60)", "-U(b, 40)", "-U(a, 60)", "+U(a, 80)", "-D(a, 80)"]
DROP_UPDATE_BEFORE = [
    "+I(a, 1)",
    "+I(b, 20)",
    "+U(a, 30)",
    "+U(b, 2)",
    "+U(a, 40)",
    "-D(b, 2)",
    "-D(a, 40)",
]


def computed(**expressions: str) -> tuple[str, dict[str, list[dict[str, str]]]]:
    return ("project", {"columns": [{"name": name, "expression": text} for name, text in expressions.items()]})


def test_kinds_pass_filters_and_sinks_as_in_flink(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = pipeline_of(
        """
        t -> big -> twice -> out
        t -> latest
        t -> both -> all
        twice -> both
        """,
        t=CHANGES,
        big=("filter", {"condition": "v > 10"}),
        twice=computed(k="k", v="v * 2"),
        out=("sink", {"mode": "upsert"}),
        latest=("sink", {"mode": "upsert"}),
        both=("union", {}),
        all=("sink", {"mode": "changelog"}),
    )
    found = run_pipeline(pipeline, spark, tmp_path, tmp_path / "run", epochs=2, partitions=2)
    assert found.changelog("twice") == CALC_FILTER_CHANGELOG
    # Without its -U, the row of b would stay in the sink's table for ever.
    assert found.changelog("out") == CALC_FILTER_CHANGELOG
    # The case sink_upsert_drop_update_before: every -U has a +U.
    assert found.changelog("latest") == DROP_UPDATE_BEFORE
    of_event_four = [(one.seq, one.step.hex(), *one.row) for one in found.records["all"] if one.seq == 4]
    assert of_event_four == [(4, "0000", "a", 30), (4, "00000100", "a", 60)]


def checked(pipeline: Pipeline, spark: SparkSession) -> None:
    plan_of(pipeline, spark, Path())


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        (("filter", {"condition": "v >"}), "x: condition: 'v >' cannot be used: .*"),
        (("filter", {"condition": "w > 1"}), "x: condition: .*unknown column 'w'. Available: k, v"),
        (
            ("filter", {"condition": "v + 1"}),
            "x: condition: .* it is of type BIGINT, but a condition must be true or false",
        ),
        (("filter", {"condition": "rand() > 0.5"}), r"x: condition: .* rand\(\) gives another result each time"),
        (computed(n="sum(v)"), r"x: columns\.0\.expression: 'sum\(v\)' cannot be used: .*"),
        (computed(n="make_dt_interval(1)"), r"x: columns\.0\.expression: .* is not supported. Available: "),
    ],
    ids=[
        "half a condition",
        "an unknown column",
        "no boolean",
        "another result each time",
        "an aggregate",
        "a length of time",
    ],
)
def test_an_expression_is_checked_before_the_run(step: tuple[str, dict], sentence: str, spark: SparkSession) -> None:
    with pytest.raises(ExpressionError, match=sentence):
        checked(pipeline_of("t -> x", t=CHANGES, x=step), spark)
