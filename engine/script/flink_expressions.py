"""Spark SQL expressions as equivalent Flink SQL: the inverse of `engine.sql.functions.expressions`.

A text with the same meaning in both stays as written. Functions are translated back by their entries in
`engine.functions`; a function without an entry stays, with a warning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from sqlglot import exp

from engine.aggregates.registry import functions
from engine.expressions.parsing import SPARK, UNREADABLE, tree_of
from engine.expressions.spellings import without_types
from engine.functions import FUNCTIONS, ROWS
from engine.functions.function import Function
from engine.functions.of_texts import TEXT_OF_BYTES
from engine.functions.of_times import EXTRACTED
from engine.model.type_texts import type_from
from engine.model.types import DATE, INTEGERS, TIMESTAMP, TIMESTAMP_NTZ, Type, literal, quote
from engine.sql.algebra import Expr
from engine.sql.dialect import Flink
from engine.sql.functions.moments import IN_UTC, READABLE, TO_MILLISECONDS

_ALIKE: Final[dict[type[Expr], str]] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Mod: "%",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.And: "AND",
    exp.Or: "OR",
    exp.Is: "IS",
    exp.DPipe: "||",
    exp.Like: "LIKE",
}
_MOST_ARGUMENTS: Final = 4
_ARGUMENT: Final = "__argument"
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
        written = self._write(tree)
        return text if _bare(written) == _bare(text) else written

    def _write(self, node: Expr) -> str:
        kind = type(node)
        call = self._by_pattern(node)
        if call is not None:
            return call
        if kind in _ALIKE:
            return f"{self._write(node.this)} {_ALIKE[kind]} {self._write(node.expression)}"
        match node:
            case exp.Column():
                return str(node.sql(dialect=Flink))
            case exp.Paren():
                return f"({self._write(node.this)})"
            case exp.Literal():
                return literal(node.name) if node.is_string else node.name
            case exp.Boolean():
                return "TRUE" if node.this else "FALSE"
            case exp.Null():
                return "NULL"
            case exp.Neg():
                return f"- {self._write(node.this)}"
            case exp.Not(this=exp.Is() as test):
                return f"{self._write(test.this)} IS NOT {self._write(test.expression)}"
            case exp.Not():
                return f"NOT {self._write(node.this)}"
            case exp.NullSafeEQ():
                return f"{self._write(node.this)} IS NOT DISTINCT FROM {self._write(node.expression)}"
            case exp.RegexpLike():
                return f"REGEXP({self._write(node.this)}, {self._write(node.expression)})"
            case exp.Between():
                low, high = self._write(node.args["low"]), self._write(node.args["high"])
                return f"{self._write(node.this)} BETWEEN {low} AND {high}"
            case exp.In() if node.expressions:
                return f"{self._write(node.this)} IN ({', '.join(map(self._write, node.expressions))})"
            case exp.Escape():
                return f"{self._write(node.this)} ESCAPE {self._write(node.expression)}"
            case exp.Div():
                return self._divided(node)
            case exp.IntDiv():
                return f"CAST({self._write(node.this)} / {self._write(node.expression)} AS BIGINT)"
            case exp.Cast():
                return self._cast(node)
            case exp.Case():
                return self._case(node)
            case exp.If():
                parts = (node.this, node.args.get("true"), node.args.get("false"))
                return f"IF({', '.join(self._write(part) for part in parts if part is not None)})"
            case exp.Interval():
                return str(node.sql(dialect=Flink))
            case exp.Dot() if isinstance(node.expression, exp.Identifier):
                return f"{self._write(node.this)}.{quote(node.expression.name)}"
            case exp.Anonymous():
                return self._call(node)
            case exp.Star():
                return "*"
            case exp.Substring():
                parts = (node.this, node.args.get("start"), node.args.get("length"))
                return f"substring({', '.join(self._write(part) for part in parts if part is not None)})"
            case exp.Extract():
                return f"EXTRACT({node.name.upper()} FROM {self._write(node.expression)})"
            case exp.Floor() | exp.Ceil() if node.args.get("to") is None:
                return f"{node.key.upper()}({self._write(node.this)})"
            case _:
                text = str(node.sql(dialect=Flink))
                self.unknown.append(text)
                return text

    def _divided(self, node: exp.Div) -> str:
        """A division: of integers, Spark's result is a DOUBLE, Flink's an integer."""
        left, right = self._write(node.this), self._write(node.expression)
        types = [self._type(side) for side in (node.this, node.expression)]
        return f"CAST({left} AS DOUBLE) / {right}" if all(type_ in INTEGERS for type_ in types) else f"{left} / {right}"

    def _cast(self, node: exp.Cast) -> str:
        inner = node.this
        if isinstance(inner, exp.IntDiv) and self._type(inner.this) in INTEGERS:
            return f"({self._write(inner.this)} / {self._write(inner.expression)})"
        word = "TRY_CAST" if node.args.get("safe") else "CAST"
        try:
            target = type_from(node.to.sql(dialect=SPARK)).flink
        except ValueError:
            target = str(node.to.sql(dialect=Flink))
        return f"{word}({self._write(inner)} AS {target})"

    def _case(self, node: exp.Case) -> str:
        subject = f" {self._write(node.this)}" if node.this is not None else ""
        branches = " ".join(
            f"WHEN {self._write(branch.this)} THEN {self._write(branch.args['true'])}" for branch in node.args["ifs"]
        )
        default = node.args.get("default")
        otherwise = f" ELSE {self._write(default)}" if default is not None else ""
        return f"CASE{subject} {branches}{otherwise} END"

    def _call(self, node: exp.Anonymous) -> str:
        name = str(node.this)
        arguments = [self._write(argument) for argument in node.expressions]
        match name.upper():
            case "LEFT" if isinstance(node.expressions[0], exp.Cast) and node.expressions[1].name.isdigit():
                return f"CAST({self._write(node.expressions[0].this)} AS VARCHAR({node.expressions[1].name}))"
            case "DATE_TRUNC" if len(arguments) == 2 and node.expressions[0].name.upper() in _UNITS:
                return self._floor(node.expressions[0].name.upper(), node.expressions[1])
            case "TRY_ELEMENT_AT" if len(arguments) == 2:
                return f"{arguments[0]}[{arguments[1]}]"
            case "ARRAY":
                return f"ARRAY[{', '.join(arguments)}]"
            case "NAMED_STRUCT" if len(arguments) > 1:
                return self._row(node.expressions)
            case "TO_JSON" if len(node.expressions) == 1 and node.expressions[0].name.upper() == "STRUCT":
                return self._key(node.expressions[0].expressions)
            case "TIMESTAMPDIFF" | "TIMESTAMPADD" if len(arguments) == 3:
                return f"{name.upper()}({node.expressions[0].name.upper()}, {arguments[1]}, {arguments[2]})"
            case upper if upper not in FUNCTIONS and upper not in _BOTH and upper not in _of_matches():
                self.unknown.append(f"{name}()")
        return f"{name}({', '.join(arguments)})"

    def _floor(self, unit: str, moment: Expr) -> str:
        """A moment cut off to a unit. Spark's result is an instant whatever the moment is."""
        floor = f"FLOOR({self._write(moment)} TO {unit})"
        return floor if self._type(moment).is_instant else f"CAST({floor} AS TIMESTAMP_LTZ(3))"

    def _row(self, parts: list[Expr]) -> str:
        """A row; a row with its own field names becomes a CAST."""
        row = f"ROW({', '.join(map(self._write, parts[1::2]))})"
        names = [part.name for part in parts[::2]]
        if names == [f"EXPR${at}" for at in range(len(names))]:
            return row
        types = [self._type(part).flink for part in parts[1::2]]
        return f"CAST({row} AS ROW<{', '.join(f'{quote(n)} {t}' for n, t in zip(names, types, strict=True))}>)"

    def _key(self, parts: list[Expr]) -> str:
        """Values as one string in which NULL is a normal value: each value is prefixed with its length."""
        texts = [f"CAST({self._write(part.unalias())} AS STRING)" for part in parts]
        items = [f"COALESCE(CONCAT(CAST(CHAR_LENGTH({text}) AS STRING), ':', {text}), 'NULL')" for text in texts]
        return items[0] if len(items) == 1 else f"CONCAT_WS(',', {', '.join(items)})"

    def _by_pattern(self, node: Expr) -> str | None:
        """The call of the Flink function whose Spark SQL equals a tree, or None."""
        if not isinstance(node, exp.Func | exp.Cast | exp.RegexpLike | exp.Div | exp.Paren | exp.Case):
            return None
        for name, count, pattern in _patterns():
            bindings: dict[str, Expr] = {}
            if _matches(pattern, node, bindings):
                arguments = [self._write(bindings[f"{_ARGUMENT}{at}"]) for at in range(count)]
                return name.format(*arguments) if "{" in name else f"{name}({', '.join(arguments)})"
        return None

    def _type(self, node: Expr) -> Type:
        return self.type_of(node.sql(dialect=SPARK))


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
                patterns.append((row.name, count, tree))
    for unit, template in EXTRACTED.items():
        if unit not in FUNCTIONS:
            text = f"CAST({template} AS BIGINT)".replace("{0}", quote(f"{_ARGUMENT}0"))
            patterns.append((f"EXTRACT({unit} FROM {{0}})", 1, tree_of(text)))
    for template, flink in _MORE.items():
        count = template.count("{1}") and 2 or 1
        text = template
        for at in range(count):
            text = text.replace("{" + str(at) + "}", quote(f"{_ARGUMENT}{at}"))
        patterns.append((flink, count, tree_of(text)))
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
