"""The functions that a Python text declares. The text is parsed and never run here; only Spark's workers run it.

    def total(a, b): ...                                   a function; the node declares its result type
    @udf(result_type=DataTypes.BIGINT())                   PyFlink's, with its type
    @udf(result_type="BIGINT")
    upper = udf(lambda s: s.upper(), result_type="STRING")
    @udtf(result_types=["STRING", "INT"])                  a table function: several rows per record, here an array
    mean = udaf(Mean(), result_type="DOUBLE")              an aggregate function: an object of a class
    class Mean(AggregateFunction): ...                     the same, if no udaf uses the class

Source: pyflink.table.udf, pyflink.table.types.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import Final

from engine.model.type_texts import type_from
from engine.model.types import Array, Row, Type
from engine.python_functions.classes import methods_of, returned

_LONGEST: Final = 100_000
_RESULT: Final = "result_type"
_SCALAR: Final = "udf"
_TABLE: Final = "udtf"
_AGGREGATE: Final = "udaf"
_TABLE_AGGREGATE: Final = "udtaf"
# A class with these methods is an aggregate function, whatever its bases.
_METHODS: Final = frozenset({"accumulate", "get_value"})
_SIMPLE: Final = {
    "BYTES": "BYTES",
    "STRING": "STRING",
    "TIMESTAMP_LTZ": "TIMESTAMP_LTZ(3)",
    "TIMESTAMP": "TIMESTAMP(3)",
}
_PARTS: Final = {"ARRAY": "ARRAY<{}>", "MAP": "MAP<{}, {}>"}


class Rejected(ValueError):
    """An unsupported text, with a message. line: from 1; 0: unknown."""

    def __init__(self, sentence: str, line: int = 0) -> None:
        super().__init__(f"line {line}: {sentence}" if line else sentence)


class Kind(Enum):
    """The kind of a function."""

    SCALAR = "scalar"
    TABLE = "table"
    AGGREGATE = "aggregate"


@dataclass(frozen=True)
class Declared:
    """A declared function.

    type: of its results, in Spark's spelling, for a table function an array of rows; None: not declared. least, most:
    the number of arguments; None: unknown or unlimited. methods: of an aggregate function; None: unknown. is_class: a
    class without a udaf(...), which PyFlink requires.
    """

    name: str
    line: int
    type: Type | None = None
    kind: Kind = Kind.SCALAR
    least: int = 0
    most: int | None = None
    methods: frozenset[str] | None = None
    is_class: bool = False

    def has(self, method: str) -> bool:
        """Whether an aggregate function has a method; True if its methods are unknown."""
        return self.methods is None or method in self.methods

    def taking(self, count: int) -> str | None:
        """The number of arguments that it takes, in words, if `count` does not fit, else None."""
        if count >= self.least and (self.most is None or count <= self.most):
            return None
        if self.most is not None and self.least < self.most:
            return f"{self.least} to {self.most}"
        return str(self.least) if self.least == self.most else f"{self.least} or more"


def functions_in(code: str, *, aggregate: bool = False) -> Mapping[str, Declared]:
    """The functions of a text by name, in its order: for records, or if `aggregate` for groups. Raises Rejected."""
    every = declared_in(code)
    return {name: function for name, function in every.items() if (function.kind is Kind.AGGREGATE) is aggregate}


@lru_cache(maxsize=256)
def declared_in(code: str) -> Mapping[str, Declared]:
    """All functions of a text by name, in its order. Raises Rejected with the line."""
    if len(code) > _LONGEST:
        message = f"the code has {len(code):,} characters; at most {_LONGEST:,} are read."
        raise Rejected(message)
    try:
        tree = ast.parse(code)
    except SyntaxError as error:
        message = f"it is no Python: {error.msg}."
        raise Rejected(message, error.lineno or 0) from error
    except (ValueError, RecursionError, MemoryError) as error:
        message = "it is no Python that can be read."
        raise Rejected(message) from error
    return {function.name: function for function in _declared(tree)}


def _declared(tree: ast.Module) -> Iterator[Declared]:
    defined: dict[str, ast.FunctionDef | ast.Lambda | ast.ClassDef] = {}
    named: set[str] = set()
    for statement in tree.body:
        match statement:
            case ast.AsyncFunctionDef():
                message = f"{statement.name} is async; write it with def alone."
                raise Rejected(message, statement.lineno)
            case ast.FunctionDef():
                defined[statement.name] = statement
                udf_call = next((_call(decorator) for decorator in statement.decorator_list if _call(decorator)), None)
                yield _function(statement.name, statement.lineno, udf_call, statement, defined)
            case ast.ClassDef():
                defined[statement.name] = statement
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as value) if (
                call := _call(value)
            ) is not None:
                body = call.options.get("f")
                # An object of a class, or the class itself: equivalent here.
                if isinstance(body, ast.Call):
                    body = body.func
                wrapped = defined.get(body.id) if isinstance(body, ast.Name) else body
                named |= {wrapped.name} if isinstance(wrapped, ast.ClassDef) else set()
                yield _function(name, statement.lineno, call, wrapped, defined)
            case _:
                pass
    for name, cls in defined.items():
        if isinstance(cls, ast.ClassDef) and name not in named and (methods_of(cls, defined) or {}).keys() >= _METHODS:
            alone = _function(name, cls.lineno, _Call(_AGGREGATE, {}, cls.lineno), cls, defined)
            yield replace(alone, is_class=True)


@dataclass(frozen=True)
class _Call:
    """A call of udf, udtf, udaf or udtaf, with its arguments by name."""

    function: str
    options: Mapping[str, ast.expr]
    line: int


def _call(node: ast.expr) -> _Call | None:
    """The call in a decorator or an expression: `udf`, `udf(...)`, `table.udf(...)`; None for anything else."""
    called = node.func if isinstance(node, ast.Call) else node
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    if name not in (_SCALAR, _TABLE, _AGGREGATE, _TABLE_AGGREGATE):
        return None
    given = dict(zip(("f", "input_types", _RESULT), node.args, strict=False)) if isinstance(node, ast.Call) else {}
    keywords = node.keywords if isinstance(node, ast.Call) else []
    given |= {_RESULT if pair.arg == "result_types" else pair.arg: pair.value for pair in keywords if pair.arg}
    return _Call(name, given, node.lineno)


_Body = ast.expr | ast.FunctionDef | ast.ClassDef | None


def _function(name: str, line: int, call: _Call | None, body: _Body, defined: Mapping[str, ast.AST]) -> Declared:
    if call is None:
        return Declared(name, line, None, Kind.SCALAR, *_arity(body))
    if call.function == _TABLE_AGGREGATE:
        message = f"{name} is a table aggregate function, which SQL cannot call; write an aggregate function (udaf)."
        raise Rejected(message, call.line)
    if isinstance(kind := call.options.get("func_type"), ast.Constant) and kind.value != "general":
        message = f"{name} takes whole columns (func_type={kind.value!r}); write it for single values."
        raise Rejected(message, call.line)
    result = call.options.get(_RESULT)
    if call.function != _AGGREGATE:
        is_table = call.function == _TABLE
        type_ = None if result is None else _rows_of(result) if is_table else _type_of(result)
        return Declared(name, line, type_, Kind.TABLE if is_table else Kind.SCALAR, *_arity(body))
    methods = methods_of(body, defined) if isinstance(body, ast.ClassDef) else None
    if methods is None:
        return Declared(name, line, None if result is None else _type_of(result), Kind.AGGREGATE)
    if missing := _METHODS - methods.keys():
        message = f"{name} has no method {min(missing)}; an aggregate function has accumulate and get_value."
        raise Rejected(message, call.line)
    least, most = _arity(methods["accumulate"])
    result = result or returned(methods.get("get_result_type"))
    type_ = None if result is None else _type_of(result)
    # self and the accumulator are not arguments of the SQL call.
    least, most = max(0, least - 2), None if most is None else max(0, most - 2)
    return Declared(name, line, type_, Kind.AGGREGATE, least, most, frozenset(methods))


def _arity(body: _Body) -> tuple[int, int | None]:
    if not isinstance(body, ast.FunctionDef | ast.Lambda):
        return 0, None
    taken = len(body.args.posonlyargs) + len(body.args.args)
    return taken - len(body.args.defaults), None if body.args.vararg else taken


def _rows_of(node: ast.expr) -> Type:
    """The result type of a table function, as an array. A row with a single value is still a row."""
    types = [_type_of(element) for element in node.elts] if isinstance(node, ast.List | ast.Tuple) else [_type_of(node)]
    if len(types) == 1 and isinstance(types[0], Row):
        return Array(types[0])
    return Array(Row(tuple((f"f{at}", type_) for at, type_ in enumerate(types))))


def _type_of(node: ast.expr) -> Type:
    """A type. Raises Rejected."""
    try:
        return type_from(_text_of(node))
    except ValueError as error:
        message = f"{error}."
        raise Rejected(message, node.lineno) from error


def _text_of(node: ast.expr) -> str:
    """A type in Flink SQL, from a string or from a call of DataTypes."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        message = f"{ast.unparse(node)} is no type. Write DataTypes.BIGINT(), or 'BIGINT'"
        raise ValueError(message)
    if node.func.attr in ("not_null", "nullable"):
        return _text_of(node.func.value)
    name = node.func.attr
    if name in _PARTS:
        return _PARTS[name].format(*map(_text_of, node.args))
    if name == "ROW":
        fields = node.args[0] if node.args else ast.List(elts=[])
        listed = fields.elts if isinstance(fields, ast.List | ast.Tuple) else []
        return f"ROW<{', '.join(map(_field_of, listed))}>"
    if name in _SIMPLE:
        return _SIMPLE[name]
    sizes = ", ".join(ast.unparse(argument) for argument in (*node.args, *(keyword.value for keyword in node.keywords)))
    return f"{name}({sizes})" if sizes else name


def _field_of(node: ast.expr) -> str:
    if isinstance(node, ast.Call) and len(node.args) > 1 and isinstance(node.args[0], ast.Constant):
        quoted = str(node.args[0].value).replace("`", "``")
        return f"`{quoted}` {_text_of(node.args[1])}"
    message = f"{ast.unparse(node)} is no field. Write DataTypes.FIELD('a', DataTypes.INT())"
    raise ValueError(message)
