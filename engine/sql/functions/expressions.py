"""Bound expressions, written as Spark SQL with Flink's meaning.

Differences between the two are in separate files: numbers, casts, patterns, moments, scalars and so on. A TIMESTAMP
has no zone and a TIMESTAMP_LTZ has one. Expressions without a known equivalent are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from typing import Final

from sqlglot import exp

from engine.errors import ExpressionError
from engine.expressions.coercion import is_interval
from engine.expressions.flink_sql import FlinkSql
from engine.functions import FUNCTIONS
from engine.functions.function import BadCall, Write, given
from engine.functions.json_calls import collected, is_json
from engine.functions.refused import UNIX_TIMESTAMP, no_function
from engine.functions.rows import row
from engine.functions.spark_text import column_named, literal, noted, spark_sql, text, written_number
from engine.model.schema import Schema
from engine.model.types import BIGINT, MILLISECONDS, Array, Timestamp, Type
from engine.sql.algebra import Expr
from engine.sql.dialect import Flink
from engine.sql.flink_text import Typed, told_in_flink
from engine.sql.functions.casts import cast
from engine.sql.functions.digits import digits_of
from engine.sql.functions.interval_values import DIFFERENCE, as_text, between
from engine.sql.functions.intervals import has_fixed_length, interval_ms
from engine.sql.functions.mixed_types import ordered, refuse_mixed, united
from engine.sql.functions.moments import cut_off, extracted, formatted, from_epoch, parsed, require_pattern, shifted
from engine.sql.functions.numbers import arithmetic, number, rounded
from engine.sql.functions.patterns import like, similar
from engine.sql.functions.periods import overlapping
from engine.sql.functions.quantified import compared_with_each
from engine.sql.functions.rows import constructed, equal_fields, field, of_one_type
from engine.sql.functions.type_names import type_name
from engine.sql.rejected import NoClock, SqlRejected

_BINARY: Final[dict[type[Expr], str]] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.Is: "IS",
    exp.NullSafeEQ: "<=>",
    exp.DPipe: "||",
}

_CONNECTORS: Final[dict[type[Expr], str]] = {exp.And: "AND", exp.Or: "OR"}
# A longer chain is written as a tree: each reader of it goes as deep as it is nested.
_CHAINED: Final = 16
_STRICT: Final = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.DPipe)
_ORDERED: Final = (exp.LT, exp.LTE, exp.GT, exp.GTE)
_UNITED: Final = ("COALESCE", "IFNULL", "IF", "GREATEST", "LEAST")


@dataclass(frozen=True)
class Writer:
    """Writes expressions over one input.

    names: by bound column, its name in the input. type_of: the Spark type of an expression. schema: of the input.
    """

    names: Mapping[str, str]
    type_of: Callable[[str], Type]
    schema: Schema = Schema(())

    def is_nullable(self, column: str) -> bool:
        """Whether a bound column can be NULL."""
        name = self.names.get(column, "")
        return name not in self.schema or self.schema.column(name).nullable

    def digits_of(self, column: str) -> int:
        """The digits of a second that a bound column has."""
        name = self.names.get(column, "")
        type_ = self.schema.column(name).type if name in self.schema else None
        return type_.precision if isinstance(type_, Timestamp) else MILLISECONDS

    def write(self, expression: Expr) -> FlinkSql:
        """The expression as Spark SQL, beside itself. Raises SqlRejected for expressions without an equivalent."""
        try:
            return FlinkSql(Typed(expression, self.names), noted(self._written(expression)))
        except ExpressionError as error:
            raise SqlRejected(told_in_flink(error.reason, error.expression), expression) from error

    def argument(self, expression: Expr) -> FlinkSql:
        """The expression as an aggregate takes it: a moment with its digits."""
        written = self.write(expression)
        is_moment = isinstance(self.type_of(written), Timestamp)
        return written.bound(written, digits_of(self, expression)) if is_moment else written

    def result(self, expression: Expr) -> FlinkSql:
        """The expression as a result has it: a length of time as a text, which has a type, a moment with its digits."""
        written = self.argument(expression)
        return written.bound(as_text(self, written)) if is_interval(self.type_of(written)) else written

    def _written(self, expression: Expr) -> str:
        if (listed := compared_with_each(expression)) is not None:
            return self.write(listed)
        kind = type(expression)
        if isinstance(expression, exp.Is) and (test := is_json(self, expression)) is not None:
            return test
        if kind in _CONNECTORS:
            terms = [self._compared(term) for term in expression.flatten(unnest=False)]
            return _connected(terms, _CONNECTORS[kind])
        if kind in _BINARY:
            if kind is exp.EQ and (equality := equal_fields(expression.this, expression.expression)) is not None:
                return self.write(equality)
            if kind in _STRICT:
                refuse_mixed(self, expression)
            sides: Sequence[Expr] = (expression.this, expression.expression)
            left, right = map(self._compared, ordered(self, sides) if kind in _ORDERED else sides)
            return spark_sql("({} {sign} {})", left, right, sign=_BINARY[kind])
        match expression:
            case exp.Add() | exp.Sub() | exp.Mul() | exp.Mod() | exp.Div():
                refuse_mixed(self, expression)
                return arithmetic(self, expression)
            case exp.Column():
                return self._column(expression)
            case exp.Paren():
                return self.write(expression.this)
            case exp.Literal():
                return literal(expression.name) if expression.is_string else number(expression)
            case exp.HexString():
                return spark_sql("X'{digits}'", digits=expression.name)
            case exp.Boolean():
                return spark_sql("TRUE" if expression.this else "FALSE")
            case exp.Null():
                return spark_sql("NULL")
            case exp.Neg():
                return spark_sql("(- {})", self.write(expression.this))
            case exp.Not():
                return spark_sql("(NOT {})", self.write(expression.this))
            case exp.NullSafeNEQ():
                refuse_mixed(self, expression)
                return spark_sql("(NOT ({} <=> {}))", self.write(expression.this), self.write(expression.expression))
            case exp.Between():
                return self._between(expression)
            case exp.In() if expression.expressions:
                return self._in(expression)
            case exp.Like():
                return like(self, expression)
            case exp.Escape() if isinstance(expression.this, exp.Like):
                return like(self, expression.this, expression.expression)
            case exp.SimilarTo():
                return similar(self, expression)
            case exp.Cast():
                return cast(self, expression)
            case exp.Overlaps():
                return overlapping(self, expression)
            case exp.Case() | exp.If():
                return self._case(expression)
            case exp.Interval():
                return self._interval(expression)
            case exp.Bracket() if len(expression.expressions) == 1:
                return self._element(expression)
            case exp.Struct():
                # A key of several values, in which NULL is a normal value.
                # Both sides of a join use the same names.
                fields = ", ".join(f"{{}} AS c{at}" for at in range(len(expression.expressions)))
                return spark_sql(f"to_json(struct({fields}))", *map(self.write, expression.expressions))
            case exp.Tuple():
                return row(self, expression)
            case exp.FormatJson() | exp.JSONKeyValue() | exp.JSONArray() | exp.JSONObject():
                return collected(self, expression)
            case exp.Dot():
                return field(self, expression)
            case exp.Array(expressions=[]):
                message = "ARRAY[] needs a value, from which its type follows: ARRAY[a, b]."
                raise SqlRejected(message, expression)
            case exp.Array():
                elements = united(self, expression, list(map(self.write, expression.expressions)))
                return spark_sql("array({})", of_one_type(self, elements))
            case _:
                return self._function(expression)

    def _column(self, column: exp.Column) -> str:
        if column.name not in self.names:
            message = (
                f"{column.name!r} is a processing time, which stands for the order of arrival and has no value. "
                "It can order a ROW_NUMBER; leave it out elsewhere."
            )
            raise NoClock(message, column)
        return column_named(self.names[column.name])

    def _element(self, element: exp.Bracket) -> str:
        """An element of an array or a map. Flink counts from 1; a missing element is NULL."""
        whole, place = map(self.write, (element.this, *element.expressions))
        if re.fullmatch(r"0|\(- \d+\)", place) and isinstance(self.type_of(whole), Array):
            message = f"an ARRAY has no element at {place.strip('()').replace(' ', '')}. Places count from 1: [1]."
            raise SqlRejected(message, element)
        if not place.isdecimal() and isinstance(self.type_of(whole), Array):
            if self.type_of(place) == BIGINT:
                message = "the place in an ARRAY is an INT, not a BIGINT, as in Flink. Write CAST(... AS INT)."
                raise SqlRejected(message, element)
            # Spark counts places below 1 from the end, or fails.
            return spark_sql("get({}, {} - 1)", whole, place)
        return spark_sql("try_element_at({}, {})", whole, place)

    def _compared(self, node: Expr) -> str:
        """A side of a comparison, where the digits of a literal do not matter."""
        bare = node.unnest()
        is_number = isinstance(bare, exp.Literal) and not bare.is_string
        return written_number(bare.name) if is_number else self.write(node)

    def _in(self, test: exp.In) -> str:
        if constructed(test.this) is not None:
            alternatives = [equal_fields(test.this, item) for item in test.expressions]
            if all(alternatives):
                return _connected([self.write(equality) for equality in alternatives if equality is not None], "OR")
        return spark_sql("({} IN ({}))", self.write(test.this), list(map(self._compared, test.expressions)))

    def _between(self, between: exp.Between) -> str:
        sides = ordered(self, (between.this, between.args["low"], between.args["high"]))
        value, low, high = map(self._compared, sides)
        template = "({0} BETWEEN {1} AND {2})"
        if between.args.get("symmetric"):
            template = f"({template} OR ({{0}} BETWEEN {{2}} AND {{1}}))"
        return spark_sql(template, value, low, high)

    def _case(self, case: exp.Case | exp.If) -> str:
        is_if = isinstance(case, exp.If)
        ifs = [case] if is_if else case.args["ifs"]
        default = case.args.get("false" if is_if else "default")
        subject = [self.write(case.this)] if case.this is not None and not is_if else []
        results = [branch.args["true"] for branch in ifs] + ([default] if default is not None else [])
        written = of_one_type(self, united(self, case, list(map(self.write, results))))
        branches = [(self.write(branch.this), result) for branch, result in zip(ifs, written, strict=False)]
        otherwise = written[len(branches) :]
        words = ["CASE", "{}" * len(subject), "WHEN {} THEN {} " * len(branches), "ELSE {}" * len(otherwise), "END"]
        return spark_sql(" ".join(filter(None, map(str.strip, words))), *subject, *chain(*branches), *otherwise)

    def _interval(self, interval: exp.Interval) -> str:
        if has_fixed_length(interval):
            # Spark reads some texts that Flink refuses.
            interval_ms(interval)
        unit = interval.args.get("unit")
        if isinstance(unit, exp.IntervalSpan):
            words = f"{unit.this.name.upper()} TO {unit.expression.name.upper()}"
        else:
            words = unit.name.upper() if unit is not None else "SECOND"
        length = interval.this.name
        if isinstance(interval.this, exp.Neg):
            # INTERVAL -'2' SECOND
            length = length[1:] if length.startswith("-") else f"-{length}"
        return spark_sql("INTERVAL {length} {words}", length=text(length), words=words)

    def _function(self, call: Expr) -> str:
        match call:
            case exp.Substring():
                return self._substring(call)
            case exp.StrPosition():
                return spark_sql("locate({})", [self.write(call.args["substr"]), self.write(call.this)])
            case exp.Trim():
                where = call.args.get("position") or "BOTH"
                what = call.expression
                characters = [self.write(what)] if isinstance(what, exp.Expression) else []
                template = f"trim({where} {'{} ' * len(characters)}FROM {{}})"
                return spark_sql(template, *characters, self.write(call.this))
            case exp.Overlay():
                return self._overlaid(call)
            case exp.Extract():
                return extracted(self, call)
            case exp.Floor() | exp.Ceil():
                return rounded(self, call) if call.args.get("to") is None else cut_off(self, call)
            case exp.Anonymous():
                return self._named(call)
            case _:
                message = f"{call.sql(dialect=Flink)} is not supported here."
                raise SqlRejected(message, call)

    def _substring(self, call: exp.Substring) -> str:
        parts = [self.write(part) for part in (call.this, call.args.get("start"), call.args.get("length")) if part]
        cut = spark_sql("substring({})", parts)
        length = call.args.get("length")
        # A negative length gives NULL, not an empty text.
        is_safe = length is None or isinstance(length.unnest(), exp.Literal)
        return cut if is_safe else spark_sql("CASE WHEN {} >= 0 THEN {} END", parts[2], cut)

    def _overlaid(self, call: exp.Overlay) -> str:
        whole, part, start = (self.write(call.args[name]) for name in ("this", "expression", "from_"))
        length = call.args.get("for_")
        many = [self.write(length)] if length is not None else []
        replaced = f"overlay({{0}} PLACING {{1}} FROM {{2}}{' FOR {3}' * len(many)})"
        template = f"CASE WHEN {{2}} BETWEEN 1 AND char_length({{0}}) THEN {replaced} ELSE {{0}} END"
        return spark_sql(template, whole, part, start, *many)

    def _named(self, call: exp.Anonymous) -> str:
        name = call.name.upper()
        if name in ("TIMESTAMPDIFF", "TIMESTAMPADD") and len(call.expressions) == 3:
            return shifted(self, call)
        if name == DIFFERENCE:
            return between(self, call)
        if name == "TYPEOF" and len(call.expressions) in (1, 2):
            return type_name(self, call)
        function = FUNCTIONS.get(name)
        if function is None:
            raise SqlRejected(no_function("function", name, sorted(FUNCTIONS)), call)
        count = len(given(call))
        if name == "UNIX_TIMESTAMP" and count == 0:
            raise SqlRejected(UNIX_TIMESTAMP, call)
        if not function.takes(count):
            message = f"{name} takes {_counted(function.least, function.most)}, but it is given {count}."
            raise SqlRejected(message, call)
        if (written := self._by_rule(function.write, call)) is not None:
            return written
        arguments = of_one_type(self, [self.write(argument) for argument in call.expressions])
        require_pattern(call)
        if name in _UNITED:
            condition = [arguments.pop(0)] if name == "IF" else []
            arguments = condition + united(self, call, arguments)
        match name:
            case "TO_TIMESTAMP_LTZ":
                return from_epoch(self, arguments, call)
            case "TO_TIMESTAMP" | "TO_DATE" | "UNIX_TIMESTAMP":
                return parsed(name, arguments, call)
            case "DATE_FORMAT":
                return formatted(arguments, call)
            case _:
                return function.written(arguments)

    def _by_rule(self, write: Write | None, call: exp.Anonymous) -> str | None:
        """What the row of a function writes for this call. Raises SqlRejected."""
        try:
            return None if write is None else write(self, call)
        except BadCall as error:
            raise SqlRejected(str(error), error.at) from error


def _counted(least: int, most: int | None) -> str:
    if most is None:
        return f"at least {least} arguments"
    return f"{least} arguments" if least == most else f"{least} to {most} arguments"


def _connected(terms: Sequence[str], word: str) -> str:
    """Terms between ANDs or ORs, in their order."""
    if len(terms) <= _CHAINED:
        return reduce(lambda left, right: spark_sql("({} {word} {})", left, right, word=word), terms)
    middle = len(terms) // 2
    halves = (_connected(half, word) for half in (terms[:middle], terms[middle:]))
    return spark_sql("({} {word} {})", *halves, word=word)
