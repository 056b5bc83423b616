"""Operators called as table functions: FROM TABLE(NAME(TABLE t, PARAMETER => value)).

Tables are in the order of the operator's ports; parameters are passed by name. A value is a literal, an interval for
a duration, DESCRIPTOR(column, ...) or an array for columns, and a JSON string for any other value.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from sqlglot import exp

from engine.contract.operator import Operator
from engine.contract.parameters import marks_of
from engine.errors import shortened
from engine.functions.refused import no_function
from engine.registry import table_functions
from engine.sql.algebra import Called, Expr, Relation
from engine.sql.clauses.constants import value_of
from engine.sql.dialect import TABLE_ARGUMENT, WINDOW_FUNCTIONS
from engine.sql.functions.intervals import interval_ms
from engine.sql.rejected import SqlRejected
from engine.sql.scope import Scope


def table_function(
    call: exp.Anonymous, table: Callable[[exp.Table], Relation], read: Callable[[Expr], Relation]
) -> Called:
    """The call of an operator. Raises SqlRejected."""
    name = call.name.upper()
    operator = table_functions().get(name)
    if operator is None:
        raise SqlRejected(no_function("table function", name, (*WINDOW_FUNCTIONS, *table_functions())), call)
    tables = [argument for argument in call.expressions if not isinstance(argument, exp.Kwarg)]
    if len(tables) != len(operator.ports):
        message = f"{name} takes {len(operator.ports)} of TABLE t, then its parameters by name, but got {len(tables)}."
        raise SqlRejected(message, call)
    inputs = tuple(_input(name, argument, table, read) for argument in tables)
    parameters = dict(
        _parameter(operator, argument, Scope.of(inputs[0], None))
        for argument in call.expressions
        if isinstance(argument, exp.Kwarg)
    )
    columns = tuple(operator.columns_out(parameters, [relation.columns for relation in inputs]))
    return Called(operator.operator, inputs, parameters, columns, call)


def in_terms_of(operator: type[Operator], parameters: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The parameters with the column names of the input. names: by column of the relation, its name in the input."""
    translated = dict(parameters)
    for name, value in parameters.items():
        if marks_of(operator.model_fields[name]).get("column"):
            translated[name] = names.get(value, value)
        elif marks_of(operator.model_fields[name]).get("columns"):
            translated[name] = [names.get(column, column) for column in value]
    return translated


def _input(
    name: str, argument: Expr, table: Callable[[exp.Table], Relation], read: Callable[[Expr], Relation]
) -> Relation:
    if isinstance(argument, exp.Anonymous) and argument.name == TABLE_ARGUMENT and len(argument.expressions) == 1:
        return table(argument.expressions[0])
    if isinstance(argument.unnest(), exp.Subquery | exp.Select | exp.SetOperation):
        return read(argument.unnest())
    message = f"the inputs of {name} are TABLE t, or queries in parentheses; parameters are given by name."
    raise SqlRejected(message, argument)


def _parameter(operator: type[Operator], argument: exp.Kwarg, scope: Scope) -> tuple[str, Any]:
    name, value = argument.this.name.lower(), argument.expression
    field = operator.model_fields.get(name)
    if field is None:
        available = ", ".join(field_name.upper() for field_name in operator.model_fields)
        message = f"{operator.sql_function} has no parameter {name.upper()}; it takes {available}."
        raise SqlRejected(message, argument)
    if isinstance(value, exp.Anonymous) and value.name.upper() == "DESCRIPTOR":
        columns = [scope.bind(column).name for column in value.expressions]
        return name, columns[0] if marks_of(field).get("column") else columns
    if marks_of(field).get("duration") and isinstance(value.unnest(), exp.Interval | exp.Neg):
        return name, interval_ms(value)
    constant = value_of(value)
    is_json = isinstance(constant, str) and constant[:1] in ("[", "{") and field.annotation is not str
    try:
        return name, json.loads(constant) if is_json else constant
    except (ValueError, RecursionError) as error:
        message = f"{name.upper()} is not valid JSON: {shortened(constant)}."
        raise SqlRejected(message, argument) from error
