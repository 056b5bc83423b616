"""Compiled parts of expressions with their types: Spark's type coercion, and what may fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from engine.expressions.vectors import Call, Constant, Converted, FloorDivided, OnlyWhere, Vector
from engine.model import types
from engine.model.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    INT,
    INTEGER_BITS,
    INTEGERS,
    STRING,
    VOID,
    Timestamp,
    Type,
)


def is_ordered(type_: Type) -> bool:
    """Whether Arrow orders the values of a type as Spark does."""
    return type_ in INTEGERS or type_ == STRING or type_.is_time


@dataclass(frozen=True)
class CompiledPart:
    """A compiled part of an expression. can_fail: some values are an error. fails_on_null: it can fail even for NULLs.

    needs: the columns such that it is NULL exactly if one of them is NULL; None if there are no such columns.
    """

    value: Vector
    type: Type
    can_fail: bool = False
    fails_on_null: bool = False
    needs: frozenset[str] | None = None

    @property
    def constant(self) -> Constant | None:
        """Its literal, or None if it is not constant."""
        return self.value if isinstance(self.value, Constant) else None


class OnlySpark(Exception):
    """A part that is left to Spark."""


def constant(value: Any, type_: Type) -> CompiledPart:
    """A literal."""
    return CompiledPart(Constant(value, type_), type_, needs=None if value is None else frozenset())


def whole(value: int) -> CompiledPart:
    """An integer literal: an INT, or a BIGINT if it is too large for an INT."""
    return fitting(value, INT if fits(value, INT) else BIGINT)


def fitting(value: int, type_: Type) -> CompiledPart:
    """An integer literal of a type. Raises OnlySpark if it does not fit: Spark then raises the error."""
    if not fits(value, type_):
        raise OnlySpark
    return constant(value, type_)


def fits(value: int, type_: Type) -> bool:
    """Whether an integer type can hold a value."""
    half: int = 1 << (INTEGER_BITS[type_] - 1)
    return -half <= value < half


def moment(text: str, type_: Type) -> CompiledPart:
    """A literal date or timestamp in full format; the session's zone is UTC."""
    pattern = "%Y-%m-%d" if type_ == DATE else "%Y-%m-%d %H:%M:%S"
    try:
        moment = datetime.strptime(text, pattern)  # noqa: DTZ007 - no zone on either side
    except ValueError as error:
        raise OnlySpark from error
    if moment.strftime(pattern) != text:
        raise OnlySpark
    days = (moment.date() - date(1970, 1, 1)).days
    seconds = moment.hour * 3600 + moment.minute * 60 + moment.second
    return constant(days if type_ == DATE else (days * 86_400 + seconds) * 1_000_000, type_)


def of_type(part: CompiledPart, *types: Type) -> CompiledPart:
    """The part, which must have one of these types. Raises OnlySpark."""
    if part.type not in types:
        raise OnlySpark
    return part


def number(part: CompiledPart) -> CompiledPart:
    """The part, which must be an integer and not a NULL literal. Raises OnlySpark."""
    if part.constant is not None and part.constant.value is None:
        raise OnlySpark
    return of_type(part, *INTEGERS)


def as_boolean(part: CompiledPart) -> CompiledPart:
    """The part as a condition."""
    return converted(part, BOOLEAN) if part.type == VOID else of_type(part, BOOLEAN)


def common(parts: Sequence[CompiledPart]) -> Type:
    """The common type of parts: the widest integer; NULL fits any type. Raises OnlySpark for other conversions."""
    types = {part.type for part in parts} - {VOID}
    if types and types <= set(INTEGERS):
        return max(types, key=INTEGERS.index)
    if types and all(isinstance(type_, Timestamp) for type_ in types):
        moments = [type_ for type_ in types if isinstance(type_, Timestamp)]
        if len({timestamp.is_zoned for timestamp in moments}) == 1:
            return max(moments, key=lambda each: each.precision)
    if len(types) > 1 or any(type_.is_nested for type_ in types):
        raise OnlySpark
    return next(iter(types), VOID)


def alike(one: CompiledPart, other: CompiledPart) -> tuple[CompiledPart, CompiledPart, Type]:
    """Two parts converted to their common type."""
    type_ = common([one, other])
    if type_ == VOID:
        raise OnlySpark
    return converted(one, type_), converted(other, type_), type_


def compared(function: str, one: CompiledPart, other: CompiledPart) -> CompiledPart:
    """A comparison, by the name of Arrow's function."""
    one, other, type_ = alike(one, other)
    if not is_ordered(type_) and not (type_ == BOOLEAN and function in ("equal", "not_equal")):
        raise OnlySpark
    other = where_not_null(one, other)
    return CompiledPart(Call(function, (one.value, other.value)), BOOLEAN, *risks(one, other))


def risks(*parts: CompiledPart) -> tuple[bool, bool]:
    """can_fail and fails_on_null of a part that consists of these parts."""
    return any(part.can_fail for part in parts), any(part.fails_on_null for part in parts)


def failing(part: CompiledPart) -> CompiledPart:
    """A part whose last operation can fail. It can fail for NULL unless a NULL in its columns makes it NULL."""
    return replace(part, can_fail=True, fails_on_null=part.fails_on_null or not part.needs)


def only_where(part: CompiledPart, test: Vector) -> CompiledPart:
    """The part, restricted to fail only where a test is true; elsewhere its value does not matter."""
    if not part.can_fail:
        return part
    if part.fails_on_null:
        raise OnlySpark
    return replace(part, value=OnlyWhere(part.value, test))


def where_not_null(one: CompiledPart, other: CompiledPart) -> CompiledPart:
    """The right side of an operation, which Spark skips where the left side is NULL."""
    is_never_null = one.constant is not None and one.constant.value is not None
    is_null_alike = one.needs is not None and one.needs == other.needs and len(one.needs) == 1
    return other if is_never_null or is_null_alike else only_where(other, Call("is_valid", (one.value,)))


def converted(part: CompiledPart, type_: Type) -> CompiledPart:
    """A part cast to a type, if the cast is exact or an error. Raises OnlySpark for other casts."""
    if part.type == type_:
        return part
    literal = part.constant
    if literal is not None and literal.value is None:
        if type_.is_nested:
            raise OnlySpark
        return constant(None, type_)
    if part.type in INTEGERS and type_ in INTEGERS:
        if literal is not None:
            return fitting(literal.value, type_)
        whole_part = replace(part, value=Converted(part.value, type_), type=type_)
        return failing(whole_part) if INTEGER_BITS[type_] < INTEGER_BITS[part.type] else whole_part
    value: Vector
    match part.type, type_:
        case types.TINYINT | types.SMALLINT | types.INT | types.BIGINT | types.BOOLEAN, types.STRING:
            value = Converted(part.value, type_)
        case Timestamp(is_zoned=True), types.BIGINT:
            value = FloorDivided(part.value, 1_000_000)
        case Timestamp(), Timestamp():
            # The same microseconds, since the session's zone is UTC.
            value = Converted(Converted(part.value, BIGINT), type_)
        case _:
            raise OnlySpark
    return replace(part, value=value, type=type_)
