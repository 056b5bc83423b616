"""The type of a Spark SQL expression over the columns of a schema, as Spark's analyzer would say it, without Spark.

None where Spark would refuse the expression, and where the rules here do not reach: then Spark is asked. A test
compares every answer with Spark's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from sqlglot import exp

from engine.errors import unknown_name
from engine.expressions.allowed import foreign_types, tree_of_names
from engine.expressions.coercion import (
    are_comparable,
    arithmetic,
    can_cast,
    common,
    common_of,
    is_interval,
    is_ordered,
    whole_quotient,
)
from engine.expressions.functions import names
from engine.expressions.part_types import (
    Unknown,
    are_alike,
    as_rounded,
    concatenated,
    declared_type,
    digits_of,
    element_of,
    extracted,
    field_of,
    interval_type,
    is_condition,
    known,
    number_type,
    places_of,
    require,
    rounded,
    shifted_moment,
    whole_number,
)
from engine.expressions.signatures import result_of
from engine.model.schema import Schema
from engine.model.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGERS,
    STRING,
    TIMESTAMP,
    VARIANT,
    VOID,
    Array,
    Decimal,
    Map,
    Plain,
    Row,
    Type,
)

_CASTS: Final = {str(type_): type_ for type_ in (*INTEGERS, FLOAT, DOUBLE, STRING, BOOLEAN, BINARY, DATE, TIMESTAMP)}
_SIGNS: Final[dict[type[exp.Expr], str]] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}
_COMPARISONS: Final = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)
_BITS: Final = (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor)
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d(\.\d{1,6})?)?)?")
_SHIFTS: Final = names("YEAR QUARTER MONTH WEEK DAY HOUR MINUTE SECOND MILLISECOND MICROSECOND")

Variables = Mapping[str, Type]
"""The parameters of the lambdas around an expression."""


def inferred(text: str, schema: Schema) -> Type | None:
    """The type of an expression, or None if Spark has to be asked. Raises UnresolvedColumn."""
    try:
        tree = tree_of_names(text)
        if tree is None or not set(foreign_types(text)) <= {column.name.lower() for column in schema}:
            return None
        return _Inference(schema).type(tree, {})
    except (Unknown, RecursionError):
        return None


class UnresolvedColumn(Exception):
    """A name that no column has; its text is a sentence that says so, with the columns there are."""


class _Inference:
    """The types of the parts of one expression."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def type(self, node: exp.Expr, variables: Variables) -> Type:
        """The type of a part. Raises Unknown."""

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
                require(all(is_condition(of(part)) for part in node.flatten()))
                return BOOLEAN
            case exp.Not():
                require(is_condition(of(node.this)))
                return BOOLEAN
            case exp.Is():
                tested = of(node.this)
                is_known = isinstance(node.expression, exp.Null)
                require(is_known or (isinstance(node.expression, exp.Boolean) and is_condition(tested)))
                return BOOLEAN
            case exp.Neg():
                value = of(node.this)
                require(value.is_number or is_interval(value))
                return value
            case exp.Interval():
                return interval_type(node)
            case exp.Case() | exp.If():
                return self._case(node, variables)
            case exp.Cast():
                return self._cast(node, variables)
            case exp.Bracket() if len(node.expressions) == 1:
                return element_of(of(node.this), of(node.expressions[0]))
            case exp.Anonymous():
                return self._call(node, variables)
            case exp.Transform():
                return self._transformed([node.this, node.expression], variables)
            case _:
                return self._operator(node, variables)

    def _operator(self, node: exp.Expr, variables: Variables) -> Type:
        def of(part: exp.Expr | str) -> Type:
            return self.type(node.args[part] if isinstance(part, str) else part, variables)

        kind = type(node)
        if kind in _SIGNS:
            return self._arithmetic(node, of(node.this), of(node.expression))
        if kind in _COMPARISONS:
            require(are_comparable(of(node.this), of(node.expression)))
            return BOOLEAN
        if kind in _BITS:
            sides = of(node.this), of(node.expression)
            require(all(side in INTEGERS for side in sides))
            return known(common(*sides))
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
                require({of(node.this), of(node.expression)} <= {STRING, VOID})
                return BOOLEAN
            case exp.Escape() if isinstance(node.this, exp.Like | exp.ILike):
                require(isinstance(node.expression, exp.Literal) and len(node.expression.name) == 1)
                return of(node.this)
            case exp.Substring():
                value = of(node.this)
                places = [of(part) for part in (node.args.get("start"), node.args.get("length")) if part is not None]
                require(value in (STRING, BINARY) and all(place in INTEGERS[:3] for place in places))
                return value
            case exp.StrPosition():
                require(node.args.get("position") is None and {of(node.this), of("substr")} <= {STRING, VOID})
                return INT
            case exp.Trim():
                parts = [node.this, *([node.expression] if node.expression is not None else [])]
                require(all(of(part) in (STRING, VOID) for part in parts))
                return STRING
            case exp.Overlay():
                places = [of(part) for part in (node.args["from_"], node.args.get("for_")) if part is not None]
                require({of(node.this), of(node.expression)} == {STRING} and set(places) <= {*INTEGERS[:3]})
                return STRING
            case exp.Extract():
                return extracted(node.name.upper(), of(node.expression))
            case exp.Floor() | exp.Ceil() if node.args.get("to") is None:
                value, digits = of(node.this), node.args.get("decimals")
                return whole_number(value) if digits is None else rounded(as_rounded(value), places_of(digits))
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
            require(len(columns) == 1)
            type_ = columns[0].type
        for name in path[1:]:
            type_ = field_of(type_, name)
        return type_

    def _arithmetic(self, node: exp.Expr, one: Type, other: Type) -> Type:
        left, right = digits_of(node.this), digits_of(node.expression)
        # Beside a DECIMAL, a whole number has the digits that are written.
        if left is not None and isinstance(other, Decimal) and one in INTEGERS:
            one = Decimal(len(left), 0)
        if right is not None and isinstance(one, Decimal) and other in INTEGERS:
            other = Decimal(len(right), 0)
        if isinstance(node, exp.Sub) and one.is_time and other.is_time:
            return Plain("interval day") if one == other == DATE else Plain("interval day to second")
        return known(arithmetic(_SIGNS[type(node)], one, other))

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

    def _call(self, node: exp.Anonymous, variables: Variables) -> Type:
        name, given = str(node.this).lower(), node.expressions
        match name:
            case "filter" | "exists" | "forall" | "map_filter" if len(given) == 2:
                return self._tested(name, given, variables)
            case "aggregate" | "reduce":
                return self._folded(given, variables)
            case "transform":
                return self._transformed(given, variables)
            case "timestampdiff" | "timestampadd" if len(given) == 3 and given[0].name.upper() in _SHIFTS:
                return shifted_moment(name, [self.type(part, variables) for part in given[1:]])
            case "try_variant_get" | "variant_get" if len(given) == 3 and isinstance(given[2], exp.Literal):
                require(self.type(given[0], variables) == VARIANT and isinstance(given[1], exp.Literal))
                written = given[2].name.lower()
                return VARIANT if written == "variant" else known(_CASTS.get(written))
            case "from_json" if len(given) == 2 and isinstance(given[1], exp.Literal):
                require(self.type(given[0], variables) == STRING and given[1].name == "array<string>")
                return Array(STRING)
        types = [self.type(part, variables) for part in given]
        match name:
            case "array" if given:
                return Array(known(common_of(types)))
            case "map" if given and len(given) % 2 == 0:
                key, value = known(common_of(types[::2])), known(common_of(types[1::2]))
                require(not isinstance(key, Map) and key != VOID)
                return Map(key, value)
            case "named_struct" if given and len(given) % 2 == 0:
                require(all(isinstance(part, exp.Literal) and part.is_string for part in given[::2]))
                return Row(tuple((part.name, type_) for part, type_ in zip(given[::2], types[1::2], strict=True)))
            case "struct" if given:
                return Row(
                    tuple(
                        (self._name(at, part), type_) for at, (part, type_) in enumerate(zip(given, types, strict=True))
                    )
                )
            case "concat":
                return concatenated(types)
            case "concat_ws" if types:
                require(types[0] == STRING and all(type_ in (STRING, Array(STRING), VOID) for type_ in types[1:]))
                return STRING
            case "nullif" if len(types) == 2:
                require(are_alike(*types))
                return types[0]
            case "greatest" | "least" if len(types) > 1:
                shared = known(common_of(types))
                require(are_comparable(shared, shared))
                return shared
            case "mod" if len(types) == 2:
                return self._arithmetic(exp.Mod(this=given[0].copy(), expression=given[1].copy()), *types)
            case "round" | "bround" if len(types) in (1, 2) and types[0].is_number:
                places = places_of(given[1]) if len(given) == 2 else 0
                return rounded(types[0], places)
            case _ if name in _CASTS and len(types) == 1:
                require(can_cast(types[0], _CASTS[name]))
                return _CASTS[name]
        return known(result_of(name, types))

    def _name(self, at: int, part: exp.Expr) -> str:
        """The name of a field of STRUCT(...)."""
        if isinstance(part, exp.Alias):
            return str(part.alias)
        if isinstance(part, exp.Column):
            require(not part.table and part.name in self.schema)
            return str(part.name)
        require(not isinstance(part, exp.Dot | exp.Identifier))
        return f"col{at + 1}"

    def _lambda(self, node: exp.Expr, variables: Variables, *types: Type) -> Type:
        """The result of a lambda, whose parameters have these types."""
        require(isinstance(node, exp.Lambda) and len(node.expressions) <= len(types))
        names = (parameter.name.lower() for parameter in node.expressions)
        return self.type(node.this, {**variables, **dict(zip(names, types, strict=False))})

    def _tested(self, name: str, given: Sequence[exp.Expr], variables: Variables) -> Type:
        values = self.type(given[0], variables)
        if name == "map_filter":
            require(isinstance(values, Map) and len(given[1].expressions) == 2)
            parameters: tuple[Type, ...] = (values.key, values.value) if isinstance(values, Map) else ()
        else:
            require(isinstance(values, Array))
            parameters = (values.element, INT) if isinstance(values, Array) else ()
            require(name == "filter" or len(given[1].expressions) == 1)
        require(is_condition(self._lambda(given[1], variables, *parameters)))
        return BOOLEAN if name in ("exists", "forall") else values

    def _transformed(self, given: Sequence[exp.Expr], variables: Variables) -> Type:
        values = self.type(given[0], variables)
        if len(given) != 2 or not isinstance(values, Array):
            raise Unknown
        return Array(self._lambda(given[1], variables, values.element, INT))

    def _folded(self, given: Sequence[exp.Expr], variables: Variables) -> Type:
        if len(given) not in (3, 4) or not isinstance(values := self.type(given[0], variables), Array):
            raise Unknown
        start = self.type(given[1], variables)
        require(self._lambda(given[2], variables, start, values.element) == start)
        return start if len(given) == 3 else self._lambda(given[3], variables, start)
