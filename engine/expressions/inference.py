"""The type of a Spark SQL expression over the columns of a schema, as Spark's analyzer would say it, without Spark.

What Spark would refuse, and what the rules here do not reach, is refused with a sentence. A test compares every answer
with Spark's.
"""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp

from engine.errors import unknown_name
from engine.expressions.allowed import foreign_types
from engine.expressions.calls import SIGNS, Calls, Variables
from engine.expressions.coercion import (
    accepts,
    are_comparable,
    can_cast,
    common,
    common_of,
    is_interval,
    is_ordered,
    whole_quotient,
)
from engine.expressions.parsing import tree_if_readable
from engine.expressions.part_types import (
    Unknown,
    are_alike,
    concatenated,
    cut_off,
    declared_type,
    element_of,
    extracted,
    field_of,
    interval_type,
    is_condition,
    is_truth,
    known,
    number_type,
    require,
)
from engine.expressions.signatures import result_of
from engine.expressions.untyped import UnresolvedColumn, Untyped, why_untyped
from engine.functions.spark_text import written_here
from engine.model.schema import Schema
from engine.model.types import (
    AVAILABLE,
    BINARY,
    BOOLEAN,
    DOUBLE,
    INT,
    INTEGERS,
    STRING,
    VOID,
    Type,
)

_COMPARISONS: Final = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)
_BITS: Final = (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor)
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d(\.\d{1,6})?)?)?")


def inferred(text: str, schema: Schema) -> Type:
    """The type of a readable expression. Raises Untyped and UnresolvedColumn."""
    tree = tree_if_readable(text)
    assert tree is not None
    written = () if written_here(text) is not None else foreign_types(text)
    foreign = set(written) - {column.name.lower() for column in schema}
    if foreign:
        sentence = f"{unknown_name('type', min(foreign).upper(), AVAILABLE)}."
        raise Untyped(sentence)
    return Inference(schema).type(tree, {})


