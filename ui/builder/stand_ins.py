"""Rows that stand for a table which cannot be read here: they run instead, and the script keeps them in comments."""

from __future__ import annotations

from typing import Final

from engine.contract.source import Source
from engine.errors import StudioError
from engine.expressions.analyzer import TypeRules
from engine.model.pipeline import Node, Pipeline
from engine.reading.servers.served import ServedSource
from engine.registry import configured
from engine.script import script_of, sql_of
from engine.script.kept_text import with_rows
from ui.builder.editing import placed_like
from ui.builder.grouping import grouped_like
from ui.shell import workspace

_NAMED: Final = ("connector", "connector.type", "format", "value.format")


def table_of(node: Node) -> str | None:
    """The table for which a node's rows stand, by its options; None for any other node."""
    source = _source(node)
    if source is None or source.instead_of is None:
        return None
    named = [f"'{name}' = '{source.instead_of[name]}'" for name in _NAMED if name in source.instead_of]
    return ", ".join(named) or "without a connector"


def server_of(node: Node) -> ServedSource | None:
    """The source of a node that asks a server for its rows; None for any other node."""
    source = _source(node)
    return source if isinstance(source, ServedSource) else None


def with_rows_instead(pipeline: Pipeline, node_id: str) -> Pipeline:
    """The document with rows to be entered instead of a node's server. Raises StudioError for an invalid document."""
    text = with_rows(sql_of(pipeline, TypeRules(), workspace.folder()).text, node_id, ())
    read = script_of(text, TypeRules(), workspace.folder(), pipeline.name).pipeline
    return grouped_like(placed_like(read, pipeline), pipeline)


def _source(node: Node) -> Source | None:
    try:
        source = configured(node)
    except StudioError:
        return None
    return source if isinstance(source, Source) else None
