"""The plan of a live run."""

from __future__ import annotations

from pathlib import Path

from engine.contract.operator import Analyzer
from engine.model.pipeline import Pipeline
from engine.model.types import STRING
from engine.planner import Plan, plan
from engine.reading.files.source import RowFile, TextFiles
from engine.runtime.arrivals.live import check


def plan_live(pipeline: Pipeline, analyzer: Analyzer, folder: Path) -> Plan:
    """Plan a pipeline to run live. Raises StudioError.

    The current types of growing files are fixed in the document: later rows must not change them, or a resumed run
    would differ.
    """
    planned = plan(pipeline, analyzer, folder)
    check(planned)
    types = {
        node.id: _types(node.operator, node.id, folder)
        for node in planned.sources
        if isinstance(node.operator, TextFiles) and node.operator.monitor_interval_ms is not None
    }
    if not types:
        return planned
    nodes = tuple(
        node.with_parameters(node.parameters | {"types": types[node.id], "fixed_columns": True})
        if node.id in types
        else node
        for node in pipeline.nodes
    )
    return plan(pipeline.model_copy(update={"nodes": nodes}), analyzer, folder)


def _types(source: TextFiles, node: str, folder: Path) -> dict[str, str]:
    """The types of all columns of the files, including the one with the kinds, which is no column of the output."""
    types = {column.name: column.type.flink for column in source.derive(node, folder).schema}
    if isinstance(source, RowFile) and source.kind_column is not None:
        types[source.kind_column] = STRING.flink
    return types
