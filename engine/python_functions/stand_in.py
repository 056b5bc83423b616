"""What the code of PyFlink's functions imports, where only the functions count and PyFlink need not be there.

    from pyflink.table import DataTypes
    from pyflink.table.udf import udf, udtf, ScalarFunction, TableFunction

Types and decorators mean nothing any more when the code runs: `engine.python_functions.declared` has read them.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any


class _Any:
    """A type: it has every method, and each gives a type."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_arguments, **_options: self


class Row(tuple[Any, ...]):
    """pyflink.common.Row: values by place, or by name in the order in which they are named."""

    __slots__ = ()

    def __new__(cls, *values: Any, **named: Any) -> Row:
        return super().__new__(cls, (*values, *named.values()))


class _Function:
    """pyflink.table.udf.ScalarFunction and TableFunction: a class whose eval is the function."""

    def open(self, function_context: Any) -> None:
        """Called once, before the first record."""

    def close(self) -> None:
        """Nothing calls it: workers end when they are not needed."""


class _Decorator:
    """udf and udtf. One of them is called as the module that has both: `import pyflink.table.udf as udf`."""

    def __init__(self, package: _PyFlink) -> None:
        self._package = package

    def __call__(self, f: Any = None, *_types: Any, **_options: Any) -> Any:
        return self if f is None else f

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._package, name)


class _PyFlink:
    """The package and all its modules at once."""

    def __init__(self) -> None:
        self.udf = self.udtf = _Decorator(self)
        self.DataTypes = _Any()
        self.Row = Row
        self.ScalarFunction = self.TableFunction = _Function
        self.FunctionContext = object

    def __getattr__(self, name: str) -> Any:
        # Modules, as far as somebody goes through them by name.
        if name in ("table", "common", "types"):
            return self
        raise AttributeError(name)


def imports() -> Callable[..., Any]:
    """`__import__` for such code."""
    pyflink = _PyFlink()

    def import_(name: str, *arguments: Any, **options: Any) -> Any:
        if name.partition(".")[0] == "pyflink":
            return pyflink
        return builtins.__import__(name, *arguments, **options)

    return import_


def evaluated(made: Any) -> Callable[..., Any]:
    """What is called for each record: a function, or the eval of an object of a class."""
    made = made() if isinstance(made, type) else made
    if not hasattr(made, "eval"):
        function: Callable[..., Any] = made
        return function
    if hasattr(made, "open"):
        made.open(None)
    evaluate: Callable[..., Any] = made.eval
    return evaluate
