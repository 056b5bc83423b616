"""A table of Flink SQL as its statement declares it, and what the source or the sink of its connector makes of it.

DeclaredTable --Source.from_table--> ReadTable: parameters, notes, the metadata that is read
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from engine.errors import StudioError
from engine.model.schema import Column
from engine.model.types import Type


@dataclass(frozen=True)
class Metadata:
    """A metadata column of a connector. key: its name in the connector.

    is_virtual: it is read only; an INSERT does not fill it.
    """

    name: str
    type: Type
    key: str
    is_virtual: bool = False


@dataclass(frozen=True)
class Filled:
    """A metadata column that is no column of the source: a cast of one that is, or of a text; NULL without both."""

    name: str
    type: Type
    column: Column | None = None
    text: str | None = None


@dataclass(frozen=True)
class Watermark:
    """The event time column and the watermark delay."""

    column: str
    delay_ms: int


@dataclass(frozen=True, kw_only=True)
class DeclaredTable:
    """A table as it is declared. columns: the physical ones, which are read or written.

    order: the names of all its columns. not_null: the columns that are declared NOT NULL.
    """

    name: str
    columns: tuple[Column, ...]
    options: Mapping[str, str]
    watermark: Watermark | None = None
    primary_key: tuple[str, ...] = ()
    metadata: tuple[Metadata, ...] = ()
    order: tuple[str, ...] = ()
    not_null: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()

    @property
    def connector(self) -> str:
        """The name of its connector; empty if there is none."""
        return self.options.get("connector", self.options.get("connector.type", ""))

    @property
    def column_parameters(self) -> list[dict[str, str]]:
        """The columns as a source's parameter."""
        return [{"name": column.name, "type": column.type.flink} for column in self.columns]

    def rejected(self, sentence: str, option: str = "") -> StudioError:
        """An error about the table, or about one of its options."""
        return StudioError(f"{self.name}: {sentence}")


Declared = TypeVar("Declared", bound=DeclaredTable)


@dataclass(frozen=True)
class ReadTable:
    """A table as a source. metadata: the columns that the source has by these names. filled: those computed instead."""

    parameters: dict[str, Any]
    notes: tuple[str, ...] = ()
    metadata: tuple[Metadata, ...] = ()
    filled: tuple[Filled, ...] = ()

    @property
    def told(self) -> frozenset[str]:
        """The names of the metadata columns that have values."""
        return frozenset({*(column.name for column in self.metadata), *(column.name for column in self.filled)})
