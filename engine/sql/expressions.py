"""Bound expressions, written as Spark SQL with Flink's meaning.

Where the two differ: integers divide to integers, a CAST to VARCHAR(n) cuts, EXTRACT gives a BIGINT, a
TIMESTAMP has no zone and a TIMESTAMP_LTZ has one. What is not known to mean the same is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from engine.schema import quote, type_from
from engine.sql.algebra import Expr
from engine.sql.dialect import Flink
from engine.sql.functions import EXTRACTED, SCALARS, TIME_UNITS
from engine.sql.rejected import SqlRejected

_BINARY: Final[dict[type[Expr], str]] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Mod: "%",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.And: "AND",
    exp.Or: "OR",
    exp.Is: "IS",
    exp.NullSafeEQ: "<=>",
    exp.DPipe: "||",
    exp.Like: "LIKE",
}
_INTEGERS: Final = ("tinyint", "smallint", "int", "bigint")


@dataclass(frozen=True)
class Writer:
    """Writes expressions over one input. names: by bound column, what it is called there. type_of: Spark's answer."""

    names: Mapping[str, str]
    type_of: Callable[[str], str]

    def write(self, expression: Expr) -> str:
        """The expression as Spark SQL. Raises SqlRejected for what has no equal there."""
        kind = type(expression)
        if kind in _BINARY:
            left, right = self.write(expression.this), self.write(expression.expression)
            return f"({left} {_BINARY[kind]} {right})"
        match expression:
            case exp.Column():
                return self._column(expression)
            case exp.Paren():
                return self.write(expression.this)
            case exp.Literal():
                return _text(expression.name) if expression.is_string else expression.name
            case exp.Boolean():
                return "TRUE" if expression.this else "FALSE"
            case exp.Null():
                return "NULL"
            case exp.Neg():
                return f"(- {self.write(expression.this)})"
            case exp.Not():
                return f"(NOT {self.write(expression.this)})"
            case exp.NullSafeNEQ():
                return f"(NOT ({self.write(expression.this)} <=> {self.write(expression.expression)}))"
            case exp.Between():
                low, high = self.write(expression.args["low"]), self.write(expression.args["high"])
                return f"({self.write(expression.this)} BETWEEN {low} AND {high})"
            case exp.In() if expression.expressions:
                items = ", ".join(map(self.write, expression.expressions))
                return f"({self.write(expression.this)} IN ({items}))"
            case exp.Escape():
                return f"{self.write(expression.this)[:-1]} ESCAPE {self.write(expression.expression)})"
            case exp.Div():
                return self._divided(expression)
            case exp.Cast():
                return self._cast(expression)
            case exp.Case() | exp.If():
                return self._case(expression)
            case exp.Interval():
                return self._interval(expression)
            case exp.Bracket() if len(expression.expressions) == 1:
                # Flink counts from 1, and gives NULL for what is not there.
                return f"try_element_at({self.write(expression.this)}, {self.write(expression.expressions[0])})"
            case exp.Struct():
                # A key of several values in which NULL is a value like any other.
                return f"to_json(struct({', '.join(map(self.write, expression.expressions))}))"
            case exp.Array():
                return f"array({', '.join(map(self.write, expression.expressions))})"
            case _:
                return self._function(expression)

    def _column(self, column: exp.Column) -> str:
        if column.name not in self.names:
            message = (
                f"{column.name!r} is a processing time, which stands for the order of arrival and has no value. "
                "It can order a ROW_NUMBER; leave it out elsewhere."
            )
            raise SqlRejected(message, column)
        return quote(self.names[column.name])

    def _divided(self, division: exp.Div) -> str:
        left, right = self.write(division.this), self.write(division.expression)
        types = [self.type_of(side) for side in (left, right)]
        if all(type_ in _INTEGERS for type_ in types):
            wider = max(types, key=_INTEGERS.index)
            return f"CAST({left} div {right} AS {wider.upper()})"
        return f"({left} / {right})"

    def _cast(self, cast: exp.Cast) -> str:
        value = self.write(cast.this)
        written = cast.to.sql(dialect=Flink)
        target, length = spark_type(cast.to)
        word = "TRY_CAST" if isinstance(cast, exp.TryCast) else "CAST"
        if target is None:
            message = f"there is no type {written} here. Use a type of Flink SQL without rows in it."
            raise SqlRejected(message, cast.to)
        if target == "string" and self.type_of(value) == "boolean":
            value = f"upper(CAST({value} AS STRING))"
        cast_to = f"{word}({value} AS {target.upper()})"
        return f"left({cast_to}, {length})" if length is not None else cast_to

    def _case(self, case: exp.Case | exp.If) -> str:
        if isinstance(case, exp.If):
            other = case.args.get("false")
            otherwise = f" ELSE {self.write(other)}" if other is not None else ""
            return f"CASE WHEN {self.write(case.this)} THEN {self.write(case.args['true'])}{otherwise} END"
        subject = f" {self.write(case.this)}" if case.this is not None else ""
        branches = " ".join(
            f"WHEN {self.write(one.this)} THEN {self.write(one.args['true'])}" for one in case.args["ifs"]
        )
        default = case.args.get("default")
        otherwise = f" ELSE {self.write(default)}" if default is not None else ""
        return f"CASE{subject} {branches}{otherwise} END"

    def _interval(self, interval: exp.Interval) -> str:
        unit = interval.args.get("unit")
        if isinstance(unit, exp.IntervalSpan):
            words = f"{unit.this.name.upper()} TO {unit.expression.name.upper()}"
        else:
            words = unit.name.upper() if unit is not None else "SECOND"
        return f"INTERVAL {_text(interval.this.name)} {words}"

    def _function(self, call: Expr) -> str:
        match call:
            case exp.Substring():
                parts = (call.this, call.args.get("start"), call.args.get("length"))
                return f"substring({', '.join(self.write(part) for part in parts if part is not None)})"
            case exp.StrPosition():
                return f"locate({self.write(call.args['substr'])}, {self.write(call.this)})"
            case exp.Trim():
                where = call.args.get("position") or "BOTH"
                what = call.expression
                characters = f"{self.write(what)} " if isinstance(what, exp.Expression) else ""
                return f"trim({where} {characters}FROM {self.write(call.this)})"
            case exp.Extract() if call.name.upper() in EXTRACTED:
                return f"CAST({EXTRACTED[call.name.upper()]}({self.write(call.expression)}) AS BIGINT)"
            case exp.Floor() | exp.Ceil():
                return self._rounded(call)
            case exp.Anonymous():
                return self._named(call)
            case _:
                message = f"{call.sql(dialect=Flink)} is not supported here."
                raise SqlRejected(message, call)

    def _rounded(self, call: exp.Floor | exp.Ceil) -> str:
        value = self.write(call.this)
        to = call.args.get("to")
        type_ = self.type_of(value)
        if to is None:
            found = f"{'floor' if isinstance(call, exp.Floor) else 'ceil'}({value})"
            return f"CAST({found} AS {type_.upper()})" if not type_.startswith("decimal") else found
        unit = to.name.upper()
        if unit not in TIME_UNITS:
            message = f"there is no unit {unit}; there are {', '.join(TIME_UNITS)}."
            raise SqlRejected(message, call)
        down = f"CAST(date_trunc('{unit}', {value}) AS {type_.upper()})"
        if isinstance(call, exp.Floor):
            return down
        step = "INTERVAL '3' MONTH" if unit == "QUARTER" else f"INTERVAL '{7 if unit == 'WEEK' else 1}' "
        step = step if unit == "QUARTER" else step + ("DAY" if unit == "WEEK" else unit)
        return f"CASE WHEN {down} = {value} THEN {value} ELSE {down} + {step} END"

    def _named(self, call: exp.Anonymous) -> str:
        name = call.name.upper()
        if name in ("TIMESTAMPDIFF", "TIMESTAMPADD") and len(call.expressions) == 3:
            unit, first, second = call.expressions
            found = f"{name.lower()}({unit.name.upper()}, {self.write(first)}, {self.write(second)})"
            return f"CAST({found} AS INT)" if name == "TIMESTAMPDIFF" else found
        if name == "MOD" and len(call.expressions) == 2:
            return "({} % {})".format(*map(self.write, call.expressions))
        scalar = SCALARS.get(name)
        if scalar is None:
            message = f"there is no function {name}; there are {', '.join(sorted(SCALARS))}."
            raise SqlRejected(message, call)
        count = len(call.expressions)
        if count < scalar.least or (scalar.most is not None and count > scalar.most):
            message = f"{name} takes {_counted(scalar.least, scalar.most)}, but it is given {count}."
            raise SqlRejected(message, call)
        return scalar.written([self.write(argument) for argument in call.expressions])


