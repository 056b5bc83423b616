"""First pass, from the sources down: schema, keys and changelog mode of every output."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from engine.contract.above import above_of, why_timeless
from engine.contract.derived import Derived, constant
from engine.contract.frames import is_reserved
from engine.contract.operator import OUT, Analyzer, Operator
from engine.contract.source import Source
from engine.contract.unread import Unread
from engine.errors import ExpressionError, PipelineError, StudioError, unknown_name
from engine.expressions.flink_sql import flink_in
from engine.model.changelog import UpdateKind
from engine.model.combined_watermark import NOTHING
from engine.model.options import zone
from engine.model.pipeline import Edge, Node, Pipeline
from engine.model.zones import Zone
from engine.planner.zoned import zoned
from engine.reading.typed.computed import output_of
from engine.registry import configured
from engine.sql.typed import typed


@dataclass(frozen=True)
class DerivedNode:
    """A node with its bound operator, its input edges in port order, its output, and its second ones by port.

    in_utc: the operator before it was put into a time zone.
    """

    node: Node
    operator: Operator | Source
    edges: tuple[Edge, ...]
    derived: Derived
    in_utc: Operator | Source
    second: Mapping[str, Derived] = field(default_factory=dict)

    def output(self, port: str) -> Derived:
        """The output at a port."""
        return self.derived if port == OUT else self.second[port]


def derive(
    pipeline: Pipeline, analyzer: Analyzer, folder: Path
) -> tuple[Mapping[str, DerivedNode], tuple[StudioError, ...]]:
    """Derive every node with valid inputs. Returns the derived nodes, and all errors."""
    done: dict[str, DerivedNode] = {}
    problems: list[StudioError] = []
    in_zone = zone(pipeline.options)
    inputs = pipeline.inputs_of_all()
    for node in pipeline.sorted_nodes():
        try:
            operator = configured(node)
            if isinstance(operator, Unread):
                raise operator.problem(node.id)
            edges = _edges_by_port(inputs[node.id], node, operator)
            if any(edge.source not in done for edge in edges):
                continue
            _check_outputs(node, edges, done)
            schemas = [done[edge.source].output(edge.source_port).schema for edge in edges]
            operator = typed(node.id, operator, schemas, analyzer, folder)
            derived = _derive_node(node, operator, edges, done, analyzer, folder)
            done[node.id] = derived if in_zone is None else _zoned(derived, done, analyzer, in_zone, folder)
        except StudioError as error:
            problems.append(_as_typed(error, node))
    return done, tuple(problems)


def _zoned(
    node: DerivedNode, done: Mapping[str, DerivedNode], analyzer: Analyzer, in_zone: Zone, folder: Path
) -> DerivedNode:
    """The node with its operator in a time zone; its output stays the same."""
    operator = node.operator
    if isinstance(operator, Source):
        read = [operator.read_schema(node.node.id, folder)] if operator.computed else []
        return replace(node, operator=zoned(node.node.id, operator, ("in",), read, in_zone))
    inputs = [done[edge.source].output(edge.source_port) for edge in node.edges]
    operator = zoned(node.node.id, operator, operator.ports, [input_.schema for input_ in inputs], in_zone)
    types = node.derived.expression_types
    if operator != node.operator:
        types = {**types, **operator.derive(node.node.id, inputs, analyzer).expression_types}
    return replace(node, operator=operator, derived=replace(node.derived, expression_types=types))


def _as_typed(error: StudioError, node: Node) -> StudioError:
    """An expression error in terms of the document's text; the analyzer received Spark SQL."""
    if not isinstance(error, ExpressionError):
        return error
    given: Any = node.parameters
    for part in error.field.split("."):
        try:
            given = given[int(part) if part.isdecimal() else part]
        except (LookupError, TypeError):
            return error
    text = flink_in(given) or given
    is_other = isinstance(text, str) and text != error.expression
    return ExpressionError(error.node, error.field, text, error.reason) if is_other else error


