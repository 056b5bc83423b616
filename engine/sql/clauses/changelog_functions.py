"""FROM_CHANGELOG and TO_CHANGELOG: rows as changes, and changes as rows.

    FROM FROM_CHANGELOG(input => TABLE t, op => DESCRIPTOR(op), op_mapping => MAP['c, r', 'INSERT', 'd', 'DELETE'])

The input may come first without its name. Source: Flink FromChangelogTypeStrategy, ToChangelogTypeStrategy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sqlglot import exp

from engine.contract.change_words import FIELDS
from engine.model.types import quote
from engine.sql.algebra import Called, Expr, Relation
from engine.sql.clauses.constants import value_of
from engine.sql.dialect import TABLE_ARGUMENT
from engine.sql.rejected import SqlRejected

FROM: Final = "FROM_CHANGELOG"
TO: Final = "TO_CHANGELOG"
_KINDS: Final = {kind.name: name for name, kind in FIELDS.items()}
# UID names the state of a call for Flink.
_ARGUMENTS: Final = ("INPUT", "OP", "OP_MAPPING", "UID")


def changelog_function(
    call: exp.Anonymous, table: Callable[[exp.Table], Relation], read: Callable[[Expr], Relation]
) -> Called:
    """One of the two functions. Raises SqlRejected."""
    name = call.name.upper()
    given: dict[str, Any] = {}
    for place, argument in enumerate(call.expressions):
        is_named = isinstance(argument, exp.Kwarg)
        called = argument.this.name.upper() if is_named else "INPUT" if place == 0 else ""
        if called not in _ARGUMENTS or called in given:
            message = f"{name} takes input, op, op_mapping, each once: {name}(input => TABLE t, op => DESCRIPTOR(op))."
            raise SqlRejected(message, argument)
        given[called] = argument.expression if is_named else argument
    if given.get("INPUT") is None or None in given.values():
        message = f"{name} needs its input, and a value for each name: {name}(input => TABLE t, op => DESCRIPTOR(op))."
        raise SqlRejected(message, call)
    relation = _input(name, given["INPUT"], call, table, read)
    op = _column(name, given["OP"]) if "OP" in given else "op"
    if name == FROM and op not in relation.columns:
        message = (
            f"{name}: the input has no column {op!r} with the kinds. It has {', '.join(relation.columns)}. Name it: "
            "op => DESCRIPTOR(kind)."
        )
        raise SqlRejected(message, given.get("OP", call))
    parameters: dict[str, Any] = {"op": op}
    if "OP_MAPPING" in given:
        parameters |= _mapping(name, given["OP_MAPPING"])
    others = tuple(column for column in relation.columns if column != op)
    columns = others if name == FROM else (op, *relation.columns)
    return Called(name.lower(), (relation,), parameters, columns, call)


def _input(
    name: str,
    argument: Expr,
    call: Expr,
    table: Callable[[exp.Table], Relation],
    read: Callable[[Expr], Relation],
) -> Relation:
    if isinstance(argument, exp.Anonymous) and argument.name == TABLE_ARGUMENT:
        if len(argument.expressions) > 1:
            message = f"{name} takes no PARTITION BY, as in Flink 2.3. Write {name}(input => TABLE t)."
            raise SqlRejected(message, call)
        return table(argument.expressions[0])
    if isinstance(argument.unnest(), exp.Subquery | exp.Select | exp.SetOperation):
        return read(argument.unnest())
    message = f"the input of {name} is TABLE t, or a query in parentheses."
    raise SqlRejected(message, argument)


def _column(name: str, argument: Expr) -> str:
    is_one = isinstance(argument, exp.Anonymous) and argument.name.upper() == "DESCRIPTOR"
    if not is_one or len(argument.expressions) != 1:
        message = f"op of {name} names one column: op => DESCRIPTOR({quote('op')})."
        raise SqlRejected(message, argument)
    return str(argument.expressions[0].name)


def _mapping(name: str, argument: Expr) -> dict[str, str]:
    """The texts by parameter; a kind that is not told has none."""
    example = "MAP['c, r', 'INSERT']" if name == FROM else "MAP['INSERT, UPDATE_AFTER', 'upsert']"
    pairs = value_of(argument)
    is_map = isinstance(pairs, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in pairs)
    if not is_map or not all(isinstance(text, str) for pair in pairs for text in pair):
        message = f"op_mapping of {name} is a map of texts: op_mapping => {example}."
        raise SqlRejected(message, argument)
    texts = dict.fromkeys(_KINDS.values(), "")
    for key, value in pairs:
        kinds = [value] if name == FROM else [word.strip() for word in key.split(",")]
        for kind in kinds:
            if kind not in _KINDS:
                message = f"op_mapping of {name}: {kind!r} is no kind. Kinds are {', '.join(_KINDS)}: {example}."
                raise SqlRejected(message, argument)
            if name == FROM and texts[_KINDS[kind]]:
                message = f"op_mapping of {name} has {kind} twice. Write its texts with commas: {example}."
                raise SqlRejected(message, argument)
            texts[_KINDS[kind]] = key if name == FROM else value
    return texts