def spark_type(data_type: exp.DataType) -> tuple[str | None, int | None]:
    """A type of Flink SQL as Spark writes it, and the length to which a text is cut; (None, None): no such type."""
    kind = data_type.this
    sizes = [int(size.name) for size in data_type.expressions if isinstance(size, exp.DataTypeParam)]
    if kind in (exp.DType.VARCHAR, exp.DType.CHAR, exp.DType.TEXT, exp.DType.NCHAR, exp.DType.NVARCHAR):
        # CHAR alone is CHAR(1); STRING and VARCHAR(2147483647) have no limit.
        length = sizes[0] if sizes else 1 if kind is exp.DType.CHAR else None
        return "string", length if length is not None and length < 1 << 31 - 1 else None
    if kind in (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ):
        return "timestamp_ntz", None
    if kind in (exp.DType.TIMESTAMPLTZ, exp.DType.TIMESTAMPTZ):
        return "timestamp", None
    try:
        return type_from(data_type.sql(dialect="spark")), None
    except ValueError:
        return None, None


def _text(text: str) -> str:
    """A text as a Spark SQL literal, in which a backslash means itself."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _counted(least: int, most: int | None) -> str:
    if most is None:
        return f"at least {least} arguments"
    return f"{least} arguments" if least == most else f"{least} to {most} arguments"
