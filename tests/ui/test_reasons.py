"""The reason why a record was emitted, as text: per operator, from its kind and the records beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from engine.contract.explanation import ColumnExplanation, InputExplanation, NodeExplanation, PlanExplanation
from engine.model.changelog import RowKind
from engine.model.pipeline import Pipeline
from storage.model import CascadeRecord, Edge, EdgeColumn, Record
from ui.inspect.branches import branches, inputs_of
from ui.inspect.reasons import operators_of, reasons

NEEDED: dict[str, dict[str, Any]] = {
    "aggregate": {"group_by": ["k"], "aggregates": [{"function": "COUNT", "name": "n"}]},
    "topn": {"order_by": [{"column": "row"}], "rank_end": 2},
    "deduplicate": {"keys": ["k"]},
    "join": {"left_keys": ["k"], "right_keys": ["k"]},
    "over_aggregate": {"aggregates": [{"function": "COUNT"}]},
    "sort": {},
}


def edge(node: str, operator: str, names: Sequence[str], key: Sequence[str] = ()) -> Edge:
    columns = tuple(EdgeColumn(name, name, "bigint", "BIGINT") for name in names)
    role = "source" if operator == "rows" else "operator"
    return Edge(1, node, "out", operator, role, "[I,UB,UA,D]", node, columns, tuple(key), None)


def said(
    operator: str,
    names: Sequence[str],
    emitted: Sequence[tuple[str, tuple[Any, ...]]],
    *,
    key: Sequence[str] = (),
    inputs: Sequence[Sequence[str]] = (),
    **parameters: object,
) -> list[str]:
    """The reasons of the records that an operator emitted for one event."""
    pipeline = Pipeline.model_validate(
        {
            "nodes": [
                {"id": "given", "operator": "rows"},
                {"id": "op", "operator": operator, "parameters": NEEDED[operator] | parameters},
            ],
            "edges": [{"source": "given", "target": "op"}],
        }
    )
    cascade = [CascadeRecord(edge("given", "rows", ["x"]), Record(0, 1, b"", RowKind.INSERT, (1,)))]
    target = edge("op", operator, names, key)
    for at, (kind, values) in enumerate(emitted):
        cascade.append(CascadeRecord(target, Record(at, 1, bytes([at]), RowKind.of(kind), values)))
    above = [
        NodeExplanation(f"in {at}", schema=tuple(ColumnExplanation(name, "bigint") for name in columns))
        for at, columns in enumerate(inputs)
    ]
    given = tuple(InputExplanation(node.id, "any", "[I]") for node in above)
    plan = PlanExplanation((*above, NodeExplanation("op", operator, state="one row per key", inputs=given)))
    return reasons(branches(tuple(cascade), inputs_of(pipeline)), operators_of(pipeline), plan)[1:]


def test_a_result_that_moves_takes_its_old_value_back() -> None:
    changes = [("-U", (7, 1)), ("+U", (7, 2))]
    assert said("aggregate", ["k", "n"], changes, key=["k"]) == [
        "n 1 → 2: the old value is retracted",
        "n 1 → 2: the new value is emitted",
    ]


def test_a_group_that_empties_is_deleted_and_a_new_one_is_its_first_result() -> None:
    changes = [("-D", (7, 1)), ("+I", (8, 1))]
    assert said("aggregate", ["k", "n"], changes, key=["k"]) == [
        "no row of its key is left",
        "the first result of its key",
    ]


def test_an_update_of_nothing_is_called_that() -> None:
    assert said("aggregate", ["k", "n"], [("-U", (7, 1)), ("+U", (7, 1))], key=["k"])[0].startswith("nothing changed")


def test_ranks_shift_down_when_a_row_comes_in() -> None:
    changes = [("-U", ("b1", 1)), ("+U", ("b2", 1)), ("-U", ("b0", 2)), ("+U", ("b1", 2))]
    assert said("topn", ["row", "rank"], changes, key=["rank"], with_rank=True, rank_end=2) == [
        "rank 1 → 2: the incumbent moves down",
        "rank 1: a row enters",
        "rank 2: the row that was there falls past the last rank",
        "rank 1 → 2: the incumbent moves down",
    ]


def test_ranks_shift_up_when_a_row_goes() -> None:
    changes = [("-U", ("b2", 1)), ("+U", ("b1", 1)), ("-D", ("b1", 2))]
    assert said("topn", ["row", "rank"], changes, key=["rank"], with_rank=True, rank_end=2) == [
        "rank 1: the row that was there is gone",
        "rank 2 → 1: the row moves up",
        "rank 2 → 1: the row moves up",
    ]


def test_without_ranks_a_row_is_among_the_best_or_not() -> None:
    assert said("topn", ["row"], [("-D", ("b1",)), ("+I", ("b2",))], rank_end=3) == [
        "it is no longer among the best 3",
        "it is among the best 3 now",
    ]


def test_a_deduplication_says_which_row_it_keeps() -> None:
    changes = [("-U", (1, "a")), ("+U", (1, "b"))]
    assert said("deduplicate", ["k", "v"], changes, key=["k"], keep="last", order="event_time") == [
        "no longer the last row of its key by event time: it is retracted",
        "the last row of its key by event time now",
    ]


def test_a_padded_row_goes_before_its_first_partner_comes() -> None:
    changes = [("-D", (1, "a", None, None)), ("+I", (1, "a", 1, "b"))]
    inputs = [["k", "v"], ["k", "v"]]
    assert said("join", ["k", "v", "k0", "v0"], changes, inputs=inputs, kind="left") == [
        "the padded row is retracted: a partner has arrived",
        "two rows meet",
    ]
    assert said("join", ["k", "v", "k0", "v0"], changes, kind="left") == [
        "a joined row is retracted",
        "a joined row is added",
    ]


@pytest.mark.parametrize(
    ("kind", "values", "sentence"),
    [
        ("left", (None, 1, None, 1), "two rows meet"),
        ("full", (None, 1, None, 1), "two rows meet"),
        ("left", (None, 1, 7, None), "no partner: the row stands alone, padded with NULL"),
        ("right", (None, 1, None, 1), "two rows meet"),
        ("right", (7, None, None, 1), "no partner: the row stands alone, padded with NULL"),
    ],
)
def test_a_null_beside_the_keys_is_no_missing_partner(kind: str, values: tuple[Any, ...], sentence: str) -> None:
    inputs = [["v", "k"], ["v", "k"]]
    # The right key is in the last place, and the left one in the second; what is beside them may be NULL.
    assert said("join", ["v", "k", "v0", "k0"], [("+I", values)], inputs=inputs, kind=kind) == [sentence]


@pytest.mark.parametrize(
    ("kind", "values", "sentence"),
    [
        ("inner", (1, None), "two rows meet"),
        ("left", (1, 2), "two rows meet"),
        ("left", (1, None), "no partner: the row stands alone, padded with NULL"),
        ("right", (None, 2), "no partner: the row stands alone, padded with NULL"),
        ("right", (None, None), "no partner: the row stands alone, padded with NULL"),
        ("full", (1, 2), "two rows meet"),
        ("semi", (1,), "it has a partner"),
        ("anti", (1,), "it has no partner"),
    ],
)
def test_a_join_without_keys_is_padded_where_all_columns_of_a_side_are_null(
    kind: str, values: tuple[Any, ...], sentence: str
) -> None:
    names = ["a", "b"][: len(values)]
    keyless = {"kind": kind, "left_keys": [], "right_keys": [], "condition": "a < b"}
    assert said("join", names, [("+I", values)], inputs=[["a"], ["b"]], **keyless) == [sentence]


def test_a_null_in_any_of_several_keys_is_a_missing_partner() -> None:
    keys = {"left_keys": ["k", "l"], "right_keys": ["k", "l"]}
    for values, sentence in (
        ((1, 2, 1, 2), "two rows meet"),
        ((1, None, 1, None), "no partner: the row stands alone, padded with NULL"),
    ):
        given = said("join", ["k", "l", "k0", "l0"], [("+I", values)], inputs=[["k", "l"]] * 2, kind="full", **keys)
        assert given == [sentence]


@pytest.mark.parametrize(("kind", "comes"), [("semi", "it has a partner"), ("anti", "it has no partner")])
def test_semi_and_anti_joins_say_whether_there_is_a_partner(kind: str, comes: str) -> None:
    assert said("join", ["k"], [("+I", (1,))], kind=kind) == [comes]


def test_rows_that_wait_for_their_turn_say_so() -> None:
    assert said("sort", ["x"], [("+I", (1,))]) == ["the next row in the order of event time"]
    assert said("over_aggregate", ["x", "n"], [("+I", (1, 1))]) == ["the row, with its result over the rows before it"]


def test_a_stateless_operator_passes_on_and_an_unknown_one_has_results() -> None:
    (record,) = [Record(0, 1, b"0", RowKind.INSERT, (1,))]
    pipeline = Pipeline.model_validate({"nodes": [{"id": "op", "operator": "of another studio"}]})
    tree = branches((CascadeRecord(edge("op", "of another studio", ["x"]), record),), inputs_of(pipeline))
    assert reasons(tree, operators_of(pipeline), PlanExplanation()) == ["the first result of its key"]
    stateless = PlanExplanation((NodeExplanation("op", state="none"),))
    assert reasons(tree, operators_of(pipeline), stateless) == ["let through"]
