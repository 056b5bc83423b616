"""Rows as changes and changes as rows: kinds from a column, and kinds in a column."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from engine.errors import StudioError
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from engine.operators.from_changelog import FromChangelogKernel
from engine.operators.to_changelog import ToChangelogKernel
from engine.planner import plan
from tests.engine.cases import Case, check_cases
from tests.engine.planning import KnownTypes, pipeline_of, plan_of, rows

KINDS = {"c": INSERT, "r": INSERT, "ub": UPDATE_BEFORE, "ua": UPDATE_AFTER, "d": DELETE}
CHANGES = rows("k string, v bigint", changelog=True, primary_key=["k"])

test_cases = check_cases(
    [
        Case(
            "a row has the kind that its column tells",
            """
                seq  kind  k  op
                1    +I    a  c
                2    +I    b  r
                3    +I    a  ub
                4    +I    a  ua
                5    +I    b  d
            """,
            """
                seq  kind  k
                1    +I    a
                2    +I    b
                3    -U    a
                4    +U    a
                5    -D    b
            """,
            kernel=partial(FromChangelogKernel, KINDS),
            key=("k",),
            leaves_state=False,
        ),
        Case(
            "a change is an inserted row, unless its kind has no text",
            """
                seq  kind  k
                1    +I    a
                2    -U    a
                2    +U    b
                3    -D    b
            """,
            """
                seq  kind  op     k
                1    +I    put    a
                2    +I    put    b
                3    +I    gone   b
            """,
            kernel=partial(ToChangelogKernel, {INSERT: "put", UPDATE_AFTER: "put", DELETE: "gone"}),
            key=("k",),
            leaves_state=False,
        ),
    ]
)


def test_rows_as_changes_have_every_kind_and_no_key_and_changes_as_rows_are_inserted() -> None:
    made = plan_of(
        "t -> told -> counts -> out\nt2 -> changes -> all",
        t=rows("op string, k string"),
        told=("from_changelog", {"op": "op", "inserts": "c, r"}),
        counts=("to_changelog", {}),
        out=("sink", {"mode": "append"}),
        t2=CHANGES,
        changes=("to_changelog", {"op": "kind", "updates_before": ""}),
        all=("sink", {"mode": "append"}),
    )
    told, changes = made.node("told"), made.node("changes")
    assert (told.schema.names, str(told.mode)) == (("k",), "[I,UB,UA,D]")
    assert (changes.schema.names, str(changes.mode)) == (("kind", "k", "v"), "[I]")
    assert made.node("counts").schema.names == ("op", "k")
    assert told.operator.flink_sql([("t", made.node("t").schema)]) == (
        "SELECT * FROM FROM_CHANGELOG(input => (SELECT * FROM `t`), op => DESCRIPTOR(`op`), op_mapping => "
        "MAP['c, r', 'INSERT', 'UPDATE_BEFORE', 'UPDATE_BEFORE', 'UPDATE_AFTER', 'UPDATE_AFTER', 'DELETE', 'DELETE'])"
    )
    assert changes.operator.flink_sql([("t2", made.node("t2").schema)]) == (
        "SELECT * FROM TO_CHANGELOG(input => TABLE `t2`, op => DESCRIPTOR(`kind`), op_mapping => "
        "MAP['INSERT', 'INSERT', 'UPDATE_AFTER', 'UPDATE_AFTER', 'DELETE', 'DELETE'])"
    )


@pytest.mark.parametrize(
    ("source", "operator", "parameters", "sentence"),
    [
        (rows("op bigint, k string"), "from_changelog", {"op": "op"}, "op: op is of type BIGINT, but the texts of"),
        (rows("op string"), "from_changelog", {"op": "op"}, "op: op is the only column, so nothing would be left"),
        (CHANGES, "from_changelog", {"op": "k"}, "reading rows as changes needs an insert-only input, but t emits"),
        (
            rows("op string, k string"),
            "from_changelog",
            {"op": "op", "updates_before": ""},
            "updates_before: a row after an update needs the row before it. Give -U a text, or none to +U.",
        ),
        (rows("k string"), "to_changelog", {"op": "K"}, "op: two output columns are called 'k'. Give one of them"),
    ],
)
def test_what_has_no_changes_is_refused(source: Any, operator: str, parameters: dict[str, str], sentence: str) -> None:
    pipeline = pipeline_of("t -> made", t=source, made=(operator, parameters))
    with pytest.raises(StudioError) as caught:
        plan(pipeline, KnownTypes(), Path())
    assert sentence in str(caught.value)


def test_a_text_that_stands_for_no_kind_is_told() -> None:
    for text, sentence in (("x", "'x' stands for no kind of change; known are c, r"), (None, "a row has no kind")):
        with pytest.raises(ValueError, match=sentence):
            FromChangelogKernel(KINDS).on_record(INSERT, ("a", text), None)  # type: ignore[arg-type]
