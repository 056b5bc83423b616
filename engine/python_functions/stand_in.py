"""A stand-in for PyFlink's modules, so that the code of its functions runs without PyFlink.

    from pyflink.table import DataTypes
    from pyflink.table.udf import udf, udtf, udaf, ScalarFunction, TableFunction, AggregateFunction
    from pyflink.table import ListView, MapView

Types and decorators have no effect when the code runs: `engine.python_functions.declared` has read them.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from engine.python_functions.containers import ListView, MapView, Row


class _Any:
    """A type: it has every method, and every method returns a type."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_arguments, **_options: self


class _Function:
    """pyflink.table.udf.ScalarFunction, TableFunction and AggregateFunction: a class whose methods are the function."""

    def __class_getitem__(cls, types: Any) -> Any:
        return cls

    def open(self, function_context: Any) -> None:
        """Open the function: called once, before the first record."""

    def close(self) -> None:
        """Close the function: never called, since workers just end."""


class _Decorator:
    """udf, udtf and udaf. udf is also the name of their module: `import pyflink.table.udf as udf`."""

    def __init__(self, package: _PyFlink) -> None:
        self._package = package

    def __call__(self, f: Any = None, *_types: Any, **_options: Any) -> Any:
        return self if f is None else f

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._package, name)


class _PyFlink:
    """The package and all its modules in one object."""

    def __init__(self) -> None:
        self.udf = self.udtf = self.udaf = _Decorator(self)
        self.DataTypes = _Any()
        self.Row, self.ListView, self.MapView = Row, ListView, MapView
        self.ScalarFunction = self.TableFunction = self.AggregateFunction = _Function
        self.FunctionContext = object

    def __getattr__(self, name: str) -> Any:
        # Submodules by name.
        if name in ("table", "common", "types", "data_view"):
            return self
        raise AttributeError(name)


def imports() -> Callable[..., Any]:
    """`__import__` for code with PyFlink's imports."""
    pyflink = _PyFlink()

    def import_(name: str, *arguments: Any, **options: Any) -> Any:
        if name.partition(".")[0] == "pyflink":
            return pyflink
        return builtins.__import__(name, *arguments, **options)

    return import_


def evaluated(made: Any) -> Callable[..., Any]:
    """The callable for each record: a function, or the eval method of an object."""
    made = opened(made)
    function: Callable[..., Any] = getattr(made, "eval", made)
    return function


def opened(made: Any) -> Any:
    """An opened object of a class; a function is returned unchanged."""
    made = made() if isinstance(made, type) else made
    if hasattr(made, "open"):
        made.open(None)
    return made
