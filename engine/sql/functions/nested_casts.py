"""CAST of ROW, ARRAY and MAP: value by value, each by the rule of its own type.

Of keys that become equal, the last entry stays. TRY_CAST is NULL as a whole if one of the values cannot be read.
Source: Flink RowToRowCastRule, ArrayToArrayCastRule, MapToMapAndMultisetToMultisetCastRule.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from engine.expressions.inference import inferred
from engine.functions.rows import struct
from engine.model.schema import Column, Schema
from engine.model.types import MILLISECONDS, Array, Decimal, Map, Row, Timestamp, Type, quote
from engine.sql.algebra import Expr
from engine.sql.functions.writer import ExpressionWriter
from engine.sql.rejected import SqlRejected

EACH: Final = "__e"
_MERGED: Final = "__m"


@dataclass(frozen=True)
class OfPart:
    """Writes a part of a nested value and nothing else. name: the part, as it is written; schema: of what it names."""

    name: str
    type: Type
    schema: Schema

    def write(self, _: Expr, /) -> str:
        """The part."""
        return self.name

    def type_of(self, expression: str, /) -> Type:
        """The type of what was made of the part."""
        return inferred(expression, self.schema)

    def digits_of(self, _: str, /) -> int:
        """The digits of a second that the part has."""
        return self.type.precision if isinstance(self.type, Timestamp) else MILLISECONDS

    def is_nullable(self, _: str, /) -> bool:
        """Any part can be NULL."""
        return True


Cast = Callable[[ExpressionWriter, str, exp.Cast], str]
"""Writes the CAST of a written value."""


def cast_row(writer: ExpressionWriter, value: str, node: exp.Cast, cast: Cast) -> str:
    """A row with other names and types. Raises SqlRejected if the number of fields differs."""
    type_ = writer.type_of(value)
    wanted = node.to.expressions
    given = type_.fields if isinstance(type_, Row) else ()
    if len(given) != len(wanted):
        count = len(wanted)
        message = f"a CAST to a ROW of {count} fields needs a ROW of {count} fields, but the value is {type_.flink}."
        raise SqlRejected(message, node)
    fields = []
    tests = [f"{value} IS NOT NULL"]
    for (name, given_type), target in zip(given, wanted, strict=True):
        part = f"({value}).{quote(name)}"
        of_part = OfPart(part, given_type, writer.schema)
        converted = cast(of_part, part, type(node)(this=exp.column(name), to=target.kind))
        fields.append((target.name, converted))
        if isinstance(node, exp.TryCast):
            tests.append(_is_read(part, given_type, inferred(converted, writer.schema), converted))
    return f"CASE WHEN {' AND '.join(tests)} THEN {struct(fields)} END"


def cast_collection(value: str, given: Type, target: Type, node: exp.Cast, cast: Cast) -> str | None:
    """A collection with other values; None if Spark's own CAST gives the same."""

    def written(name: str, type_: Type, to: exp.DataType, within: Type = given) -> str:
        of_part = OfPart(name, type_, Schema((Column(EACH, within),)))
        return cast(of_part, name, type(node)(this=exp.column(EACH), to=to))

    parts = node.to.expressions
    match given, target:
        case Array(), Array():
            member = written(EACH, given.element, parts[0], given.element)
            collection, entries = f"transform({value}, {EACH} -> {member})", value
            casts = [(EACH, given.element, target.element, member)]
        case Map(), Map():
            within = Row((("key", given.key), ("value", given.value)))
            names = (f"{EACH}.key", f"{EACH}.value")
            key, member = map(written, names, given.parts, parts, (within, within))
            casts = list(zip(names, given.parts, target.parts, (key, member), strict=True))
            entries = f"map_entries({value})"
            collection = _map(entries, target, key, member)
            if given.key == target.key and _is_plain(*casts[0]):
                member = written(EACH, given.value, parts[1], given.value)
                casts = [(EACH, given.value, target.value, member)]
                collection, entries = f"transform_values({value}, (__k, {EACH}) -> {member})", f"map_values({value})"
        case _:
            return None
    if isinstance(node, exp.TryCast):
        whole = " AND ".join(itertools.starmap(_is_read, casts))
        return f"CASE WHEN forall({entries}, {EACH} -> {whole}) THEN {collection} END"
    return None if len(casts) == 1 and _is_plain(*casts[0]) else collection


def _is_plain(name: str, _: Type, target: Type, written: str) -> bool:
    """Whether it is Spark's own CAST."""
    return written == f"CAST({name} AS {target.sql})"


def _is_read(name: str, given: Type, target: Type, written: str) -> str:
    """Whether a value becomes one of the other type. One too large for a DECIMAL is NULL, which is no failure."""
    return "TRUE" if given.is_number and isinstance(target, Decimal) else f"({name} IS NULL OR {written} IS NOT NULL)"


def _map(entries: str, target: Map, key: str, value: str) -> str:
    """A map of entries, of which a later one takes the place of an earlier one."""
    key_type, value_type = target.parts
    nothing = f"map_from_arrays(CAST(array() AS ARRAY<{key_type.sql}>), CAST(array() AS ARRAY<{value_type.sql}>))"
    others = f"map_filter({_MERGED}, (__k, __v) -> NOT __k <=> {key})"
    return f"aggregate({entries}, {nothing}, ({_MERGED}, {EACH}) -> map_concat({others}, map({key}, {value})))"
