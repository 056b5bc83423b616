"""Fields of ROW columns, chosen like columns."""

from __future__ import annotations

from typing import Any

from engine.expressions.flink_sql import flink, flink_in
from engine.model.pipeline import Edge, Node, Pipeline
from engine.model.schema import Column, Schema
from engine.model.type_texts import type_from
from ui.builder.checking import checked
from ui.builder.nested_fields import as_expression, nested_fields, with_column_of


def rows(name: str) -> Node:
    columns = [{"name": "id", "type": "BIGINT"}, {"name": "by", "type": "ROW<id STRING, geo ROW<`a b` DOUBLE>>"}]
    return Node(id=name, operator="rows", parameters={"columns": columns, "rows": [[1, {"id": "x"}]]})


def pipeline(nodes: list[Node], *edges: str) -> Pipeline:
    pairs = [each.split(">") for each in edges]
    return Pipeline(nodes=tuple(nodes), edges=tuple(Edge(source=a, target=b) for a, b in pairs))


def computed(document: Pipeline, node: str, parameter: str) -> list[Any]:
    return [
        (each["name"], flink_in(each["expression"]) or each["expression"])
        for each in document.node(node).parameters[parameter]
    ]


def test_fields_are_listed_by_their_paths_at_any_depth() -> None:
    schema = Schema(
        (Column("k", type_from("BIGINT")), Column("by", type_from("ROW<id STRING, geo ROW<`a b` DOUBLE>>")))
    )
    assert list(nested_fields(schema)) == ["`by`.id", "`by`.geo", "`by`.geo.`a b`"]
    assert nested_fields(None) == {}


def test_a_field_gets_its_own_name_or_that_of_its_path_if_a_column_has_it() -> None:
    schema = Schema((Column("id", type_from("BIGINT")),))
    assert as_expression("customer.city", schema) == {"name": "city", "expression": flink("customer.city")}
    assert as_expression("customer.ID", schema)["name"] == "customer_ID"
    assert as_expression("customer.`a b`", schema)["name"] == "a b"


def test_a_field_of_a_source_becomes_its_computed_column_once() -> None:
    keyed = Node(id="last", operator="deduplicate", parameters={"keys": ["id"], "keep": "last", "order": "arrival"})
    document = pipeline([rows("a"), keyed], "a>last")
    once, name = with_column_of(document, "last", None, "`by`.id")
    assert (name, computed(once, "a", "computed")) == ("by_id", [("by_id", "`by`.id")])
    assert with_column_of(once, "last", None, "`by`.id") == (once, "by_id")
    assert not checked(once).problems


def test_where_a_union_minds_a_project_computes_the_field() -> None:
    keyed = Node(id="last", operator="deduplicate", parameters={"keys": ["id"], "keep": "last", "order": "arrival"})
    both = Node(id="both", operator="union")
    document = pipeline([rows("a"), rows("b"), both, keyed], "a>both", "b>both", "a>last")
    grown, name = with_column_of(document, "last", "in", "`by`.geo.`a b`")
    assert computed(grown, "a_fields", "columns") == [
        ("id", "id"),
        ("by", "`by`"),
        ("a b", "`by`.geo.`a b`"),
    ]
    assert {(each.source, each.target) for each in grown.edges} >= {
        ("a", "a_fields"),
        ("a_fields", "last"),
        ("a", "both"),
    }
    assert name == "a b"
    # A second field of the same ROW goes to the same Project.
    again, _ = with_column_of(grown, "last", "in", "`by`.id")
    assert computed(again, "a_fields", "columns")[3] == ("by_id", "`by`.id")
    assert not checked(again).problems
