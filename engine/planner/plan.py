"""The planner's decisions for every node: the plan that is run, shown and explained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from engine.contract.above import above_of
from engine.contract.derived import Derived
from engine.contract.operator import OUT, InputPlan, Operator, StepContext, Strategy, WithSchema
from engine.contract.source import Source
from engine.errors import StudioError
from engine.model.changelog import ChangelogMode, UpdateKind
from engine.model.combined_watermark import Above
from engine.model.options import RETRACTION, goes_by_arrival, is_on, zone
from engine.model.pipeline import Pipeline
from engine.model.schema import Column
from engine.model.zones import Zone


@dataclass(frozen=True)
class InputNeed:
    """The needs of a node for one input, in the terms of Flink and of the retraction document.

    needs_retract: whether the input has to emit retractions (-U). reason: the reason, in words.
    """

    source: str
    port: str
    update_kind: UpdateKind
    needs_retract: bool
    reason: str


@dataclass(frozen=True)
class NodePlan(WithSchema):
    """One node with all decisions.

    rank: its place in the topological order. table_type: Append or Replace. accumulate_mode: Acc or
    AccRetract. Both are the retraction document's. second: its second outputs by port, which only insert.
    """

    id: str
    rank: int
    operator: Operator | Source
    derived: Derived
    mode: ChangelogMode
    inputs: tuple[InputPlan, ...]
    needs: tuple[InputNeed, ...]
    strategy: Strategy
    table_type: str
    accumulate_mode: str
    second: Mapping[str, Derived] = field(default_factory=dict)

    @property
    def role(self) -> str:
        """source, operator or sink."""
        return self.operator.role

    @property
    def above(self) -> Above:
        """The origin of the watermark for its timers; the output's watermark may be delayed."""
        return above_of(self.operator, self.id, [input_.derived for input_ in self.inputs])

    @property
    def row_key(self) -> tuple[str, ...] | None:
        """The columns that identify the rows of its table, in order; None if only the whole row does."""
        key = self.derived.shortest_key
        if key is None:
            return None
        columns = [column for column in self.schema if column.name in key]
        is_shared = self.derived.null_keys and len(columns) > 1 and all(column.nullable for column in columns)
        if is_shared and self.mode.has_update_before:
            return None
        return tuple(column.name for column in columns)


@dataclass(frozen=True)
class Plan:
    """A valid pipeline: its nodes, each after its inputs."""

    pipeline: Pipeline
    nodes: tuple[NodePlan, ...]

    def node(self, node_id: str) -> NodePlan:
        """The plan of a node. Raises PipelineError that lists the existing nodes."""
        self.pipeline.node(node_id)
        return next(node for node in self.nodes if node.id == node_id)

    def context(self, node: NodePlan) -> StepContext:
        """What an operator's step is made from."""
        options = self.pipeline.options
        if isinstance(node.operator, Operator):
            options = dict(node.operator.options_of(options))
        in_zone = self.zone if self._is_in_instants(node) else None
        return StepContext(node.id, node.rank, node.inputs, node.mode, node.derived, options, in_zone)

    @cached_property
    def zone(self) -> Zone | None:
        """The time zone of instants; None for UTC."""
        return zone(self.pipeline.options)

    def _is_in_instants(self, node: NodePlan) -> bool:
        """Whether a source above has instants as its event time, not local times."""
        sources = {source for input_ in node.inputs for source in input_.derived.holdbacks}
        times = (other.schema.event_time for other in self.nodes if other.id in sources)
        return any(time.is_instant for time in times if time is not None)

    @property
    def sources(self) -> tuple[NodePlan, ...]:
        """The sources: lookup tables first, then the others, each in the document's order."""
        order = [node.id for node in self.pipeline.nodes]
        tables = self.tables
        own = (node for node in self.nodes if node.role == "source")
        return tuple(sorted(own, key=lambda node: (node.id not in tables, order.index(node.id))))

    @cached_property
    def tables(self) -> frozenset[str]:
        """The lookup tables' sources, which precede all others in an epoch."""
        return tables_of((node.operator, [input_.derived for input_ in node.inputs]) for node in self.nodes)

    @property
    def state_expires(self) -> bool:
        """Whether a run reads its recorded clock, since state may expire."""
        options = self.pipeline.options
        operators = (node.operator for node in self.nodes if isinstance(node.operator, Operator))
        return any(any(operator.state_ttls_ms(options)) for operator in operators)

    def clock_of(self, source: NodePlan) -> Column | None:
        """The column of a source by whose times the recorded clock goes; None if it does not go by times of arrival."""
        if not self.state_expires or not goes_by_arrival(self.pipeline.options):
            return None
        assert isinstance(source.operator, Source)
        return source.operator.clock_in(source.schema, source.id)

    @property
    def drops_retractions(self) -> bool:
        """Whether no output has -U and -D, since retraction is switched off."""
        return not is_on(self.pipeline.options, RETRACTION)

    def passing(self, input_: InputPlan, allowed: ChangelogMode | None = None) -> frozenset[int] | None:
        """The kinds of an input's records that its consumer receives: without -U if it needs none. None: all of them.

        allowed: only these kinds pass.
        """
        whole = self.node(input_.node).mode if input_.port == OUT else input_.mode
        passed = input_.mode if allowed is None else input_.mode & allowed
        return None if passed >= whole else frozenset(int(kind) for kind in passed)

    @property
    def sinks(self) -> tuple[NodePlan, ...]:
        """The nodes without consumers."""
        used = {edge.source for edge in self.pipeline.edges if edge.source_port == OUT}
        return tuple(node for node in self.nodes if node.id not in used)


def tables_of(nodes: Iterable[tuple[Operator | Source, Sequence[Derived]]]) -> frozenset[str]:
    """The sources above the inputs of operators that are lookup tables."""
    return frozenset(
        source
        for operator, inputs in nodes
        if isinstance(operator, Operator) and operator.tables
        for port, input_ in zip(operator.ports, inputs, strict=True)
        if port in operator.tables
        for source in input_.holdbacks
    )


@dataclass(frozen=True)
class Check:
    """The findings about a pipeline, valid or not: all errors, and the outputs that could be derived.

    plan: the whole plan if there are no errors, or none but statements that could not be read, which it leaves out.
    derived: by node id, for valid nodes, so that forms know their input's columns despite errors elsewhere. second: the
    same for second outputs.
    """

    plan: Plan | None
    derived: Mapping[str, Derived] = field(default_factory=dict)
    problems: tuple[StudioError, ...] = ()
    second: Mapping[tuple[str, str], Derived] = field(default_factory=dict)

    def output(self, node_id: str, port: str) -> Derived | None:
        """The output at a port of a node, if it is known."""
        return self.derived.get(node_id) if port == OUT else self.second.get((node_id, port))

    def of(self, node_id: str) -> tuple[StudioError, ...]:
        """The errors at a node."""
        return tuple(problem for problem in self.problems if problem.node == node_id)
