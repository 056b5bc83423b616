"""The plan of measures and conditions: the values that Spark computes per row, and the kernel's work on them.

Spark computes every value of a single row. Only expressions over values of several rows are computed in the kernel,
by `engine.expressions.conditions`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp
from sqlglot.errors import SqlglotError

from engine.aggregates.function import AggregateCall
from engine.aggregates.registry import functions
from engine.expressions.conditions import can_compute, condition_of
from engine.expressions.parsing import tree_of
from engine.functions.spark_text import as_type
from engine.model.schema import Column, Schema
from engine.model.types import BIGINT, BOOLEAN, DOUBLE, TIMESTAMP, TIMESTAMP_NTZ, VOID, Type
from engine.patterns.conditions import MatchCondition
from engine.patterns.references import Position, Reference, place_of, placeholder, referring, with_columns, written
from engine.patterns.values import AggregateValue, MatchTime, RowValue, Value

TypeOf = Callable[[str], Type]
_NEVER_WITHOUT_NULL: Final = (exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Paren, exp.Column, exp.Identifier, exp.Literal)


@dataclass
class MatchPlan:
    """Plans the values of a match.

    variables: of the pattern. type_of: Spark's types of expressions over a row. values: by expression, its place in a
    kernel's row; the first is the time in ms.
    """

    schema: Schema
    variables: Sequence[str]
    time: str
    type_of: TypeOf
    values: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.values[self.time] = 0

    def measure(self, text: str) -> tuple[Value, Column]:
        """A measure, and its column without a name. Raises ValueError for anything but one value of the match."""
        parsed = referring(text, self.variables, self.schema.names)
        if not parsed.is_reference:
            message = (
                "a measure is one value of the match, such as LAST(A.v), SUM(A.v) or FIRST(A.v * 2). Name each value "
                "as a measure, and put them together in a Project behind it"
            )
            raise ValueError(message)
        return self._value(parsed.references[0]), Column("", self._type(parsed.references[0]))

    def is_time(self, text: str) -> bool:
        """Whether a measure is the unchanged event time of a row of the match."""
        time = self.schema.event_time
        (reference,) = referring(text, self.variables, self.schema.names).references
        is_column = time is not None and (reference.expression or "").strip("`") == time.name
        keeps = reference.position in (Position.FIRST, Position.LAST) or (
            reference.position is Position.AGGREGATE and functions()[reference.function].steady_move is not None
        )
        return is_column and keeps

    def condition(self, text: str, variable: int) -> MatchCondition:
        """The condition of a variable in DEFINE. Raises ValueError."""
        parsed = referring(text, self.variables, self.schema.names)
        references = list(parsed.references)
        if all(self._is_current(reference, variable) for reference in references):
            # It only uses the current row.
            whole = self._filled(parsed.tree, references)
            if (type_ := self.type_of(whole)) not in (BOOLEAN, VOID):
                message = f"it is of type {type_.flink}, but a condition must be true or false"
                raise ValueError(message)
            value = RowValue(variable, self._place(whole))
            return MatchCondition(variable, written(placeholder(0)), (BOOLEAN,), (value,))
        tree = self._lowered(parsed.tree, references, variable)
        types = tuple(map(self._type, references))
        whole = written(tree)
        try:
            condition_of(whole, _columns(types))
        except (ValueError, SqlglotError) as error:
            message = (
                "it puts values of several rows together in a way that is not supported. Supported are comparisons, "
                "arithmetic, AND, OR, NOT, IS NULL, BETWEEN, IN, CASE and COALESCE; compute the rest of each row in a "
                "Project before"
            )
            raise ValueError(message) from error
        return MatchCondition(variable, whole, types, tuple(map(self._value, references)))

    def _lowered(self, node: exp.Expr, references: list[Reference], variable: int) -> exp.Expr:
        """The tree with columns instead of parts that only Spark can compute, if such a part uses a single row."""
        if can_compute(node, _columns(tuple(map(self._type, references)))):
            return node
        inner = [references[place_of(column)] for column in node.find_all(exp.Column)]
        if inner and len({self._row_of(reference, variable) for reference in inner}) == 1:
            first = inner[0]
            if first.position in (Position.FIRST, Position.LAST):
                text = self._filled(node, references)
                references.append(Reference(first.position, first.variable, text, first.offset))
                return placeholder(len(references) - 1)
        for child in list(node.iter_expressions()):
            if not isinstance(child, exp.Identifier | exp.DataType | exp.Var):
                child.replace(self._lowered(child.copy(), references, variable))
        return node

    def _row_of(self, one: Reference, variable: int) -> object:
        if self._is_current(one, variable):
            return "current"
        if one.position in (Position.FIRST, Position.LAST):
            return (one.position, one.variable, one.offset)
        return one

    def _is_current(self, one: Reference, variable: int) -> bool:
        """Whether it refers to the row for which a condition is tested."""
        own = one.variable is None or one.variable == self.variables[variable]
        return one.position is Position.LAST and own and one.offset == 0

    def _filled(self, tree: exp.Expr, references: Sequence[Reference]) -> str:
        """A tree with placeholders of one row's values, as an expression over that row's columns."""
        values = {placeholder(at).name: one.expression for at, one in enumerate(references)}

        def value(name: str) -> exp.Expr | None:
            expression = values.get(name)
            return None if expression is None else exp.Paren(this=tree_of(expression))

        return written(with_columns(tree, value))

    def _type(self, one: Reference) -> Type:
        if one.position is Position.ROWTIME:
            is_instant = one.expression is not None and self.type_of(one.expression).is_instant
            return TIMESTAMP if is_instant else TIMESTAMP_NTZ
        of_row = BIGINT if one.expression is None else self.type_of(one.expression)
        if one.position is not Position.AGGREGATE:
            if of_row.unsupported:
                message = f"{one.expression} is of type {of_row.flink}, which is not supported. Cast it"
                raise ValueError(message)
            return of_row
        function = functions()[one.function]
        problem = one.expression and function.check_argument(one.expression, of_row, retracting=False)
        if problem:
            message = f"{one.function}({one.expression}) {problem}"
            raise ValueError(message.rstrip("."))
        return function.result_type(of_row)

    def _value(self, one: Reference) -> Value:
        variable = None if one.variable is None else list(self.variables).index(one.variable)
        match one.position:
            case Position.ROWTIME:
                return MatchTime()
            case Position.AGGREGATE:
                function = functions()[one.function]
                place = None if one.expression is None else self._place(one.expression)
                of_row = BIGINT if one.expression is None else self.type_of(one.expression)
                value_type = function.kept_type(of_row, function.result_type(of_row)) or DOUBLE
                return AggregateValue(variable, AggregateCall(function, place, value_type, one.distinct))
            case _:
                assert one.expression is not None
                missing = self._without_row(one.expression)
                if missing is not None:
                    self.type_of(missing)
                place = self._place(one.expression)
                is_first = one.position is Position.FIRST
                return RowValue(
                    variable, place, is_first, one.offset, None if missing is None else self._place(missing)
                )

    def _place(self, expression: str) -> int:
        return self.values.setdefault(expression, len(self.values))

    def _without_row(self, expression: str) -> str | None:
        """The expression with NULLs instead of columns; None if its result is NULL."""
        if expression.strip("`") in self.schema or all(
            isinstance(part, _NEVER_WITHOUT_NULL) for part in tree_of(expression).walk()
        ):
            return None
        nulls = {column.name.lower(): as_type("NULL", column.type) for column in self.schema}

        def null(name: str) -> exp.Expr | None:
            return tree_of(nulls[name.lower()]) if name.lower() in nulls else None

        return written(with_columns(tree_of(expression), null))


def _columns(types: Sequence[Type]) -> Schema:
    """The values of a condition as columns."""
    return Schema(tuple(Column(placeholder(at).name, type_) for at, type_ in enumerate(types)))
