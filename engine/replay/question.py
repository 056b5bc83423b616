"""The queries to a store for the state of one key: the edges whose records are needed, and the equal columns.

A computed part of a key cannot be queried; the records are filtered here instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from engine.contract.kernel import Key
from engine.contract.operator import Operator
from engine.contract.state_in_words import moment
from engine.contract.step import Keyed, KeyedInput
from engine.errors import NotReplayable
from engine.expressions import Expression
from engine.local.jobs import Spark
from engine.local.keyed import gather
from engine.model.changelog import RowKind
from engine.model.schema import Column, Schema
from engine.model.types import INTEGERS, Timestamp, Type
from engine.planner import NodePlan, Plan
from engine.runtime.steps import sources_by_event_time, step_of

if TYPE_CHECKING:
    import pyarrow as pa

_WIDER: Final = re.compile(r"CAST\((`(?:[^`]|``)+`) AS (SMALLINT|INT|BIGINT)\)")


@dataclass(frozen=True)
class Question:
    """The records of one input. node, output: the edge of the input. kinds: the kinds that the operator receives.

    equals: (column, value); other parts of the key are computed. is_exact: there are no computed parts.
    """

    port: int
    node: str
    output: str
    kinds: frozenset[RowKind]
    equals: tuple[tuple[str, Any], ...]
    is_exact: bool


@dataclass(frozen=True)
class KeyedNode:
    """An operator that keeps state by key, and its step. by_time: the sources whose watermarks count in the plan.

    ttls_ms: of its state, or of each side's.
    """

    plan: NodePlan
    step: Keyed
    given: tuple[frozenset[RowKind], ...]
    by_time: frozenset[str] = frozenset()
    ttls_ms: tuple[int, ...] = ()

    @property
    def is_bundled(self) -> bool:
        """Whether it works in bundles, so that the records of all keys are needed."""
        return self.step.bundling is not None

    @property
    def key_names(self) -> tuple[str, ...]:
        """The names of the key's parts: columns of the first input, else expressions."""
        columns = key_columns(self.step.inputs[0], self.plan.inputs[0].schema)
        keys = self.step.inputs[0].keys
        return tuple(name or key.replace("`", "") for name, key in zip(columns, keys, strict=True))

    def questions(self, key: Sequence[Any] = ()) -> tuple[Question, ...]:
        """The queries for a key, as values of its expressions or as text; for () the queries for all keys."""
        return tuple(self._question(port, key) for port in range(len(self.step.inputs)))

    def keys(self, records: Mapping[int, pa.Table], spark: Spark, *, newest_first: bool = False) -> tuple[Key, ...]:
        """The distinct keys of these records (by input), in their order or the last one first."""
        record_keys = [key for key, _ in gather(self.plan, self.step, records, spark).records]
        return tuple(dict.fromkeys(reversed(record_keys) if newest_first else record_keys))

    def keys_of_output(self, rows: Sequence[Sequence[Any]]) -> tuple[Key, ...]:
        """The distinct keys of output rows; empty if their columns do not contain the whole key."""
        assert isinstance(self.plan.operator, Operator)
        names = self.plan.schema.names
        inputs = [input_.schema.names for input_ in self.plan.inputs]
        origin = self.plan.operator.origins(inputs, names)[0]
        carried = dict(origin.columns) if origin is not None else {}
        columns = key_columns(self.step.inputs[0], self.plan.inputs[0].schema)
        if not all(column in carried for column in columns):
            return ()
        places = [names.index(carried[str(column)]) for column in columns]
        return tuple(dict.fromkeys(tuple(row[at] for at in places) for row in rows))

    def _question(self, port: int, key: Sequence[Any]) -> Question:
        input_ = self.plan.inputs[port]
        columns = key_columns(self.step.inputs[port], input_.schema)
        equals = [
            (column, stored_value(value, input_.schema.column(column).type))
            for column, value in zip(columns, key, strict=False)
            if column is not None
        ]
        return Question(port, input_.node, input_.port, self.given[port], tuple(equals), None not in columns)


def keyed_node(plan: Plan, node_id: str) -> KeyedNode:
    """The keyed operator of a node. Raises NotReplayable if it has no state by key."""
    node = plan.node(node_id)
    step = step_of(plan, node) if isinstance(node.operator, Operator) else None
    if not isinstance(step, Keyed):
        message = "it keeps no state by key. Choose an operator that does, such as an aggregate or a join."
        raise NotReplayable(message, node_id)
    passing = (plan.passing(input_) for input_ in node.inputs)
    kinds = tuple(frozenset(RowKind if passed is None else map(RowKind, passed)) for passed in passing)
    assert isinstance(node.operator, Operator)
    ttls_ms = node.operator.state_ttls_ms(plan.pipeline.options)
    return KeyedNode(node, step, kinds, sources_by_event_time(plan), ttls_ms)


def keyed_nodes(plan: Plan) -> tuple[str, ...]:
    """The operators with state by key, in topological order, whether or not it can be replayed."""
    return tuple(
        node.id
        for node in plan.nodes
        if isinstance(node.operator, Operator)
        and isinstance(step_of(plan, node), Keyed)
        and node.strategy.state != "none"
    )


def key_columns(input_: KeyedInput, schema: Schema) -> tuple[str | None, ...]:
    """By part of the key, its column; None for a computed part."""
    return tuple(column.name if (column := _key_column(key, schema)) else None for key in input_.keys)


def _key_column(expression: str, schema: Schema) -> Column | None:
    """The column of a part of a key, also if a join compares it as a wider integer."""
    match = _WIDER.fullmatch(expression)
    column = Expression.parse(match[1] if match else expression).plain_column(schema)
    return None if column is None or (match and column.type not in INTEGERS) else column


def stored_value(value: Any, type_: Type) -> Any:
    """A kernel's value in the store's form: instants in kernels are microseconds."""
    return moment(value) if isinstance(type_, Timestamp) and isinstance(value, int) else value
