"""Spark SQL expressions as equivalent Flink SQL: the inverse of `engine.sql.functions.expressions`.

A text with the same meaning in both stays as written. Functions are translated back by their entries in
`engine.functions`; a function without an entry stays, with a warning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from sqlglot import exp

from engine.aggregates.registry import functions
from engine.contract.operator import Analyzer, Operator
from engine.contract.parameters import Marks
from engine.contract.source import Source
from engine.expressions.flink_sql import FlinkSql
from engine.expressions.parsing import SPARK, UNREADABLE, mapped, tree_of
from engine.expressions.spellings import without_types
from engine.functions import FUNCTIONS, ROWS
from engine.functions.function import Function
from engine.functions.of_texts import TEXT_OF_BYTES
from engine.functions.of_times import EXTRACTED
from engine.functions.spark_text import SparkText
from engine.joins.sides import seen
from engine.model.schema import Schema
from engine.model.type_texts import type_from
from engine.model.types import DATE, INTEGERS, TIMESTAMP, TIMESTAMP_NTZ, Type, quote
from engine.sql.algebra import Expr
from engine.sql.dialect import Flink
from engine.sql.flink_text import flink_text
from engine.sql.functions.moments import IN_UTC, READABLE, TO_MILLISECONDS
from engine.sql.typed import expression_in

_SAME: Final = (
    *(exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.Neg, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.EQ, exp.NEQ, exp.NullSafeEQ),
    *(exp.And, exp.Or, exp.Not, exp.Is, exp.DPipe, exp.Like, exp.Escape, exp.Between, exp.In, exp.Case, exp.If),
    *(exp.Column, exp.Identifier, exp.Var, exp.Paren, exp.Literal, exp.Boolean, exp.Null, exp.Star),
    *(exp.Interval, exp.IntervalSpan, exp.Substring, exp.Extract, exp.Floor, exp.Ceil),
)
"""What is the same in both, if its parts are."""
_MOST_ARGUMENTS: Final = 4
_ARGUMENT: Final = "__argument"
_PLACE: Final = re.compile(r"\{(\d)\}")
_MORE: Final = {
    "timestamp_millis({0})": "TO_TIMESTAMP_LTZ({0}, 3)",
    "timestamp_micros({0})": "TO_TIMESTAMP_LTZ({0}, 6)",
    "timestamp_seconds({0})": "TO_TIMESTAMP_LTZ({0}, 0)",
    "TRY_CAST({0} AS TIMESTAMP_NTZ)": "TO_TIMESTAMP({0})",
    "TRY_CAST({0} AS DATE)": "TO_DATE({0})",
    f"TRY_CAST({READABLE[TIMESTAMP_NTZ].format('{0}')} AS TIMESTAMP_NTZ)": "TO_TIMESTAMP({0})",
    f"TRY_CAST({TO_MILLISECONDS.format('{0}')} AS TIMESTAMP_NTZ)": "TO_TIMESTAMP({0})",
    f"TRY_CAST({READABLE[DATE].format('{0}')} AS DATE)": "TO_DATE({0})",
    f"TRY_CAST({READABLE[TIMESTAMP].format('{0}')} AS TIMESTAMP)": "TRY_CAST({0} AS TIMESTAMP_LTZ(3))",
    IN_UTC.format(f"TRY_CAST({READABLE[TIMESTAMP_NTZ].format('{0}')} AS TIMESTAMP_NTZ)"): "TO_TIMESTAMP_LTZ({0})",
    IN_UTC.format("CAST(try_to_timestamp({0}, {1}) AS TIMESTAMP_NTZ)"): "TO_TIMESTAMP_LTZ({0}, {1})",
    IN_UTC.format("convert_timezone({2}, 'UTC', CAST(try_to_timestamp({0}, {1}) AS TIMESTAMP_NTZ))"): (
        "TO_TIMESTAMP_LTZ({0}, {1}, {2})"
    ),
    "CAST(try_to_timestamp({0}) AS TIMESTAMP_NTZ)": "TO_TIMESTAMP({0})",
    "CAST(try_to_timestamp({0}, {1}) AS TIMESTAMP_NTZ)": "TO_TIMESTAMP({0}, {1})",
    "CAST(try_to_timestamp({0}, {1}) AS DATE)": "TO_DATE({0}, {1})",
    "try_to_timestamp({0})": "CAST(TO_TIMESTAMP({0}) AS TIMESTAMP_LTZ(3))",
    "try_to_timestamp({0}, {1})": "CAST(TO_TIMESTAMP({0}, {1}) AS TIMESTAMP_LTZ(3))",
    "nvl({0}, {1})": "COALESCE({0}, {1})",
    "size({0})": "CARDINALITY({0})",
    "element_at({0}, {1})": "{0}[{1}]",
    TEXT_OF_BYTES: "CAST({0} AS STRING)",
    "date_format({0}, 'yyyy-MM-dd HH:mm:ss.SSS')": "CAST({0} AS STRING)",
    "CASE WHEN {1} = 0 THEN {0} * double('Infinity') ELSE {0} / {1} END": "{0} / {1}",
}
"""By Spark SQL, Flink SQL that is not just a row of the table."""
# Not WEEK: it begins on Monday in Spark, on Sunday in Flink.
_UNITS: Final = ("YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
# Functions that mean the same in Flink and Spark, without their own entry.
_BOTH: Final = ("LENGTH",)


@dataclass
class Translation:
    """One translation. type_of: the Spark type of an expression. unknown: parts that were not translated."""

    type_of: Callable[[str], Type]
    unknown: list[str] = field(default_factory=list)

    def flink(self, text: str) -> str:
        """The expression in Flink SQL."""
        try:
            tree = tree_of(text)
        except UNREADABLE:
            self.unknown.append(text)
            return text
        written = flink_text(self._translated(tree), {})
        return text if _bare(written) == _bare(text) else written

    def _translated(self, node: Expr) -> Expr:
        """A tree of Spark SQL as one of Flink SQL."""
        call = self._by_pattern(node)
        if call is not None:
            return call
        match node:
            case exp.RegexpLike():
                return self._filled("REGEXP({0}, {1})", node.this, node.expression)
            case exp.Div():
                is_whole = all(self._type(side) in INTEGERS for side in (node.this, node.expression))
                template = "CAST({0} AS DOUBLE) / {1}" if is_whole else "{0} / {1}"
                return self._filled(template, node.this, node.expression)
            case exp.IntDiv():
                return self._filled("CAST({0} / {1} AS BIGINT)", node.this, node.expression)
            case exp.Cast():
                return self._cast(node)
            case exp.Anonymous():
                return self._call(node)
            case exp.Dot() if isinstance(node.expression, exp.Identifier):
                return exp.Dot(this=self._translated(node.this), expression=node.expression.copy())
            case _ if isinstance(node, _SAME) and not (node.args.get("to") or node.args.get("query")):
                return mapped(node, self._translated)
        self.unknown.append(node.sql(dialect=Flink))
        return node.copy()

    def _cast(self, node: exp.Cast) -> Expr:
        inner = node.this
        if isinstance(inner, exp.IntDiv) and self._type(inner.this) in INTEGERS:
            return self._filled("({0} / {1})", inner.this, inner.expression)
        try:
            target = type_from(node.to.sql(dialect=SPARK)).flink
        except ValueError:
            target = node.to.sql(dialect=Flink)
        kind = exp.TryCast if node.args.get("safe") else exp.Cast
        return kind(this=self._translated(inner), to=exp.var(target))

    def _call(self, node: exp.Anonymous) -> Expr:
        name, given = str(node.this), node.expressions
        match name.upper(), given:
            case "LEFT", [exp.Cast() as cast, length] if length.name.isdigit():
                return self._filled(f"CAST({{0}} AS VARCHAR({length.name}))", cast.this)
            case "DATE_TRUNC", [unit, moment] if unit.name.upper() in _UNITS:
                # Spark's result is an instant whatever the moment is.
                floor = f"FLOOR({{0}} TO {unit.name.upper()})"
                is_same = self._type(moment).is_instant
                return self._filled(floor if is_same else f"CAST({floor} AS TIMESTAMP_LTZ(3))", moment)
            case "TRY_ELEMENT_AT", [_, _]:
                return self._filled("{0}[{1}]", *given)
            case "ARRAY", _:
                return exp.Array(expressions=[self._translated(part) for part in given])
            case "NAMED_STRUCT", [_, _, *_]:
                return self._row(given)
            case "TO_JSON", [exp.Anonymous() as packed] if packed.name.upper() == "STRUCT":
                return self._key([part.unalias() for part in packed.expressions])
            case (("TIMESTAMPDIFF" | "TIMESTAMPADD"), [unit, *values]) if len(values) == 2:
                shift = [exp.var(unit.name.upper()), *map(self._translated, values)]
                return exp.Anonymous(this=name.upper(), expressions=shift)
            case upper, _ if upper not in FUNCTIONS and upper not in _BOTH and upper not in _of_matches():
                self.unknown.append(f"{name}()")
        return mapped(node, self._translated)

    def _row(self, parts: list[Expr]) -> Expr:
        """A row; a row with its own field names becomes a CAST."""
        row = exp.Anonymous(this="ROW", expressions=[self._translated(part) for part in parts[1::2]])
        names = [part.name for part in parts[::2]]
        if names == [f"EXPR${at}" for at in range(len(names))]:
            return row
        types = [self._type(part).flink for part in parts[1::2]]
        fields = (f"{quote(name)} {type_}" for name, type_ in zip(names, types, strict=True))
        return exp.Cast(this=row, to=exp.var(f"ROW<{', '.join(fields)}>"))

    def _key(self, parts: list[Expr]) -> Expr:
        """Values as one string in which NULL is a normal value: each value is prefixed with its length."""
        texts = (f"CAST({{{at}}} AS STRING)" for at in range(len(parts)))
        items = [f"COALESCE(CONCAT(CAST(CHAR_LENGTH({text}) AS STRING), ':', {text}), 'NULL')" for text in texts]
        return self._filled(items[0] if len(items) == 1 else f"CONCAT_WS(',', {', '.join(items)})", *parts)

    def _by_pattern(self, node: Expr) -> Expr | None:
        """The call of the Flink function whose Spark SQL equals a tree, or None."""
        if not isinstance(node, exp.Func | exp.Cast | exp.RegexpLike | exp.Div | exp.Paren | exp.Case):
            return None
        for template, count, pattern in _patterns():
            bindings: dict[str, Expr] = {}
            if _matches(pattern, node, bindings):
                return self._filled(template, *(bindings[f"{_ARGUMENT}{at}"] for at in range(count)))
        return None

    def _filled(self, template: str, *parts: Expr) -> Expr:
        """Flink SQL with translated parts in its places."""
        values = {f"{_ARGUMENT}{at}": self._translated(part) for at, part in enumerate(parts)}

        def value(each: Expr) -> Expr:
            return values[each.name].copy() if isinstance(each, exp.Column) and each.name in values else each

        return _template(template).copy().transform(value, copy=False)

    def _type(self, node: Expr) -> Type:
        return self.type_of(SparkText(node.sql(dialect=SPARK), leaf=node))


def translated(
    operator: Operator | Source, schemas: Sequence[Schema], analyzer: Analyzer, node: str
) -> tuple[Operator | Source, tuple[str, ...]]:
    """The operator for Flink, and the parts of its expressions without a known equivalent.

    schemas: of its inputs; for a source, the schema that it reads.
    """
    columns = seen(schemas)
    as_row = operator.without_variables if isinstance(operator, Operator) else str
    translation = Translation(lambda text: analyzer.type_of(as_row(text), columns, node, ""))

    def flink(text: str, path: str, marks: Marks) -> str:
        if isinstance(text, FlinkSql):
            return text.flink
        return text if text in columns else translation.flink(text)

    return operator.with_expressions(flink), tuple(dict.fromkeys(translation.unknown))


@cache
def _template(template: str) -> Expr:
    return expression_in(_with_places(template))


def _with_places(template: str) -> str:
    """A template with columns in its places."""
    return _PLACE.sub(lambda found: quote(f"{_ARGUMENT}{found[1]}"), template)


@cache
def _patterns() -> tuple[tuple[str, int, Expr], ...]:
    """Functions whose Spark SQL is not simply a call of the same name, as trees; the most specific first."""
    patterns: list[tuple[str, int, Expr]] = []
    for row in ROWS:
        for count in range(row.least, min(row.most or _MOST_ARGUMENTS, _MOST_ARGUMENTS) + 1):
            try:
                text = _in_spark(row, count)
                tree = tree_of(text) if text is not None else None
            except UNREADABLE:
                continue
            if tree is None:
                continue
            # A call of a function that Flink has too stays this call: COALESCE does not become IFNULL.
            is_same = (
                isinstance(tree, exp.Anonymous)
                and tree.name.upper() in FUNCTIONS
                and all(isinstance(argument, exp.Column) for argument in tree.expressions)
            )
            if not is_same and all(_has(tree, at) for at in range(count)):
                places = ", ".join(f"{{{at}}}" for at in range(count))
                patterns.append((f"{row.name}({places})", count, tree))
    for unit, template in EXTRACTED.items():
        if unit not in FUNCTIONS:
            spark = _with_places(f"CAST({template} AS BIGINT)")
            patterns.append((f"EXTRACT({unit} FROM {{0}})", 1, tree_of(spark)))
    for template, flink in _MORE.items():
        patterns.append((flink, len({*_PLACE.findall(flink)}), tree_of(_with_places(template))))
    return tuple(sorted(patterns, key=lambda one: -len(list(one[2].walk()))))


def _in_spark(row: Function, count: int) -> str | None:
    """A call with placeholders in Spark SQL; None if types decide, or the syntax is its own."""
    if row.spark is not None:
        return row.written([quote(f"{_ARGUMENT}{at}") for at in range(count)])
    # Of some arguments only a literal is taken, such as a path: here it is the name of a placeholder.
    arguments: list[Expr] = [exp.column(f"{_ARGUMENT}0", quoted=True)]
    arguments += [exp.Literal.string(f"{_ARGUMENT}{at}") for at in range(1, count)]
    written = without_types(row, exp.Anonymous(this=row.name, expressions=arguments))
    return None if written is None else re.sub(rf"'({_ARGUMENT}\d)'", r"`\1`", written)


def _has(tree: Expr, at: int) -> bool:
    return any(column.name == f"{_ARGUMENT}{at}" for column in tree.find_all(exp.Column))


def _matches(pattern: Expr, node: Expr, bindings: dict[str, Expr]) -> bool:
    """Whether a tree matches the pattern, with any subtrees as arguments. bindings: these arguments, by placeholder."""
    if isinstance(pattern, exp.Column) and pattern.name.startswith(_ARGUMENT):
        return bindings.setdefault(pattern.name, node) == node
    if type(pattern) is not type(node):
        return False
    if isinstance(pattern, exp.Anonymous) and pattern.name.upper() != node.name.upper():
        return False
    mine, theirs = list(_parts(pattern)), list(_parts(node))
    return len(mine) == len(theirs) and all(
        key == other and (_matches(a, b, bindings) if isinstance(a, exp.Expr) and isinstance(b, exp.Expr) else a == b)
        for (key, a), (other, b) in zip(mine, theirs, strict=True)
    )


def _parts(node: Expr) -> Iterator[tuple[str, object]]:
    for key, value in node.args.items():
        if isinstance(node, exp.Anonymous) and key == "this":
            continue
        for item in value if isinstance(value, list) else [value]:
            if item is not None and item is not False:
                yield key, item


def _of_matches() -> frozenset[str]:
    """The functions that only measures and conditions of MATCH_RECOGNIZE call."""
    return frozenset({"FIRST", "LAST", "MATCH_ROWTIME", *functions()})


def _bare(text: str) -> str:
    """A text without blanks, case and parentheses, for comparison."""
    return "".join(text.lower().replace("(", "").replace(")", "").split())
