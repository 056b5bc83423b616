"""JSON_ARRAYAGG and JSON_OBJECTAGG, rewritten as existing aggregates whose results become JSON.

JSON_ARRAYAGG(v)                     the string of LISTAGG in brackets
JSON_OBJECTAGG(KEY k VALUE v)        the rows of ARRAY_AGG, sorted by key

So a retraction removes the first equal value, as in Flink. ABSENT ON NULL leaves NULLs out; it is the default of
JSON_ARRAYAGG. NULL ON NULL is the default of JSON_OBJECTAGG. A NULL key or a duplicate key ends the run.
Source: Flink JsonArrayAggFunction, JsonObjectAggFunction.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from engine.sql.algebra import Expr
from engine.sql.rejected import SqlRejected

NAMES: Final = ("JSON_ARRAYAGG", "JSON_OBJECTAGG")


def with_json_aggregates(query: exp.Select) -> exp.Select:
    """The query with the JSON aggregates rewritten. Raises SqlRejected for FILTER, OVER and WITHIN GROUP."""
    if not any(_is_call(node) for node in query.find_all(exp.Anonymous)):
        return query
    rewritten = query.transform(_instead)
    assert isinstance(rewritten, exp.Select)
    return rewritten


def _is_call(node: Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() in NAMES


def _instead(node: Expr) -> Expr:
    if isinstance(node, exp.Filter | exp.Window | exp.WithinGroup) and _is_call(node.this):
        message = f"{node.this.name.upper()} takes no FILTER, OVER or WITHIN GROUP, as in Flink. Filter in a sub-query."
        raise SqlRejected(message, node)
    if not isinstance(node, exp.Anonymous) or not _is_call(node):
        return node
    clauses = {kwarg.this.name: kwarg.expression for kwarg in node.expressions if isinstance(kwarg, exp.Kwarg)}
    arguments = [argument for argument in node.expressions if not isinstance(argument, exp.Kwarg)]
    is_array = node.name.upper() == NAMES[0]
    if len(arguments) != (1 if is_array else 2):
        message = "Write JSON_ARRAYAGG(v) or JSON_OBJECTAGG(KEY k VALUE v)."
        raise SqlRejected(message, node)
    on_null = clauses.get("on_null")
    leaves_out = is_array if on_null is None else not isinstance(on_null, exp.Null)
    value = arguments[-1].transform(_instead)
    member = exp.FormatJson(this=value)
    condition: Expr | None = exp.Not(this=exp.Is(this=value.copy(), expression=exp.Null())) if leaves_out else None
    if is_array:
        return exp.JSONArray(expressions=[_collected("LISTAGG", member, condition, node)])
    key = arguments[0]
    if condition is not None:
        # A NULL key ends the run, so its row must not be filtered out.
        condition = exp.Or(this=condition, expression=exp.Is(this=key.copy(), expression=exp.Null()))
    pair = exp.Tuple(expressions=[key, exp.JSONKeyValue(this=exp.FormatJson(this=key.copy()), expression=member)])
    return exp.JSONObject(expressions=[_collected("ARRAY_AGG", pair, condition, node)])


def _collected(name: str, value: Expr, condition: Expr | None, at: Expr) -> Expr:
    call = exp.Anonymous(this=name, expressions=[value])
    call.meta.update(at.meta)
    return exp.Filter(this=call, expression=exp.Where(this=condition)) if condition is not None else call
