"""What has to be asked of a store for the state of one key: the records of which edges, with which columns equal.

A part of a key that is computed of several columns cannot be asked for; such records are told apart here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from engine.contract.described import moment
from engine.contract.kernel import Key
from engine.contract.operator import OUT, Operator
from engine.contract.step import Keyed, KeyedInput
from engine.errors import NotReplayable
from engine.expressions import Expression
from engine.local.keyed import gather
from engine.local.values import Spark
from engine.model.changelog import RowKind
from engine.model.schema import Column, Schema
from engine.planner import NodePlan, Plan
from engine.runtime.steps import sources_by_event_time, step_of

if TYPE_CHECKING:
    import pyarrow as pa

_WIDER: Final = re.compile(r"CAST\((`(?:[^`]|``)+`) AS (SMALLINT|INT|BIGINT)\)")
_WHOLE: Final = ("tinyint", "smallint", "int", "bigint")


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
        record_keys = [key for key, _ in gather(self.plan, self.step, records, spark).records]
        return tuple(dict.fromkeys(reversed(record_keys) if newest_first else record_keys))

    def keys_of_output(self, rows: Sequence[Sequence[Any]]) -> tuple[Key, ...]:
        """The keys that output rows tell, each once; none where their columns do not hold the whole key."""
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
            (column, _stored(value, input_.schema.column(column).type))
            for column, value in zip(columns, key, strict=False)
            if column is not None
        ]
        return Question(port, input_.node, input_.port, self.given[port], tuple(equals), None not in columns)


def keyed_node(plan: Plan, node_id: str) -> KeyedNode:
    """The operator behind a node. Raises NotReplayable where there is no state by key to tell."""
    node = plan.node(node_id)
    step = step_of(plan, node) if isinstance(node.operator, Operator) else None
    if not isinstance(step, Keyed):
        message = "it keeps no state by key. Choose an operator that does, such as an aggregate or a join."
        raise NotReplayable(message, node_id)
    kinds = tuple(
        frozenset(RowKind) - (plan.node(input_.node).mode - input_.mode) if input_.port == OUT else frozenset(RowKind)
        for input_ in node.inputs
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


def key_columns(input_: KeyedInput, schema: Schema) -> tuple[str | None, ...]:
    """By part of the key the column that it is; None where it is computed of several or otherwise."""
    return tuple(column.name if (column := _key_column(key, schema)) else None for key in input_.keys)


def _key_column(expression: str, schema: Schema) -> Column | None:
    """The column of a key, also where a join compares it as a wider integer."""
    match = _WIDER.fullmatch(expression)
    column = Expression.parse(match[1] if match else expression).plain_column(schema)
    return None if column is None or (match and column.type not in _WHOLE) else column


def _stored(value: Any, type_: str) -> Any:
    """A value of a key as a store holds it: kernels know instants as microseconds."""
    return moment(value) if type_.startswith("timestamp") and isinstance(value, int) else value