def _derive_node(
    node: Node,
    operator: Operator | Source,
    edges: tuple[Edge, ...],
    done: Mapping[str, DerivedNode],
    analyzer: Analyzer,
    folder: Path,
) -> DerivedNode:
    second: dict[str, Derived] = {}
    inputs = tuple(done[edge.source].output(edge.source_port) for edge in edges)
    if isinstance(operator, Source):
        derived = replace(output_of(operator, node.id, folder, analyzer), above=node.id)
        if operator.is_known_steady:
            derived = replace(derived, monotonic=constant(_steady(operator, derived), among=derived.schema.names))
    else:
        derived = operator.derive(node.id, inputs, analyzer)
        for port in operator.output_ports(node.parameters)[1:]:
            second[port] = operator.derive_port(port, node.id, inputs)
        if derived.above == NOTHING:
            derived = replace(derived, above=above_of(operator, node.id, inputs))
        if any(input_.null_keys for input_ in inputs):
            derived = replace(derived, null_keys=True)
    derived = replace(derived, node=node.id)
    if derived.schema.event_time is None:
        derived = replace(derived, timeless=why_timeless(node.id, operator, derived, inputs))
    _check_names(node.id, derived)
    return DerivedNode(node, operator, edges, derived, operator, second)


def _steady(source: Source, derived: Derived) -> Collection[str]:
    """The columns of a source that never change in a row."""
    if source.update_kind is UpdateKind.ONLY_UPDATE_AFTER and derived.shortest_key is not None:
        # As above its normaliser, which is left out if no consumer needs -U.
        return derived.shortest_key
    return derived.schema.names if derived.is_insert_only else ()


def _edges_by_port(edges: Sequence[Edge], node: Node, operator: Operator | Source) -> tuple[Edge, ...]:
    """The input edges in port order. Raises PipelineError for a port with no edge or too many."""
    ports = operator.ports
    for edge in edges:
        if not ports:
            message = f"a source has no input, but {edge.source} is connected to it. Remove that edge."
            raise PipelineError(message, node.id)
        if edge.target_port not in ports:
            message = f"edge from {edge.source}: {unknown_name('input', edge.target_port, ports)}."
            raise PipelineError(message, node.id, edge.target_port)
    by_port = {port: [edge for edge in edges if edge.target_port == port] for port in ports}
    for port, connected in by_port.items():
        name = "its input" if len(ports) == 1 else f"the input {port!r}"
        if not connected:
            message = f"{name} is not connected. Connect a source or an operator to it."
            raise PipelineError(message, node.id, port)
        if len(connected) > 1 and not (isinstance(operator, Operator) and operator.many_edges):
            sources = ", ".join(edge.source for edge in connected)
            message = f"{name} takes one edge, but {sources} are all connected to it. Put a union before it."
            raise PipelineError(message, node.id, port)
    return tuple(edge for port in ports for edge in by_port[port])


def _check_outputs(node: Node, edges: tuple[Edge, ...], done: Mapping[str, DerivedNode]) -> None:
    """Raise PipelineError for an edge from an output that its node does not have."""
    for edge in edges:
        outputs = (OUT, *done[edge.source].second)
        if edge.source_port not in outputs:
            message = f"edge from {edge.source}: {unknown_name('output', edge.source_port, outputs)}."
            raise PipelineError(message, node.id, edge.target_port)


def _check_names(node: str, derived: Derived) -> None:
    seen: dict[str, str] = {}
    for column in derived.schema:
        if is_reserved(column.name):
            message = f"the studio has a column {column.name!r} of its own; take another name."
            raise PipelineError(message, node)
        if (other := seen.get(column.name.lower())) is not None:
            message = f"two columns are called {other!r} and {column.name!r}; names must differ in more than case."
            raise PipelineError(message, node)
        seen[column.name.lower()] = column.name
