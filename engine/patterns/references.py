"""The values of a match that a measure or a condition uses, extracted from its tree.

    v, A.v              of the last row of the match or of a variable; in a condition the current row is the last
    FIRST(A.v * 2, 1)   of a row counted from the first one; LAST(A.v, 1) counts from the last one
    SUM(A.v * B)        an aggregate over the rows of a variable, or over all rows: SUM(v), COUNT(*)
    MATCH_ROWTIME()     the time of the row that completes the match; MATCH_ROWTIME(rt) with the type of rt

Their arguments are Spark SQL over the columns of one row. The tree around them is an expression over their values.
Source: Flink MatchCodeGenerator.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from sqlglot import exp

from engine.aggregates.registry import functions
from engine.expressions.parsing import SPARK, UNREADABLE, called, tree_of
from engine.functions.spark_text import SparkText, noted, written_here

ROWTIME: Final = "MATCH_ROWTIME"
_POSITIONS: Final = ("FIRST", "LAST")
_NO_SUCH: Final = {
    "MATCH_PROCTIME": "MATCH_PROCTIME() depends on the clock of the machine. Use MATCH_ROWTIME()",
    "PREV": "PREV looks at rows of the input, which Flink does not support. Use LAST(A.v, 1): the row of A before",
    "NEXT": "NEXT looks at rows to come, which Flink does not support. Define a variable for the next row",
    "CLASSIFIER": "CLASSIFIER() is not supported, as in Flink. Compare the measures of the variables with NULL",
    "MATCH_NUMBER": "MATCH_NUMBER() is not supported, as in Flink. Number the matches: ROW_NUMBER() OVER (...)",
    "RUNNING": "RUNNING is not supported, as in Flink. Leave it out: a condition sees the rows so far",
}


class Position(Enum):
    """The kind of value that a reference is."""

    FIRST = "FIRST"
    LAST = "LAST"
    AGGREGATE = "aggregate"
    ROWTIME = ROWTIME


@dataclass(frozen=True)
class Reference:
    """A value of a match.

    variable: the variable whose rows are used; None: all rows. expression: over the columns of a row; None: COUNT(*).
    offset: the number of rows after the first, or before the last. function, distinct: of an aggregate.
    """

    position: Position
    variable: str | None = None
    expression: str | None = None
    offset: int = 0
    function: str = ""
    distinct: bool = False


@dataclass(frozen=True)
class Referring:
    """A tree with columns `__r0`, `__r1`, ... instead of its references, in their order."""

    tree: exp.Expr
    references: tuple[Reference, ...]

    @property
    def is_reference(self) -> bool:
        """Whether it is just one reference."""
        bare = self.tree.unnest()
        return isinstance(bare, exp.Column) and place_of(bare) == 0


def placeholder(at: int) -> exp.Column:
    """The column that replaces a reference."""
    return exp.column(f"__r{at}", quoted=True)


def place_of(column: exp.Column) -> int:
    """The place of the reference that a column replaces."""
    return int(column.name.removeprefix("__r"))


def written(tree: exp.Expr) -> str:
    """A tree as Spark SQL, its functions called as they were."""
    return str(tree.sql(dialect=SPARK, normalize_functions=False))


def with_columns(tree: exp.Expr, instead: Callable[[str], exp.Expr | None]) -> exp.Expr:
    """The tree with something else in place of columns, by their name; fields of them are fields of that."""

    def replaced(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column):
            return node
        name, *fields = node.parts
        value = instead(name.name)
        return node if value is None else _fields_of(value.copy(), fields)

    return tree.transform(replaced)


def referring(text: str, variables: Collection[str], columns: Collection[str]) -> Referring:
    """The references of a measure or a condition. Raises ValueError with a message for users."""
    try:
        tree = tree_of(text)
    except UNREADABLE as error:
        message = f"{text!r} cannot be read"
        raise ValueError(message) from error
    return _Reader(variables, columns).read(tree)


def without_variables(text: str, variables: Collection[str]) -> str:
    """The text over the columns of a row, readable for the analyzer: A.v as v, LAST(A.v, 1) as v."""
    try:
        tree = tree_of(text)
    except UNREADABLE:
        return text

    def of_one_row(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and len(node.parts) > 1 and node.parts[0].name in variables:
            return _without_first(node)
        match called(node).upper(), node.expressions:
            case (("FIRST" | "LAST"), [value, *_]):
                return exp.Paren(this=value.transform(of_one_row))
            case (name, _) if name == ROWTIME:
                return exp.Anonymous(this="current_timestamp")
        return node

    changed = tree.transform(of_one_row)
    if changed == tree:
        return text
    return written(changed) if written_here(text) is None else noted(SparkText(written(changed), leaf=changed))


class _Reader:
    """Reads a tree and puts columns in place of its references."""

    def __init__(self, variables: Collection[str], columns: Collection[str]) -> None:
        self.variables = frozenset(variables)
        self.columns = {name.lower() for name in columns}
        self.references: dict[Reference, int] = {}

    def read(self, tree: exp.Expr) -> Referring:
        return Referring(tree.transform(self._instead), tuple(self.references))

    def _instead(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column):
            variable, (column, *fields) = self._split(node)
            if variable is None and column.name.lower() not in self.columns:
                return node
            return _fields_of(self._placed(Reference(Position.LAST, variable, written(column))), fields)
        name = called(node).upper()
        if name in _NO_SUCH:
            raise ValueError(_NO_SUCH[name])
        if name == ROWTIME:
            return self._placed(Reference(Position.ROWTIME, None, ", ".join(map(written, node.expressions)) or None))
        if name in _POSITIONS:
            return self._placed(self._positioned(Position[name], node.expressions))
        return self._placed(self._aggregate(name, node.expressions)) if name in functions() else node

    def _placed(self, reference: Reference) -> exp.Expr:
        return placeholder(self.references.setdefault(reference, len(self.references)))

    def _positioned(self, position: Position, arguments: Sequence[exp.Expr]) -> Reference:
        name = position.name
        if not 1 <= len(arguments) <= 2:
            message = f"{name} takes a value and maybe a number of rows: {name}(A.v, 1)"
            raise ValueError(message)
        offset = "0" if len(arguments) == 1 else written(arguments[1])
        if not offset.isdigit():
            message = f"{name} counts a number of rows, such as {name}(A.v, 1), but got {offset!r}"
            raise ValueError(message)
        variable, expression = self._of_one_row(arguments[0])
        return Reference(position, variable, expression, int(offset))

    def _aggregate(self, name: str, arguments: Sequence[exp.Expr]) -> Reference:
        distinct = len(arguments) == 1 and isinstance(arguments[0], exp.Distinct)
        arguments = arguments[0].expressions if distinct else arguments
        if len(arguments) != 1:
            message = f"{name} takes one value of a row: {name}(A.v)"
            raise ValueError(message)
        if isinstance(arguments[0], exp.Star) and functions()[name].counts_rows and not distinct:
            return Reference(Position.AGGREGATE, None, None, function=name)
        variable, expression = self._of_one_row(arguments[0])
        return Reference(Position.AGGREGATE, variable, expression, function=name, distinct=distinct)

    def _of_one_row(self, value: exp.Expr) -> tuple[str | None, str]:
        """The variable whose rows a value is of (None: all rows), and the value over a row's columns."""
        variables: dict[str | None, None] = {}

        def of_row(node: exp.Expr) -> exp.Expr:
            name = called(node).upper()
            if name in _NO_SUCH:
                raise ValueError(_NO_SUCH[name])
            if name in (*_POSITIONS, ROWTIME) or name in functions():
                message = f"{name} cannot stand within another of FIRST, LAST or an aggregate"
                raise ValueError(message)
            if not isinstance(node, exp.Column):
                return node
            variable, (column, *_) = self._split(node)
            if variable is not None or column.name.lower() in self.columns:
                variables[variable] = None
            return node if variable is None else _without_first(node)

        of_columns = written(value.transform(of_row))
        if len(variables) > 1:
            names = " and ".join(sorted("all rows" if name is None else name for name in variables))
            message = f"{of_columns!r} is about rows of {names}. Name one variable in FIRST, LAST and aggregates"
            raise ValueError(message)
        return next(iter(variables), None), of_columns

    def _split(self, column: exp.Column) -> tuple[str | None, Sequence[exp.Expr]]:
        """The variable before a column, and the column with its fields."""
        first, *rest = column.parts
        return (first.name, rest) if rest and first.name in self.variables else (None, column.parts)


def _without_first(column: exp.Column) -> exp.Expr:
    first, *fields = column.parts[1:]
    return _fields_of(exp.Column(this=first.copy()), fields)


def _fields_of(value: exp.Expr, fields: Sequence[exp.Expr]) -> exp.Expr:
    return exp.Dot.build([value, *(field.copy() for field in fields)]) if fields else value
