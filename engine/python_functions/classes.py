"""The classes of a Python text: their methods, including inherited ones, and the result of a method."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final

# Bases without relevant methods: the methods of PyFlink's base only raise errors.
_KNOWN: Final = ("object", "AggregateFunction", "ABC", "Generic")


def methods_of(one: ast.ClassDef, defined: Mapping[str, ast.AST], depth: int = 20) -> dict[str, ast.FunctionDef] | None:
    """The methods of a class by name; None if a base is unknown. defined: the definitions so far."""
    methods: dict[str, ast.FunctionDef] = {}
    for base in one.bases[::-1]:
        written = base.value if isinstance(base, ast.Subscript) else base
        name = ast.unparse(written).rpartition(".")[2]
        below = defined.get(name)
        if isinstance(below, ast.ClassDef) and below is not one and depth:
            inherited = methods_of(below, defined, depth - 1)
            if inherited is None:
                return None
            methods |= inherited
        elif name not in _KNOWN:
            return None
    return methods | {method.name: method for method in one.body if isinstance(method, ast.FunctionDef)}


def returned(method: ast.FunctionDef | None) -> ast.expr | None:
    """The returned expression of a method with a single return."""
    if method is None:
        return None
    values = [node.value for node in ast.walk(method) if isinstance(node, ast.Return)]
    return values[0] if len(values) == 1 else None