class Inference(Calls):
    """The types of the parts of one expression."""

    def type(self, node: exp.Expr, variables: Variables) -> Type:
        """The type of a part. Raises Untyped, for the innermost part that has none."""
        try:
            return self._type(node, variables)
        except Unknown:
            raise Untyped(why_untyped(node, lambda part: self.type(part, variables))) from None

    def _type(self, node: exp.Expr, variables: Variables) -> Type:
        def of(part: exp.Expr) -> Type:
            return self.type(part, variables)

        match node:
            case exp.Paren() | exp.Alias():
                return of(node.this)
            case exp.Column() | exp.Identifier():
                return self._named(node, variables)
            case exp.Dot() if isinstance(node.expression, exp.Identifier):
                return field_of(of(node.this), node.expression.name)
            case exp.Literal():
                return STRING if node.is_string else number_type(str(node.this))
            case exp.RawString():
                return STRING
            case exp.HexString():
                return BINARY
            case exp.Boolean():
                return BOOLEAN
            case exp.Null():
                return VOID
            case exp.And() | exp.Or():
                truths = [of(part) for part in node.flatten()]
                require(all(map(is_truth, truths)) and (STRING not in truths or BOOLEAN in truths))
                return BOOLEAN
            case exp.Not():
                require(is_truth(of(node.this)))
                return BOOLEAN
            case exp.Is():
                tested = of(node.this)
                is_known = isinstance(node.expression, exp.Null)
                require(is_known or (isinstance(node.expression, exp.Boolean) and is_truth(tested)))
                return BOOLEAN
            case exp.Neg():
                value = of(node.this)
                require(value.is_number or is_interval(value) or value in (STRING, VOID))
                return DOUBLE if value in (STRING, VOID) else value
            case exp.Interval():
                return interval_type(node)
            case exp.Case() | exp.If():
                return self._case(node, variables)
            case exp.Cast():
                return self._cast(node, variables)
            case exp.Bracket() if len(node.expressions) == 1:
                return element_of(of(node.this), of(node.expressions[0]))
            case exp.Anonymous():
                return self.call(node, variables)
            case exp.Transform():
                return self.transformed([node.this, node.expression], variables)
            case _:
                return self._operator(node, variables)

    def _operator(self, node: exp.Expr, variables: Variables) -> Type:
        def of(part: exp.Expr | str) -> Type:
            return self.type(node.args[part] if isinstance(part, str) else part, variables)

        kind = type(node)
        if kind in SIGNS:
            return self.arithmetic(node, of(node.this), of(node.expression))
        if kind in _COMPARISONS:
            require(are_comparable(of(node.this), of(node.expression)))
            return BOOLEAN
        if kind in _BITS:
            sides = of(node.this), of(node.expression)
            whole = known(common(*sides))
            require(whole in (*INTEGERS, VOID) and set(sides) != {STRING})
            return INT if whole == VOID else whole
        match node:
            case exp.IntDiv():
                return known(whole_quotient(of(node.this), of(node.expression)))
            case exp.DPipe():
                return concatenated([of(node.this), of(node.expression)])
            case exp.Between() if not node.args.get("symmetric"):
                require(all(are_comparable(of(node.this), of(end)) for end in ("low", "high")))
                return BOOLEAN
            case exp.In() if node.expressions and not node.args.get("query"):
                value = of(node.this)
                require(is_ordered(known(common_of([value, *map(of, node.expressions)]))))
                return BOOLEAN
            case exp.Like() | exp.ILike() | exp.RegexpLike():
                require(accepts(STRING, of(node.this)))
                texts = node.expression.unnest()
                among = texts.this if isinstance(texts, exp.Any | exp.All) else texts
                several = among.expressions if isinstance(among, exp.Tuple) else [among]
                require(all(accepts(STRING, of(pattern)) for pattern in several))
                return BOOLEAN
            case exp.BitwiseLeftShift() | exp.BitwiseRightShift():
                return known(result_of("shiftleft", [of(node.this), of(node.expression)]))
            case exp.BitwiseNot():
                value = of(node.this)
                require(value in INTEGERS)
                return value
            case exp.Escape() if isinstance(node.this, exp.Like | exp.ILike):
                require(isinstance(node.expression, exp.Literal) and len(node.expression.name) == 1)
                return of(node.this)
            case exp.Substring():
                value = of(node.this)
                places = [of(part) for part in (node.args.get("start"), node.args.get("length")) if part is not None]
                require((value == BINARY or accepts(STRING, value)) and all(accepts(INT, place) for place in places))
                return BINARY if value == BINARY else STRING
            case exp.StrPosition():
                require(
                    node.args.get("position") is None
                    and all(accepts(STRING, of(part)) for part in (node.this, "substr"))
                )
                return INT
            case exp.Trim():
                parts = [node.this, *([node.expression] if node.expression is not None else [])]
                require(all(accepts(STRING, of(part)) for part in parts))
                return STRING
            case exp.Overlay():
                places = [of(part) for part in (node.args["from_"], node.args.get("for_")) if part is not None]
                require(all(accepts(STRING, of(part)) for part in (node.this, node.expression)))
                require(all(accepts(INT, place) for place in places))
                return STRING
            case exp.Extract():
                return extracted(node.name.upper(), of(node.expression))
            case exp.Floor() | exp.Ceil() if node.args.get("to") is None:
                return cut_off(of(node.this), node.args.get("decimals"))
            case _:
                raise Unknown

    def _named(self, node: exp.Expr, variables: Variables) -> Type:
        """A column, a variable of a lambda, or a field of one of them."""
        path = [part.name for part in (node.parts if isinstance(node, exp.Column) else (node,))]
        type_ = variables.get(path[0].lower())
        if type_ is None:
            columns = [column for column in self.schema if column.name.lower() == path[0].lower()]
            # Spark reads 1.a and `` as no names.
            if not columns and path[0] and not path[0][0].isdigit() and ".".join(path) not in self.schema:
                sentence = f"{unknown_name('column', '.'.join(path), self.schema.names)}."
                raise UnresolvedColumn(sentence)
            if len(columns) > 1:
                sentence = (
                    f"{path[0]!r} is ambiguous: {' and '.join(column.name for column in columns)} differ in case."
                )
                raise Untyped(sentence)
            require(len(columns) == 1)
            type_ = columns[0].type
        for name in path[1:]:
            type_ = field_of(type_, name)
        return type_

    def _case(self, node: exp.Case | exp.If, variables: Variables) -> Type:
        is_if = isinstance(node, exp.If)
        branches = [node] if is_if else node.args["ifs"]
        subject = None if is_if or node.this is None else self.type(node.this, variables)
        for branch in branches:
            test = self.type(branch.this, variables)
            require(is_condition(test) if subject is None else are_alike(subject, test))
        default = node.args.get("false" if is_if else "default")
        results = [branch.args["true"] for branch in branches] + ([] if default is None else [default])
        return known(common_of(self.type(result, variables) for result in results))

    def _cast(self, node: exp.Cast, variables: Variables) -> Type:
        target = declared_type(node.to)
        is_literal = isinstance(node.this, exp.Literal) and not isinstance(node, exp.TryCast)
        if is_literal and target.is_time:
            # DATE '2024-01-31': unlike a CAST, it has to be a date.
            require(_MOMENT.fullmatch(node.this.name) is not None)
            return target
        require(can_cast(self.type(node.this, variables), target))
        return target
