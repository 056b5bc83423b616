"""Joins FOR SYSTEM_TIME AS OF the left side's processing time: with the table's rows when a left row arrives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.sql.algebra import Join, Relation, Scan, Select
from engine.sql.nodes.emitter import Emitted, Emitter
from engine.sql.nodes.join_sides import Condition, Side, check_system_time_join, join_node, side
from engine.sql.rejected import SqlRejected


def lookup_join(
    emitter: Emitter, relation: Join, condition: Condition, left: Side, right_used: Sequence[str]
) -> Emitted:
    """The lookup join. Raises SqlRejected unless it is inner or left, has an equality and a table on its right side."""
    check_system_time_join(
        relation, condition, "lookup join", "a column of the table that equals one of the left side in ON: l.k = t.k."
    )
    if not _is_table(relation.right):
        message = (
            "rows can be looked up in a table, or in a query that only picks and computes columns of one. Name the "
            "table after JOIN, and put other conditions into ON."
        )
        raise SqlRejected(message, relation.at)
    right = side(emitter, relation.right, right_used, [b for _, b in condition.equal], relation.at)
    joined = join_node(emitter, "lookup_join", relation, (left, right), condition.rest)
    return replace(joined, arrival=left.emitted.arrival)


def _is_table(relation: Relation) -> bool:
    """Whether a relation is a table, or a projection of one."""
    return isinstance(relation.input if isinstance(relation, Select) else relation, Scan)
