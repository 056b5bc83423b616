"""Discovers the operators and sources: the modules of `engine.operators` and `engine.sources`.

A module has its class as `OPERATOR` or `SOURCE`; adding a file is sufficient.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

import engine.operators
import engine.sources
from engine.contract.operator import Operator
from engine.contract.source import Source
from engine.contract.unread import Unread
from engine.errors import UnknownOperator
from engine.model.pipeline import Node, explain


@cache
def operators() -> MappingProxyType[str, type[Operator]]:
    """The operators by name, in the order of their file names."""
    registered: dict[str, type[Operator]] = {}
    for module in sorted(iter_modules(engine.operators.__path__), key=lambda info: info.name):
        operator = import_module(f"engine.operators.{module.name}").OPERATOR
        registered[operator.operator] = operator
    return MappingProxyType(registered)


@cache
def table_functions() -> MappingProxyType[str, type[Operator]]:
    """The operators that are table functions in SQL, by function name."""
    return MappingProxyType({cls.sql_function: cls for cls in operators().values() if cls.sql_function})


@cache
def sources() -> MappingProxyType[str, type[Source]]:
    """The sources by name, in the order of their file names."""
    registered: dict[str, type[Source]] = {}
    for module in sorted(iter_modules(engine.sources.__path__), key=lambda info: info.name):
        loaded = import_module(f"engine.sources.{module.name}")
        if hasattr(loaded, "SOURCE"):
            registered[loaded.SOURCE.operator] = loaded.SOURCE
    return MappingProxyType(registered)


@cache
def connectors() -> MappingProxyType[str, tuple[type[Source], ...]]:
    """The sources of each connector of Flink, in the order of their file names."""
    names = dict.fromkeys(cls.connector for cls in sources().values() if cls.connector)
    return MappingProxyType({name: tuple(cls for cls in sources().values() if cls.connector == name) for name in names})


def lookup(node: Node) -> type[Operator] | type[Source]:
    """The class of a node. Raises UnknownOperator, which lists the existing ones."""
    if node.operator == Unread.operator:
        return Unread
    cls = operators().get(node.operator) or sources().get(node.operator)
    if cls is None:
        raise UnknownOperator(node.id, node.operator, sorted((*sources(), *operators())))
    return cls


def configured(node: Node, bound: Mapping[str, Any] | None = None) -> Operator | Source:
    """The node's operator with its parameters. Raises PipelineError with the node and the field.

    bound: the parameters with expressions that are bound already.
    """
    cls = lookup(node)
    try:
        return cls.model_validate(node.parameters if bound is None else bound)
    except ValidationError as error:
        raise explain(error, cls, node.parameters, node.id) from error
