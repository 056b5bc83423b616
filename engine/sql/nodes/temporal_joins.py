"""Joins FOR SYSTEM_TIME AS OF a time of the left side, with the version that is valid at its event time or arrival."""

from __future__ import annotations

from engine.sql.algebra import Expr, Join, plain
from engine.sql.nodes.emitter import Emitted, Emitter
from engine.sql.nodes.join_sides import Condition, Side, check_system_time_join, join_node, own_columns, side
from engine.sql.nodes.lookup_joins import lookup_join
from engine.sql.nodes.processing_time import is_processing_time
from engine.sql.nodes.time_bounds import event_times, only_event_time
from engine.sql.rejected import SqlRejected


def temporal_join(emitter: Emitter, relation: Join, condition: Condition, needed: frozenset[str]) -> Emitted:
    """The temporal join, or for a processing time the lookup join. Raises SqlRejected if a side does not fit."""
    at = relation.as_of
    assert at is not None
    time = plain(at)
    if time is None or time not in relation.left.columns:
        message = (
            "FOR SYSTEM_TIME AS OF takes the event time or the processing time of the left side, a column and nothing "
            "else."
        )
        raise SqlRejected(message, at)
    left_used, right_used = own_columns(relation, condition.used(needed))
    left = side(emitter, relation.left, [*left_used, time], [a for a, _ in condition.equal], at)
    if time in left.emitted.arrival or is_processing_time(relation.left, time, has_value=True):
        return lookup_join(emitter, relation, condition, left, right_used)
    check_system_time_join(relation, condition, "temporal join", "the versioned table's primary key in ON: l.k = v.k.")
    left = Side(_as_of(emitter, left.emitted, time, at), left.keys)
    # The event time and the primary key of the right side are known only once it is a node.
    right = side(emitter, relation.right, relation.right.columns, [b for _, b in condition.equal], relation.at)
    times = [name for name in relation.right.columns if name in event_times(emitter, right.emitted)][:1]
    read_columns = {right.emitted.names[name] for name in (*right_used, *times) if name in right.emitted.names}
    read_columns = read_columns.union(right.keys, *emitter.derived[right.emitted.node].upsert_keys)
    narrow = [name for name, actual in right.emitted.names.items() if actual in read_columns]
    right = Side(emitter.narrowed(right.emitted, narrow, relation.at), right.keys)
    return join_node(emitter, "temporal_join", relation, (left, right), condition.rest)


def _as_of(emitter: Emitter, left: Emitted, time: str, at: Expr) -> Emitted:
    """The left side with only this event time. Raises SqlRejected if the column is not an event time."""
    if time not in event_times(emitter, left):
        advice = emitter.lost_time(left.node) or "Name the one of its source."
        message = f"{time!r} is not an event time of the left side. {advice}"
        raise SqlRejected(message, at)
    return only_event_time(emitter, left, time, at)
