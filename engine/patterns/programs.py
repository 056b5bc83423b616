"""Writes conditions of DEFINE as programs over integers, for `engine.patterns.meeting`.

Numbers, times and truth values are integers themselves. Texts, decimals and floating-point numbers are compared by
their order among the values of their type in a chunk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from engine.expressions.parsing import called, tree_of
from engine.model.types import BOOLEAN, DATE, FLOATS, INTEGERS, STRING, Decimal, Timestamp, Type
from engine.patterns import meeting
from engine.patterns.values import RowValue, Value

Instruction = tuple[int, ...]

_COMPARISONS: Final[dict[type[exp.Expr], tuple[int, int, int]]] = {
    exp.LT: (1, 0, 0),
    exp.LTE: (1, 1, 0),
    exp.EQ: (0, 1, 0),
    exp.NEQ: (1, 0, 1),
    exp.GTE: (0, 1, 1),
    exp.GT: (0, 0, 1),
}
_PAIRS: Final[dict[type[exp.Expr], int]] = {
    exp.And: meeting.AND,
    exp.Or: meeting.OR,
    exp.NullSafeEQ: meeting.SAME,
    exp.Add: meeting.ADD,
    exp.Sub: meeting.SUBTRACT,
    exp.Mul: meeting.MULTIPLY,
}
_MOST: Final = 1 << 62


@dataclass(frozen=True)
class Program:
    """The instructions of a condition. Its VALUE and CURRENT instructions name places of the kernel's row.

    by_order: the places whose values are compared by their order among those of their type.
    """

    instructions: tuple[Instruction, ...]
    by_order: frozenset[int]

    @property
    def places(self) -> set[int]:
        """The places of a row that it uses."""
        return {at for instruction in self.instructions for at in _places(instruction)}

    def numbers(self, places: Mapping[int, int]) -> list[int]:
        """The instructions one after the other. places: a new number for each place of a row."""
        written: list[int] = []
        for code, *operands in self.instructions:
            if code == meeting.CURRENT:
                operands = [places[operands[0]]]
            elif code == meeting.VALUE:
                variable, place, is_first, offset, missing = operands
                operands = [variable, places[place], is_first, offset, places.get(missing, -1)]
            written += [code, *operands, *[0] * (meeting.WIDTH - 1 - len(operands))]
        return written

    def fits(self, largest: Mapping[int, int]) -> bool:
        """Whether no result of its arithmetic can leave 64 bits. largest: by place, the largest absolute value."""
        stack: list[int] = []
        for code, *operands in self.instructions:
            match code:
                case meeting.CURRENT:
                    stack.append(largest[operands[0]])
                case meeting.VALUE:
                    stack.append(max(largest[operands[1]], largest.get(operands[-1], 0)))
                case meeting.CONSTANT:
                    stack.append(abs(operands[0]))
                case meeting.NULL:
                    stack.append(0)
                case meeting.ADD | meeting.SUBTRACT:
                    stack.append(stack.pop() + stack.pop())
                case meeting.MULTIPLY:
                    stack.append(stack.pop() * stack.pop())
                case meeting.NOT | meeting.IS_NULL:
                    stack[-1] = 1
                case _:
                    stack = [*stack[:-2], 1]
            if stack[-1] > _MOST:
                return False
        return True


def program_of(text: str, types: Sequence[Type], values: Sequence[Value], variable: int) -> Program | str:
    """The program of a condition over values `__r0`, `__r1`, ...; a text that says what does not fit into one."""
    writer = _Writer(types, values, variable)
    try:
        writer.write(tree_of(text))
    except _DoesNotFit as reason:
        return str(reason)
    return Program(tuple(writer.written), frozenset(writer.by_order))


def _places(instruction: Instruction) -> Sequence[int]:
    match instruction:
        case (meeting.CURRENT, place):
            return (place,)
        case (meeting.VALUE, _, place, _, _, missing):
            return (place,) if missing < 0 else (place, missing)
    return ()


class _DoesNotFit(Exception):
    """A part that needs more than integers."""


class _Writer:
    """Writes a tree from its leaves up."""

    def __init__(self, types: Sequence[Type], values: Sequence[Value], variable: int) -> None:
        self.types = types
        self.values = values
        self.variable = variable
        self.written: list[Instruction] = []
        self.by_order: set[int] = set()

    def write(self, node: exp.Expr) -> Type | None:
        """Write a part. Returns the type of a value that only has an order, None for an integer."""
        match node:
            case exp.Paren():
                return self.write(node.this)
            case exp.Column():
                return self._value(int(node.name.removeprefix("__r")))
            case exp.Literal() if not node.is_string and node.name.isdecimal() and int(node.name) < _MOST:
                self._add(meeting.CONSTANT, int(node.name))
            case exp.Boolean():
                self._add(meeting.CONSTANT, int(bool(node.this)))
            case exp.Null():
                self._add(meeting.NULL)
            case exp.Neg():
                self._add(meeting.CONSTANT, 0)
                self._number(node.this)
                self._add(meeting.SUBTRACT)
            case exp.Not():
                self.write(node.this)
                self._add(meeting.NOT)
            case exp.Is() if isinstance(node.expression, exp.Null):
                self.write(node.this)
                self._add(meeting.IS_NULL)
            case exp.NullSafeNEQ():
                self._pair(node, meeting.SAME)
                self._add(meeting.NOT)
            case exp.Between():
                low, high = (node.args[name].copy() for name in ("low", "high"))
                least = exp.GTE(this=node.this.copy(), expression=low)
                self.write(exp.And(this=least, expression=exp.LTE(this=node.this.copy(), expression=high)))
            case exp.In() if node.expressions:
                for at, item in enumerate(node.expressions):
                    self.write(exp.EQ(this=node.this.copy(), expression=item.copy()))
                    if at:
                        self._add(meeting.OR)
            case exp.Add() | exp.Sub() | exp.Mul():
                self._number(node.this)
                self._number(node.expression)
                self._add(_PAIRS[type(node)])
            case _ if type(node) in _COMPARISONS:
                self._pair(node, meeting.COMPARE, *_COMPARISONS[type(node)])
            case _ if type(node) in _PAIRS:
                self._pair(node, _PAIRS[type(node)])
            case _:
                message = f"{(called(node) or node.key).upper()} is more than a comparison"
                raise _DoesNotFit(message)
        return None

    def _pair(self, node: exp.Expr, *instruction: int) -> None:
        if self.write(node.this) != self.write(node.expression):
            message = "it compares values of different types"
            raise _DoesNotFit(message)
        self._add(*instruction)

    def _number(self, node: exp.Expr) -> None:
        if (type_ := self.write(node)) is not None:
            message = f"it computes with values of type {type_.flink}"
            raise _DoesNotFit(message)

    def _value(self, at: int) -> Type | None:
        value, type_ = self.values[at], self.types[at]
        if not isinstance(value, RowValue):
            message = "it uses an aggregate, or the time of the match"
            raise _DoesNotFit(message)
        is_integer = type_ in (*INTEGERS, BOOLEAN, DATE) or isinstance(type_, Timestamp)
        if not is_integer:
            if type_ not in (STRING, *FLOATS) and not isinstance(type_, Decimal):
                message = f"a value is of type {type_.flink}"
                raise _DoesNotFit(message)
            self.by_order |= {place for place in (value.place, value.missing) if place is not None}
        is_own = value.variable in (None, self.variable)
        missing = -1 if value.missing is None else value.missing
        if is_own and not value.is_first and not value.offset:
            self._add(meeting.CURRENT, value.place)
        else:
            which = -1 if value.variable is None else value.variable
            self._add(meeting.VALUE, which, value.place, int(value.is_first), value.offset, missing)
        return None if is_integer else type_

    def _add(self, *instruction: int) -> None:
        self.written.append(instruction)
