"""Queries and their pipelines, from `pipelines.txt`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.sql.queries import lines, read

PAIRS = [block.strip().partition("\n") for block in (Path(__file__).parent / "pipelines.txt").read_text().split("\n\n")]


@pytest.mark.parametrize(("title", "pair"), [(title.removeprefix("# "), pair) for title, _, pair in PAIRS])
def test_a_query_is_read_into_its_pipeline(title: str, pair: str) -> None:
    sql, _, expected = pair.partition("\n=>\n")
    assert lines(read(sql)) == expected.splitlines(), title


def test_tables_that_the_query_does_not_name_are_left_out() -> None:
    assert [node.id for node in read("SELECT k FROM u").nodes] == ["u", "project", "sink"]


def test_a_view_is_read_where_it_is_named_and_sees_the_views_before_it() -> None:
    views = {"a": "SELECT k, v FROM t WHERE v > 1", "b": "SELECT k FROM a"}
    found = lines(read("SELECT COUNT(*) AS n FROM b", views=views))
    assert found[0] == 'filter(t) condition="v > 1"'


def test_the_sink_and_the_options_are_those_asked_for() -> None:
    options = {"table.exec.mini-batch.enabled": "true"}
    sql = "SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY rt ASC) AS rn FROM t) WHERE rn = 1"
    found = read(sql, sink={"mode": "upsert", "keys": ["k"]}, options=options)
    assert found.options == options
    assert found.nodes[-1].parameters == {"mode": "upsert", "keys": ["k"]}
    (deduplicate,) = (node for node in found.nodes if node.operator == "deduplicate")
    assert deduplicate.parameters["first_row"] == "at_once"
