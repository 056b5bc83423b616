"""Where the planner puts a normaliser above a source of upserts, beyond what `plans.txt` shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.errors import PlanRejected
from engine.model.pipeline import Pipeline
from engine.planner import Plan, plan
from tests.engine.planning import KnownTypes, pipeline_of, plan_of, rows

UPSERTS = rows("k string, v bigint", changelog=True, primary_key=["k"], updates_by_key=True)
CHANGES = rows("k string, v bigint", changelog=True, primary_key=["k"])
TOTAL = ("aggregate", {"aggregates": [{"function": "SUM", "argument": "v", "name": "s"}]})
CHANGELOG = ("sink", {})
UPSERT = ("sink", {"mode": "upsert", "keys": ["k"]})


def planned(pipeline: Pipeline) -> Plan:
    return plan(pipeline, KnownTypes({"v > 10": "boolean"}), Path())


def operators_of(plan: Plan) -> list[str]:
    return [node.operator.operator for node in plan.nodes]


def test_a_reader_that_needs_what_was_replaced_gets_a_normaliser() -> None:
    found = plan_of("t -> total -> out", t=UPSERTS, total=TOTAL, out=CHANGELOG)
    assert operators_of(found) == ["rows", "changelog_normalize", "aggregate", "sink"]
    normaliser = found.node("t normalised")
    assert str(normaliser.mode) == "[I,UB,UA,D]"
    assert str(normaliser.inputs[0].mode) == "[I,UA,D]"
    assert normaliser.derived.upsert_keys == {frozenset({"k"})}


def test_the_ids_above_a_source_with_the_longest_id_are_no_longer() -> None:
    source = "t" * 100
    wide = rows("k string, v bigint, w bigint", changelog=True, updates_by_key=True, primary_key=["k"])
    found = plan_of(f"{source} -> total -> out", **{source: wide}, total=TOTAL, out=CHANGELOG)
    assert [node.id for node in found.nodes][1:3] == ["t" * 95 + " used", "t" * 89 + " normalised"]


def test_a_normaliser_is_called_like_no_other_node_in_any_case() -> None:
    nodes = {"t": UPSERTS, "total": TOTAL, "T Normalised": CHANGELOG}
    found = planned(pipeline_of("t -> total -> T Normalised", **nodes))
    assert [node.id for node in found.nodes] == ["t", "t normalised 2", "total", "T Normalised"]


def test_a_condition_above_the_source_becomes_the_normalisers_own() -> None:
    document = pipeline_of("t -> big -> out", t=UPSERTS, big=("filter", {"condition": "v > 10"}), out=UPSERT)
    found = planned(document)
    assert operators_of(found) == ["rows", "changelog_normalize", "sink"]
    assert found.node("big").strategy.state == "per key: its last row, of those where v > 10"


def test_columns_that_a_projection_or_an_aggregate_leaves_out_are_left_out_before_rows_are_compared() -> None:
    wide = rows("k string, v bigint, w bigint, x bigint", changelog=True, updates_by_key=True, primary_key=["k"])
    only_v = ("project", {"columns": [{"name": "v", "expression": "v"}]})
    found = plan_of("t -> p -> total -> out", t=wide, p=only_v, total=TOTAL, out=CHANGELOG)
    assert operators_of(found) == ["rows", "project", "changelog_normalize", "project", "aggregate", "sink"]
    assert found.node("t normalised").schema.names == ("k", "v")
    assert plan_of("t -> total -> out", t=wide, total=TOTAL, out=CHANGELOG).node("t used").schema.names == ("k", "v")
    big = ("filter", {"condition": "w > 10"})
    chain = pipeline_of("t -> big -> p -> total -> out", t=wide, big=big, p=only_v, total=TOTAL, out=CHANGELOG)
    filtered = plan(chain, KnownTypes({"w > 10": "boolean"}), Path())
    assert filtered.node("big").schema.names == ("k", "v", "w")


def test_columns_that_a_semi_join_does_not_compare_are_left_out_before_rows_are_compared() -> None:
    """Flink reads them through a projection: an update of others alone changes no partner."""
    wide = rows("k string, v bigint, w bigint, x bigint", changelog=True, updates_by_key=True, primary_key=["k"])
    compared = {"left_keys": ["v"], "right_keys": ["w"], "kind": "semi"}
    arrows, sides = "l -> j:left\nr -> j:right\nj -> out", {"l": rows("k string, v bigint"), "r": wide}
    found = plan_of(arrows, j=("join", compared), out=CHANGELOG, **sides)
    assert found.node("r normalised").schema.names == ("k", "w")
    other = ("join", {**compared, "kind": "anti", "condition": "x > 10 AND v < 5"})
    known = KnownTypes({"x > 10 AND v < 5": "boolean"})
    anti = plan(pipeline_of(arrows, j=other, out=CHANGELOG, **sides), known, Path())
    assert anti.node("r normalised").schema.names == ("k", "w", "x")
    inner = plan_of(arrows, j=("join", {**compared, "kind": "inner"}), out=CHANGELOG, **sides)
    assert inner.node("r normalised").schema.names == ("k", "v", "w", "x")


def test_readers_of_different_columns_share_whole_rows_but_above_a_watermark_each_has_its_own() -> None:
    def normalisers(**more: Any) -> dict[str, tuple[str, ...]]:
        ddl = "k string, v bigint, w bigint, at timestamp"
        wide = rows(ddl, changelog=True, updates_by_key=True, primary_key=["k"], **more)
        nodes = {name: ("project", {"columns": [{"name": "x", "expression": name}]}) for name in ("v", "w")}
        found = plan_of("t -> v -> both -> out\nt -> w -> both", t=wide, both=("union", {}), out=CHANGELOG, **nodes)
        return {node.id: node.schema.names for node in found.nodes if node.operator.operator == "changelog_normalize"}

    assert normalisers() == {"t normalised": ("k", "v", "w", "at")}
    apart = normalisers(event_time="at", watermark_delay_ms=0)
    assert apart == {"t normalised": ("k", "v"), "t normalised 2": ("k", "w")}


def test_a_changelog_that_may_repeat_is_normalised_whoever_reads_it() -> None:
    options = {"table.exec.source.cdc-events-duplicate": "true"}
    document = pipeline_of("t -> out", t=CHANGES, out=UPSERT).model_dump() | {"options": options}
    found = planned(Pipeline.from_dict(document))
    assert operators_of(found) == ["rows", "changelog_normalize", "sink"]


def test_upserts_without_a_key_are_refused() -> None:
    keyless = rows("k string, v bigint", changelog=True, updates_by_key=True)
    with pytest.raises(PlanRejected, match=r"t: an upsert source needs a primary key"):
        plan_of("t -> total -> out", t=keyless, total=TOTAL, out=CHANGELOG)
