"""UNNEST as an operator: columns, changelog, SQL, rejections. Flink's cases test its rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.errors import StudioError
from engine.planner import NodePlan, plan
from tests.engine.planning import KnownTypes, pipeline_of, plan_of, rows, sql_of


def unnested(source: tuple[str, dict[str, Any]], **parameters: Any) -> NodePlan:
    return plan_of("t -> each -> out", t=source, each=("unnest", parameters), out=("sink", {})).node("each")


def test_the_element_and_its_position_come_behind_the_columns() -> None:
    made = unnested(rows("k string, a array<int>"), collection="a", names=["x"], position="at", keeps_empty=True)
    assert [(column.name, str(column.type)) for column in made.schema][2:] == [("x", "int"), ("at", "int")]
    assert str(made.mode) == "[I]"
    assert sql_of(made) == (
        "SELECT t.`k`, t.`a`, u.`x`, u.`at`\nFROM `t` AS t\n"
        "LEFT JOIN UNNEST(`a`) WITH ORDINALITY AS u (`x`, `at`) ON TRUE"
    )


def test_of_updates_the_old_elements_are_taken_back_and_nothing_is_a_key() -> None:
    source = rows("k string, m map<string/int>", changelog=True, primary_key=["k"])
    source[1]["columns"][1]["type"] = "map<string,int>"
    made = unnested(source, collection="m", names=["x", "y"], elements="entries")
    assert [str(column.type) for column in made.schema][2:] == ["string", "int"]
    assert str(made.mode) == "[I,UB,UA,D]"
    assert made.derived.upsert_keys == frozenset()
    assert unnested(source, collection="m", names=["x"], elements="copies").schema.names == ("k", "m", "x")


def test_the_fields_of_rows_become_columns() -> None:
    source = rows("k string, a array<string>")
    source[1]["columns"][1]["type"] = "ARRAY<ROW<id INT, name STRING>>"
    made = unnested(source, collection="a", names=["i", "n"], fields=["id", "name"])
    assert [(column.name, str(column.type)) for column in made.schema][2:] == [("i", "int"), ("n", "string")]
    with pytest.raises(StudioError, match="fields: unknown field 'nam'"):
        unnested(source, collection="a", names=["n"], fields=["nam"])


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"collection": "k", "names": ["x"]}, "collection: k is of type STRING, but unnesting values needs an array."),
        (
            {"collection": "a", "names": ["x", "y"]},
            "names: an element of ARRAY<INT> has 1 column, but the names are: x, y.",
        ),
        ({"collection": "a", "names": ["K"]}, "names: two columns are called 'K'. Give the element another name."),
        ({"collection": "a", "names": ["x"], "elements": "copies"}, "unnesting copies needs a map of counts."),
    ],
)
def test_what_has_no_elements_is_refused(parameters: dict[str, Any], sentence: str) -> None:
    pipeline = pipeline_of("t -> each", t=rows("k string, a array<int>"), each=("unnest", parameters))
    with pytest.raises(StudioError) as caught:
        plan(pipeline, KnownTypes(), Path())
    assert sentence in str(caught.value)
