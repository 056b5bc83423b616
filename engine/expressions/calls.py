"""The types of calls whose results depend on more than the types of their arguments: on their lambdas, names, digits.

All other functions stand in `engine.expressions.signatures`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Final

from sqlglot import exp

from engine.expressions.coercion import (
    accepts,
    alike,
    are_comparable,
    arithmetic,
    can_cast,
    common,
    common_of,
    is_interval,
)
from engine.expressions.failing import TRIED
from engine.expressions.part_types import (
    Unknown,
    are_alike,
    as_number,
    concatenated,
    cut_off,
    digits_of,
    extracted,
    is_condition,
    known,
    of_json,
    places_of,
    require,
    rounded,
    shifted_moment,
)
from engine.expressions.signatures import result_of
from engine.functions.function import names
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
    Row,
    Timestamp,
    Type,
)

_CASTS: Final[dict[str, Type]] = {
    "decimal": Decimal(10, 0),
    **{str(type_): type_ for type_ in (*INTEGERS, FLOAT, DOUBLE, STRING, BOOLEAN, BINARY, DATE, TIMESTAMP)},
}
SIGNS: Final[dict[type[exp.Expr], str]] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}
_TRIED: Final = {name: sign for sign, name in TRIED.items()}
_SHIFTS: Final = names("YEAR QUARTER MONTH WEEK DAY HOUR MINUTE SECOND MILLISECOND MICROSECOND")

Variables = Mapping[str, Type]
"""The parameters of the lambdas around an expression."""


class Calls:
    """Types of calls over the columns of a schema."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    @abstractmethod
    def type(self, node: exp.Expr, variables: Variables) -> Type:
        """The type of any part. Raises Untyped."""

    def arithmetic(self, node: exp.Expr, one: Type, other: Type) -> Type:
        left, right = digits_of(node.this), digits_of(node.expression)
        # Beside a DECIMAL, a whole number has the digits that are written.
        if left is not None and isinstance(other, Decimal) and one in INTEGERS:
            one = Decimal(len(left), 0)
        if right is not None and isinstance(one, Decimal) and other in INTEGERS:
            other = Decimal(len(right), 0)
        return known(arithmetic(SIGNS[type(node)], one, other))

    def call(self, node: exp.Anonymous, variables: Variables) -> Type:
        name, given = str(node.this).lower(), node.expressions
        match name:
            case "filter" | "exists" | "forall" | "map_filter" if len(given) == 2:
                return self._tested(name, given, variables)
            case "aggregate" | "reduce":
                return self._folded(given, variables)
            case "transform":
                return self.transformed(given, variables)
            case "timestampdiff" | "timestampadd" | "dateadd" | "datediff" | "date_diff" if (
                len(given) == 3 and given[0].name.upper() in _SHIFTS
            ):
                return shifted_moment(name, [self.type(part, variables) for part in given[1:]])
            case "date_part" | "datepart" if len(given) == 2 and isinstance(given[0], exp.Literal):
                return extracted(given[0].name.upper(), self.type(given[1], variables))
            case "transform_values" | "transform_keys" if len(given) == 2:
                return self._remapped(name, given, variables)
            case "zip_with" | "map_zip_with" if len(given) == 3:
                return self._zipped(given, variables)
            case "try_variant_get" | "variant_get" if len(given) == 3 and isinstance(given[2], exp.Literal):
                require(self.type(given[0], variables) == VARIANT and isinstance(given[1], exp.Literal))
                written = given[2].name.lower()
                return VARIANT if written == "variant" else known(_CASTS.get(written))
            case "from_json" if len(given) == 2 and isinstance(given[1], exp.Literal):
                require(self.type(given[0], variables) == STRING)
                return of_json(given[1].name)
        types = [self.type(part, variables) for part in given]
        match name:
            case "array":
                return Array(known(common_of(types or [VOID])))
            case "map" if len(given) % 2 == 0:
                key, value = known(common_of(types[::2] or [VOID])), known(common_of(types[1::2] or [VOID]))
                require(not isinstance(key, Map))
                return Map(key, value)
            case "map_from_entries" if types and isinstance(types[0], Array) and isinstance(types[0].element, Row):
                key, value = (type_ for _, type_ in types[0].element.fields)
                return Map(key, value)
            case "arrays_zip" if types:
                elements = [type_.element for type_ in types if isinstance(type_, Array)]
                require(len(elements) == len(types))
                names_ = (part.name if isinstance(part, exp.Column) else str(at) for at, part in enumerate(given))
                return Array(Row(tuple(zip(names_, elements, strict=True))))
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
                piece_types = [type_.element if isinstance(type_, Array) else type_ for type_ in types[1:]]
                require(types[0] == STRING and all(accepts(STRING, type_) for type_ in piece_types))
                return STRING
            case "nullif" if len(types) == 2:
                require(are_alike(*types))
                return types[0]
            case "greatest" | "least" if len(types) > 1:
                shared = types[0]
                for type_ in types[1:]:
                    shared = known(alike(shared, type_))
                require(are_comparable(shared, shared))
                return shared
            case "mod" | "pmod" if len(types) == 2:
                return self.arithmetic(exp.Mod(this=given[0].copy(), expression=given[1].copy()), *types)
            case "try_add" | "try_subtract" | "try_multiply" | "try_divide" | "try_mod" if len(types) == 2:
                sign = _TRIED[name](this=given[0].copy(), expression=given[1].copy())
                return self.arithmetic(sign, *types)
            case "zeroifnull" if len(types) == 1:
                return known(common(types[0], INT))
            case "ceiling" if len(types) in (1, 2):
                return cut_off(types[0], given[1] if len(given) == 2 else None)
            case "round" | "bround" if len(types) in (1, 2) and (types[0].is_number or types[0] in (STRING, VOID)):
                return rounded(as_number(types[0]), places_of(given[1]) if len(given) == 2 else 0)
            case "sequence" if len(types) == 3 and types[0].is_time and is_interval(types[2]):
                return Array(known(common(types[0], types[1])))
            case "time_bucket" if len(types) in (2, 3) and is_interval(types[0]) and isinstance(types[1], Timestamp):
                return types[1]
            case (
                "variant_insert"
                | "variant_set"
                | "variant_array_append"
                | "variant_delete"
                | ("try_variant_insert" | "try_variant_set" | "try_variant_array_append")
            ) if len(types) > 1 and types[:2] == [VARIANT, STRING]:
                return VARIANT
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

    def _remapped(self, name: str, given: Sequence[exp.Expr], variables: Variables) -> Type:
        values = self.type(given[0], variables)
        if not isinstance(values, Map):
            raise Unknown
        remapped = self._lambda(given[1], variables, values.key, values.value)
        return Map(remapped, values.value) if name == "transform_keys" else Map(values.key, remapped)

    def _zipped(self, given: Sequence[exp.Expr], variables: Variables) -> Type:
        match self.type(given[0], variables), self.type(given[1], variables):
            case Array(one), Array(other):
                return Array(self._lambda(given[2], variables, one, other))
            case Map(key, one), Map(other_key, other) if key == other_key:
                return Map(key, self._lambda(given[2], variables, key, one, other))
            case _:
                raise Unknown

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

    def transformed(self, given: Sequence[exp.Expr], variables: Variables) -> Type:
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
