"""MATCH_RECOGNIZE as a node; in its measures and conditions a variable precedes each column: A.v."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from engine.aggregates.registry import functions
from engine.model.free_names import free_name
from engine.model.schema import Column, Schema
from engine.model.types import BIGINT, TIMESTAMP_NTZ, VOID, Type, quote
from engine.patterns.after_match import Skip
from engine.patterns.pattern import variables_of
from engine.patterns.references import ROWTIME, without_variables
from engine.sql.algebra import Expr, Matched, mentioned, ref
from engine.sql.clauses.match_recognize import is_reference, with_references
from engine.sql.functions.expressions import Writer
from engine.sql.nodes.emitter import Emitted, Emitter, order_by
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
    is_arrival = time in emitted.arrival
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
    writing = _Writing(emitter, emitted, tuple(variable.name for variable in variables_of(relation.pattern)))
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


@dataclass(frozen=True)
class _OfRows(Writer):
    """Writes expressions over a row of a variable: A.`v`."""

    def _column(self, column: exp.Column) -> str:
        written = super()._column(column)
        return f"{_variable(column.table)}.{written}" if column.table else written


@dataclass(frozen=True)
class _Writing:
    """Writes expressions over a match."""

    emitter: Emitter
    emitted: Emitted
    variables: Sequence[str]

    def whole(self, expression: Expr) -> str:
        """An expression over values of a match, in the operator's syntax."""
        texts: list[str] = []
        types: list[Column] = []

        def column(reference: Expr) -> Expr:
            name = f"__match{len(texts)}"
            text, type_ = self._reference(reference)
            texts.append(text)
            types.append(Column(name, type_))
            return ref(name, reference)

        tree = with_references(expression.unnest(), column)
        schema = Schema(tuple(types))
        names = {one.name: one.name for one in types}
        writer = Writer(names, lambda text: self.emitter.analyzer.type_of(text, schema, self.emitted.node, ""), schema)
        written = writer.write(tree)
        for one, text in zip(types, texts, strict=True):
            written = written.replace(quote(one.name), text)
        return written

    def _reference(self, reference: Expr) -> tuple[str, Type]:
        """A value of a match in the operator's syntax, and its type."""
        if not isinstance(reference, exp.Anonymous):
            return self._of_row(reference)
        name, arguments = reference.name.upper(), list(reference.expressions)
        if name == ROWTIME:
            given = ", ".join(self._of_row(one)[0] for one in arguments)
            return f"{ROWTIME}({given})", self._of_row(arguments[0])[1] if arguments else TIMESTAMP_NTZ
        if name in ("FIRST", "LAST"):
            text, type_ = self._of_row(arguments[0]) if arguments else ("", VOID)
            return f"{name}({', '.join([text, *(one.name for one in arguments[1:])])})", type_
        function = functions()[name]
        if len(arguments) != 1:
            message = f"{name} takes one value of a row in MATCH_RECOGNIZE: {name}(A.v)."
            raise SqlRejected(message, reference)
        (argument,) = arguments
        if isinstance(argument, exp.Star) or isinstance(argument.unnest(), exp.Literal):
            return f"{name}(*)", function.result_type(BIGINT)
        if isinstance(argument, exp.Distinct):
            message = (
                "DISTINCT is not supported in MATCH_RECOGNIZE, as in Flink. Aggregate the rows in windows or groups, "
                "or collect them by ARRAY_AGG."
            )
            raise SqlRejected(message, reference)
        text, type_ = self._of_row(_plain_columns(argument))
        return f"{name}({text})", function.result_type(type_)

    def _of_row(self, expression: Expr) -> tuple[str, Type]:
        schema = self.emitter.schema(self.emitted)
        for inner in expression.find_all(exp.Anonymous):
            if is_reference(inner):
                message = f"{inner.name.upper()} cannot stand within another of FIRST, LAST and the aggregates."
                raise SqlRejected(message, inner)
        variables = {column.table for column in expression.find_all(exp.Column)}
        if len(variables) > 1:
            message = (
                "one of FIRST, LAST and the aggregates is about the rows of one variable, as in Flink. Name one, or "
                "take the values one by one: LAST(A.v) + LAST(B.v)."
            )
            raise SqlRejected(message, expression)

        def type_of(text: str) -> Type:
            return self.emitter.analyzer.type_of(without_variables(text, self.variables), schema, self.emitted.node, "")

        text = _OfRows(self.emitted.names, type_of).write(expression)
        return text, type_of(text)


def _plain_columns(argument: Expr) -> Expr:
    """The argument without FIRST and LAST: within an aggregate they mean the aggregated row, as in Flink."""

    def plain(node: Expr) -> Expr:
        is_position = isinstance(node, exp.Anonymous) and node.name.upper() in ("FIRST", "LAST") and node.expressions
        return node.expressions[0] if is_position else node

    return argument.copy().transform(plain, copy=False)


def _variable(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else quote(name)
