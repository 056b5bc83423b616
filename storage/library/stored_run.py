"""A run in the store: the one object that knows its plan, its edges and its tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from engine.model.combined_watermark import Above, meeting, without_delays
from storage.database.run_tables import RunTables
from storage.errors import UnknownEdge
from storage.library.pipeline_document import Input, PipelineDocument
from storage.model import Edge, Run


class StoredRun:
    """One run, as of the first time each part is read.

    The catalog is read on demand, and only once: the edges take one query, the plan another. Later epochs of a live run
    are not visible here. Every read of the catalog may raise UnknownRun.
    """

    def __init__(
        self, run_id: int, read_entry: Callable[[int], Run], read_edges: Callable[[int], tuple[Edge, ...]]
    ) -> None:
        self.run_id = run_id
        self.tables = RunTables(run_id)
        self._read_entry = read_entry
        self._read_edges = read_edges

    @cached_property
    def entry(self) -> Run:
        """The run's entry in the list of runs."""
        return self._read_entry(self.run_id)

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """Its edges in topological order, with their record counts."""
        return self._read_edges(self.run_id)

    @cached_property
    def pipeline(self) -> PipelineDocument:
        """The pipeline of the run."""
        return PipelineDocument.of(self.entry.document)

    @property
    def is_begun(self) -> bool:
        """Whether its tables exist: a run that failed before it was planned has none."""
        return bool(self.edges)

    @property
    def last_seq(self) -> int:
        """The last committed event."""
        return self.entry.last_seq

    @property
    def progress(self) -> tuple[int, int]:
        """The number of records and the last event: a key for caches, as every epoch with events changes it."""
        return self.entry.records, self.entry.last_seq

    @property
    def sources(self) -> tuple[Edge, ...]:
        """The edges of the sources."""
        return tuple(edge for edge in self.edges if edge.role == "source")

    @property
    def timed_sources(self) -> tuple[Edge, ...]:
        """The edges of the sources with an event time: the others have no watermark."""
        return tuple(edge for edge in self.sources if any(column.time for column in edge.columns))

    @cached_property
    def outputs(self) -> Mapping[tuple[str, str], Edge]:
        """Its edges by node and port."""
        return {(edge.node, edge.port): edge for edge in self.edges}

    def edge(self, node: str, port: str = "out") -> Edge:
        """One edge. Raises UnknownEdge that lists the existing edges."""
        edge = self.outputs.get((node, port))
        if edge is None:
            edge_names = [edge.node if edge.port == "out" else f"{edge.node}.{edge.port}" for edge in self.edges]
            raise UnknownEdge(self.run_id, node, port, edge_names)
        return edge

    def inputs(self, node: str) -> tuple[Input, ...]:
        """A node's inputs: each its own port and the output that feeds it."""
        return self.pipeline.inputs.get(node, ())

    def input_edges(self, node: str) -> tuple[tuple[str, Edge], ...]:
        """The stored edges that feed a node, each with the node's input port."""
        return tuple((port, self.outputs[output]) for port, output in self.inputs(node) if output in self.outputs)

    def below(self, node: str) -> tuple[str, ...]:
        """The nodes that a node feeds, directly and indirectly, in topological order."""
        order = list(dict.fromkeys(edge.node for edge in self.edges))
        reached = {node}
        for name in order:
            if any(output[0] in reached for _, output in self.inputs(name)):
                reached.add(name)
        return tuple(name for name in order if name in reached and name != node)

    def parameters(self, node: str) -> Mapping[str, Any]:
        """A node's parameters; empty if the document has no such node."""
        return self.pipeline.parameters.get(node, {})

    def above(self, node: str) -> Above:
        """The origin of the watermark at a node: how those of the sources are combined."""
        planned = self.entry.explanation.node(node)
        if planned is not None and planned.above is not None:
            return planned.above
        return meeting([meeting([source], held_ms=by_ms) for source, by_ms in self.holdbacks(node).items()])

    @property
    def above_results(self) -> Above:
        """How the watermarks of all sources are combined where the pipeline ends, without what operators hold back."""
        read = {output[0] for inputs in self.pipeline.inputs.values() for _, output in inputs}
        ends = dict.fromkeys(edge.node for edge in self.edges if edge.node not in read)
        return meeting([without_delays(self.above(node)) for node in ends])

    def holdbacks(self, node: str) -> Mapping[str, int]:
        """The sources above a node, each with the ms by which the node's inputs hold its watermark back."""
        # The plan has the holdback of a node's own output, which an interval join adds to: read those of its inputs.
        before = [output[0] for _, output in self.inputs(node)] or [node]
        holdbacks: dict[str, int] = {}
        for name in before:
            planned = self.entry.explanation.node(name)
            for source, by_ms in planned.sources.items() if planned else ():
                holdbacks[source] = max(by_ms, holdbacks.get(source, 0))
        return holdbacks or dict.fromkeys(sorted(self.pipeline.sources_above(node)), 0)
