"""MATCH_RECOGNIZE as a node; in its measures and conditions a variable precedes each column: A.v."""

from __future__ import annotations

from typing import Any

from engine.model.free_names import free_name
from engine.patterns.after_match import Skip
from engine.patterns.pattern import variables_of
from engine.sql.algebra import Matched, mentioned
from engine.sql.match_values import OfMatches
from engine.sql.nodes.emitter import Emitted, Emitter, order_by
from engine.sql.nodes.processing_time import is_processing_time
from engine.sql.nodes.time_bounds import only_event_time
from engine.sql.rejected import SqlRejected


def matched(emitter: Emitter, relation: Matched, needed: frozenset[str]) -> Emitted:
    """The operator over the columns that it reads."""
    time = relation.order[0].expression.name
    measures = [(name, value) for name, value in relation.measures if name in needed]
    texts = [value for _, value in (*measures, *relation.definitions)]
    order = [key.expression.name for key in relation.order]
    looked_at = frozenset(order).union(relation.partition, *map(mentioned, texts))
    used = [name for name in relation.input.columns if name in looked_at]
    emitted = emitter.narrowed(emitter.emit(relation.input, used), used, relation.at)
    # Its values may be those of the recorded clock, in which the rows come, too.
    is_arrival = time in emitted.arrival or is_processing_time(relation.input, time, has_value=True)
    if not is_arrival:
        if emitter.schema(emitted).column(emitted.names[time]).time is None:
            message = (
                f"MATCH_RECOGNIZE is ordered by a time first, an event time or a processing time; {time!r} is none. "
                "Name the event time."
            )
            raise SqlRejected(message, relation.at)
        emitted = only_event_time(emitter, emitted, time, relation.at)
    if is_arrival and (len(order) > 1 or relation.within_ms):
        what = "WITHIN" if relation.within_ms else "the columns after it"
        message = f"a processing time depends on the clock of the machine. Leave out {what}, or order by an event time."
        raise SqlRejected(message, relation.at)
    variables = tuple(variable.name for variable in variables_of(relation.pattern))
    writing = OfMatches(emitter.schema(emitted), emitted.names, variables, emitter.analyzer, emitted.node)
    parameters: dict[str, Any] = {
        "partition_by": [emitted.names[name] for name in relation.partition],
        **({"order": "arrival"} if is_arrival else {}),
        "pattern": relation.pattern,
        "define": [{"variable": name, "condition": writing.whole(value)} for name, value in relation.definitions],
        "measures": [{"name": name, "expression": writing.whole(value)} for name, value in measures],
    }
    if not measures:
        # A match needs a measure, even if none is read.
        name = free_name("rows", parameters["partition_by"])
        parameters["measures"] = [{"name": name, "expression": "COUNT(*)"}]
    if len(order) > 1:
        parameters["then_by"] = [order_by(key, emitted) for key in relation.order[1:]]
    if relation.skip is not Skip.PAST_LAST_ROW:
        parameters["after_match"] = relation.skip.value
    if relation.skip_to is not None:
        parameters["skip_to"] = relation.skip_to
    if relation.within_ms:
        parameters["within_ms"] = relation.within_ms
    node = emitter.add("match_recognize", parameters, [emitted.node], relation.at)
    names = {name: emitted.names[name] for name in relation.partition} | {name: name for name, _ in measures}
    return Emitted(node, names)
