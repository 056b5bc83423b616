"""Joins FOR SYSTEM_TIME AS OF the left side's processing time: with the table's rows when a left row arrives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from engine.joins.sides import JoinKind
from engine.sql.algebra import Join, Relation, Scan, Select
from engine.sql.nodes.emitter import Emitted, Emitter
from engine.sql.nodes.join_sides import Condition, Side, pair_condition, pair_names, side
from engine.sql.rejected import SqlRejected


def lookup_join(
    emitter: Emitter, relation: Join, condition: Condition, left: Side, right_used: Sequence[str]
) -> Emitted:
    """The lookup join. Raises SqlRejected unless it is inner or left, has an equality and a table on its right side."""
    if relation.kind not in (JoinKind.INNER, JoinKind.LEFT):
        message = f"a lookup join is inner or left, not {relation.kind.value}. Use [LEFT] JOIN."
        raise SqlRejected(message, relation.at)
    if not condition.equal:
        message = "a lookup join needs a column of the table that equals one of the left side in ON: l.k = t.k."
        raise SqlRejected(message, relation.at)
    if not _is_table(relation.right):
        message = (
            "rows can be looked up in a table, or in a query that only picks and computes columns of one. Name the "
            "table after JOIN, and put other conditions into ON."
        )
        raise SqlRejected(message, relation.at)
    right = side(emitter, relation.right, right_used, [b for _, b in condition.equal], relation.at)
    names = pair_names(emitter, relation, left.emitted, right.emitted)
    parameters: dict[str, Any] = {"kind": relation.kind.value, "left_keys": left.keys, "right_keys": right.keys}
    if condition.rest:
        parameters["condition"] = pair_condition(emitter, left, right, names, condition.rest)
    node = emitter.add("lookup_join", parameters, [left.emitted.node, right.emitted.node], relation.at)
    found = Emitted(node, {name: names[name] for name in relation.columns if name in names})
    return replace(found, arrival=left.emitted.arrival)


def _is_table(relation: Relation) -> bool:
    """Whether a relation is a table, or a projection of one."""
    return isinstance(relation.input if isinstance(relation, Select) else relation, Scan)
