"""What has to be asked of a store for the state of one key: the records of which edges, with which columns equal.

A part of a key that is computed of several columns cannot be asked for; such records are told apart here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.changelog import RowKind
from engine.described import moment
from engine.errors import NotReplayable
from engine.kernel import Key
from engine.operator import OUT, Operator
from engine.planner import NodePlan, Plan
from engine.replay.values import key_columns, values_of
from engine.runtime.steps import sources_by_event_time, step_of
from engine.step import Keyed

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

Spark = Callable[[], "SparkSession"]


@dataclass(frozen=True)
class Question:
    """The records of one input. node, output: the edge that feeds it. kinds: those that the operator is given.

    equals: (column, value); a key's other parts are computed. is_exact: there are none of those.
    """

    port: int
    node: str
    output: str
    kinds: frozenset[RowKind]
    equals: tuple[tuple[str, Any], ...]
    is_exact: bool


@dataclass(frozen=True)
class KeyedNode:
    """An operator that keeps state by key, and its step. by_time: the sources whose watermarks count in the plan."""

    plan: NodePlan
    step: Keyed
    given: tuple[frozenset[RowKind], ...]
    by_time: frozenset[str] = frozenset()

    @property
    def is_bundled(self) -> bool:
        """Whether it works in bundles, so that the records of all keys have to be asked for."""
        return self.step.bundling is not None

    @property
    def key_names(self) -> tuple[str, ...]:
        """What the parts of its key are called: columns of the first input, else expressions."""
        columns = key_columns(self.step.inputs[0], self.plan.inputs[0].schema)
        keys = self.step.inputs[0].keys
        return tuple(name or key.replace("`", "") for name, key in zip(columns, keys, strict=True))

    def questions(self, key: Sequence[Any] = ()) -> tuple[Question, ...]:
        """What to ask for a key, as the records' expressions make it or as text; for () of all keys."""
        return tuple(self._question(port, key) for port in range(len(self.step.inputs)))

    def keys(self, records: Mapping[int, pa.Table], spark: Spark, *, newest_first: bool = False) -> tuple[Key, ...]:
        """The keys of these records by input, each once, in their order or the last one first."""
        found = [
            (record.seq, record.step, port, record.key)
            for port, table in records.items()
            for record in values_of(self.step.inputs[port], self.plan.inputs[port].schema, table, spark).records()
        ]
        in_order = sorted(found, key=lambda item: item[:3], reverse=newest_first)
        return tuple(dict.fromkeys(key for *_, key in in_order))

    def keys_of_output(self, rows: Sequence[Sequence[Any]]) -> tuple[Key, ...]:
        """The keys that output rows tell, each once; none where their columns do not hold the whole key."""
        assert isinstance(self.plan.operator, Operator)
        names = self.plan.schema.names
        inputs = [given.schema.names for given in self.plan.inputs]
        origin = self.plan.operator.origins(inputs, names)[0]
        carried = dict(origin.columns) if origin is not None else {}
        columns = key_columns(self.step.inputs[0], self.plan.inputs[0].schema)
        if not all(column in carried for column in columns):
            return ()
        places = [names.index(carried[str(column)]) for column in columns]
        return tuple(dict.fromkeys(tuple(row[at] for at in places) for row in rows))

    def _question(self, port: int, key: Sequence[Any]) -> Question:
        given = self.plan.inputs[port]
        columns = key_columns(self.step.inputs[port], given.schema)
        equals = [
            (column, _stored(value, given.schema.column(column).type))
            for column, value in zip(columns, key, strict=False)
            if column is not None
        ]
        return Question(port, given.node, given.port, self.given[port], tuple(equals), None not in columns)


def keyed_node(plan: Plan, node_id: str) -> KeyedNode:
    """The operator behind a node. Raises NotReplayable where there is no state by key to tell."""
    node = plan.node(node_id)
    step = step_of(plan, node) if isinstance(node.operator, Operator) else None
    if not isinstance(step, Keyed):
        message = "it keeps no state by key. Choose an operator that does, such as an aggregate or a join."
        raise NotReplayable(message, node_id)
    kinds = tuple(
        frozenset(RowKind) - (plan.node(given.node).mode - given.mode) if given.port == OUT else frozenset(RowKind)
        for given in node.inputs
    )
    return KeyedNode(node, step, kinds, sources_by_event_time(plan))


def keyed_nodes(plan: Plan) -> tuple[str, ...]:
    """The operators that keep state by key, in topological order; whether it can be told is another question."""
    return tuple(
        node.id
        for node in plan.nodes
        if isinstance(node.operator, Operator)
        and isinstance(step_of(plan, node), Keyed)
        and node.strategy.state != "none"
    )


def _stored(value: Any, type_: str) -> Any:
    """A value of a key as a store holds it: kernels know instants as microseconds."""
    return moment(value) if type_.startswith("timestamp") and isinstance(value, int) else value
