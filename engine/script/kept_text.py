"""The script that a pipeline was opened from, as far as it still says what the pipeline is."""

from __future__ import annotations

from pathlib import Path

from engine.contract.operator import Analyzer
from engine.errors import StudioError
from engine.model.pipeline import Node, Pipeline, Place
from engine.script.reading import script_of
from engine.script.views import plain_node


def is_said(pipeline: Pipeline, script: str, analyzer: Analyzer, folder: Path) -> bool:
    """Whether a script is read as this pipeline, wherever its nodes are placed."""
    try:
        read = script_of(script, analyzer, folder, pipeline.name).pipeline
    except StudioError:
        return False
    return _content(read) == _content(pipeline)


def _content(pipeline: Pipeline) -> object:
    nodes = {node.id: _bare(node) for node in pipeline.nodes}
    edges = {(edge.source, edge.source_port, edge.target, edge.target_port) for edge in pipeline.edges}
    return nodes, edges, pipeline.name, pipeline.description, pipeline.arrival, pipeline.options


def _bare(node: Node) -> Node:
    """The node without its place and without the parameters that have their default."""
    try:
        return plain_node(node).model_copy(update={"place": Place()})
    except (StudioError, ValueError):
        return node.model_copy(update={"place": Place()})
