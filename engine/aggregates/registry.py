"""Finds the aggregate functions: every module of `engine.aggregates.functions` holds one, or a family of them.

A module exports its function as `FUNCTION`, a family as `FUNCTIONS`; to add a function, add a file.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from engine.aggregates import functions as package
from engine.aggregates.function import AggregateFunction


@cache
def functions() -> MappingProxyType[str, AggregateFunction]:
    """The functions by name, in the order in which forms list them."""
    registered: list[AggregateFunction] = []
    for module in iter_modules(package.__path__):
        loaded = import_module(f"{package.__name__}.{module.name}")
        registered += loaded.FUNCTIONS if hasattr(loaded, "FUNCTIONS") else [loaded.FUNCTION]
    return MappingProxyType({func.name: func for func in sorted(registered, key=lambda each: (each.place, each.name))})


def function_named(name: str) -> AggregateFunction:
    """The function with this name in SQL. Raises KeyError."""
    return functions()[name]
