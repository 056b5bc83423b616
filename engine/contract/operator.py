"""The contract of an operator: one file in `engine/operators/` defines all of it.

    parameters     the fields of a pydantic model; the form shows their titles and descriptions
    derive         its output: schema, keys, kinds of change (planner, from the sources down)
    offers         its requirements for its inputs, to write updates as its consumers want (from the sinks up)
    strategy       how it will work, and why, in words
    step           the work for Spark: a native projection, or a kernel per key
    late_rule      when a record is too late for it, and the consequences
    meaning        why it emitted a record, in words
    alternatives   operators with the same result for inputs that it does not accept
    flink_sql      the same in Flink SQL

A parameter with a special meaning declares it in `json_schema_extra`, and the form has a special input for it:
{"column": True} one column of the input, {"columns": True} a list of columns, {"expression": True} Spark SQL
(`engine.expressions.spellings` translates Flink's spellings), {"duration": True} a duration in ms; "port" names the
input if there are several.
{"text": True}: other values than strings and numbers are entered as text and parsed by the model.
{"last": True} moves a rarely used field to a folded part below the others. {"only": ["hop"]}: the field is only shown
if one of these values is chosen in the field of the same model that offers them.
{"functions": True}: the aggregate functions of the node's code can be chosen too.
A parameter that is one of several named objects, such as an aggregate function, is annotated with
`engine.contract.named.Named`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, Self

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator, model_validator

from engine.contract.batch_input import BatchInput
from engine.contract.explanation import NO_STATE
from engine.contract.late_rule import LateRule
from engine.contract.meaning import Emission, Meaning
from engine.contract.step import Step
from engine.contract.table_call import table_call
from engine.errors import PlanRejected
from engine.model.changelog import INSERT_ONLY, ChangelogMode, ModifyKind, ModifyKinds, UpdateKind
from engine.model.combining import NOTHING, Above, holdbacks_of
from engine.model.origin import Origin
from engine.model.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

OUT: Final = "out"
"""The output port that every node has."""

Keys = frozenset[frozenset[str]]
NO_KEYS: Keys = frozenset()


class Monotonicity(Enum):
    """How a value of one key changes from update to update (Flink RelModifiedMonotonicity)."""

    INCREASING = "increasing"
    DECREASING = "decreasing"
    CONSTANT = "constant"
    NOT_MONOTONIC = "not monotonic"


def constant(names: Iterable[str], among: Iterable[str] = ()) -> Mapping[str, Monotonicity]:
    """CONSTANT for the columns `names`, and NOT_MONOTONIC for the other columns in `among`."""
    return {**dict.fromkeys(among, Monotonicity.NOT_MONOTONIC), **dict.fromkeys(names, Monotonicity.CONSTANT)}


class Analyzer(Protocol):
    """Spark's analyzer, as the planner sees it."""

    def type_of(self, expression: str, schema: Schema, node: str, field: str) -> str:
        """The type of a Spark SQL expression over these columns. Raises ExpressionError."""


@dataclass(frozen=True)
class Derived:
    """The derived properties of an output, before the requirements of its consumers are known.

    upsert_keys: sets of columns, each of which identifies a row of the table; empty if only the whole row does.
    monotonic: by column, how it changes from update to update; empty if unknown. Flink then assumes that rows may be
    deleted, and does so even for some insert-only operators. non_negative: the columns that are never below zero.
    above: the origin of its watermark; the planner fills it in unless the operator does. lone_updates: True below a
    filter, for example: a -U may come without its +U, so it must not be dropped. null_keys: below a FULL join two rows
    may be padded to the same key, which consists of NULLs only. shared_keys: keys of the rows below a Top N; while
    ranks change, two ranks may have the same key for a moment. Flink treats these keys as upsert keys.
    expression_types: the Spark types of the expressions in the operator's parameters, for its step. node: the
    emitting node, for messages; the planner fills it in.
    """

    schema: Schema
    modify: ModifyKinds = INSERT_ONLY
    upsert_keys: Keys = NO_KEYS
    monotonic: Mapping[str, Monotonicity] = field(default_factory=dict)
    non_negative: frozenset[str] = frozenset()
    above: Above = NOTHING
    lone_updates: bool = False
    null_keys: bool = False
    shared_keys: Keys = NO_KEYS
    expression_types: Mapping[str, str] = field(default_factory=dict)
    node: str = ""

    @property
    def holdbacks(self) -> Mapping[str, int]:
        """The sources above, each with the ms by which its watermark is held back."""
        return holdbacks_of(self.above)

    @property
    def shortest_key(self) -> frozenset[str] | None:
        """The upsert key with the fewest columns; None if there is none."""
        return min(self.upsert_keys, key=lambda names: (len(names), sorted(names)), default=None)

    @property
    def is_insert_only(self) -> bool:
        """True if no row is ever retracted."""
        return self.modify == INSERT_ONLY

    @property
    def never_moves(self) -> bool:
        """True if no column changes: Flink treats such an input as insert-only, although rows may be deleted."""
        return all(self.monotonic.get(name) is Monotonicity.CONSTANT for name in self.schema.names)

    def moves_of(self, names: Iterable[str]) -> Mapping[str, Monotonicity]:
        """The monotonicity of columns computed from this output by an operator that does not update rows itself."""
        if not self.monotonic:
            return {}
        return constant(names) if self.never_moves else constant((), among=names)

    @property
    def has_updates(self) -> bool:
        """True if rows are replaced."""
        return ModifyKind.UPDATE in self.modify


@dataclass(frozen=True)
class Offer:
    """One way to satisfy the consumers: the required update kind of each input, and the reasons."""

    needs: tuple[UpdateKind, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class InputPlan:
    """An input in the final plan. port: the output of its node. mode: the kinds that are passed on, maybe not all."""

    node: str
    derived: Derived
    mode: ChangelogMode
    port: str = OUT

    @property
    def schema(self) -> Schema:
        """The input's columns."""
        return self.derived.schema


@dataclass(frozen=True)
class Strategy:
    """How an operator works here: a name (AppendFast, with retraction, ...), the reason, and its state."""

    name: str
    reason: str
    state: str = NO_STATE


@dataclass(frozen=True)
class StepContext:
    """The decisions for a node, from which its step is made."""

    node: str
    rank: int
    inputs: tuple[InputPlan, ...]
    schema: Schema
    mode: ChangelogMode
    derived: Derived
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def generate_update_before(self) -> bool:
        """True if the output has -U: a consumer needs it, and the pipeline's options do not switch it off."""
        return self.mode.has_update_before


@dataclass(frozen=True)
class Alternative:
    """Another operator with the same result, and its parameters. label: of the button."""

    label: str
    operator: str
    parameters: Mapping[str, Any]


class Parameters(BaseModel):
    """The base of all parameter models: unknown fields are errors, values do not change, numbers fit a BIGINT.

    Expressions are converted to Spark SQL.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    @field_validator("*")
    @classmethod
    def _is_spark_sql(cls, value: Any, field: ValidationInfo) -> Any:
        extra = cls.model_fields[field.field_name or ""].json_schema_extra
        if not (isinstance(value, str) and isinstance(extra, dict) and extra.get("expression")):
            return value
        from engine.expressions.spellings import as_spark

        return as_spark(value)

    @model_validator(mode="after")
    def _numbers_fit(self) -> Self:
        for name, value in self:
            # Far below 2^63: sums of a few such numbers have to fit as well.
            if isinstance(value, int) and abs(value) >= 1 << 60:
                message = f"{name} is too large; the largest number is {(1 << 60) - 1}"
                raise ValueError(message)
        return self


class Operator(Parameters):
    """An operator with its parameters. Class variables describe it in the palette and the document."""

    operator: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    group: ClassVar[str]
    ports: ClassVar[tuple[str, ...]] = ("in",)
    role: ClassVar[str] = "operator"
    many_edges: ClassVar[bool] = False
    """Whether a port takes several edges (a union)."""
    tables: ClassVar[tuple[str, ...]] = ()
    """Ports whose sources are read before all others of an epoch: lookup tables for the rows of other ports."""
    sql_function: ClassVar[str] = ""
    """Its name as a table function: FROM TABLE(NAME(TABLE t, PARAMETER => value)). "" if it is not a table function."""

    @classmethod
    def output_ports(cls, parameters: Mapping[str, Any]) -> tuple[str, ...]:
        """The output ports with these parameters, valid or not; `out` comes first."""
        return (OUT,)

    @abstractmethod
    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The output's schema, kinds of change and keys. Raises PipelineError and PlanRejected."""

    def derive_port(self, port: str, node: str, inputs: Sequence[Derived]) -> Derived:
        """The derived properties of a second output, which is insert-only. Raises PlanRejected."""
        raise AssertionError(port)

    def input_of_port(self, port: str) -> int:
        """The index of the input whose records a second output emits."""
        raise AssertionError(port)

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """The ways to write updates as wanted, the cheapest first; () if there is none.

        The default is for an operator whose state has its output: it can write any update kind, and requires -U from
        its inputs. wanted is NONE if the output has no updates.
        """
        reason = "it has to retract what the old row contributed"
        return (Offer((UpdateKind.BEFORE_AND_AFTER,) * len(inputs), (reason,) * len(inputs)),)

    @abstractmethod
    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """How the operator works on these inputs, and why."""

    @abstractmethod
    def step(self, context: StepContext) -> Step:
        """The work for Spark."""

    @abstractmethod
    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """The output table from the whole input tables, in Spark SQL without the kernel. It may have more columns."""

    @property
    def judges_late(self) -> bool:
        """Whether the batch step handles late records itself; it then receives them and the list of them."""
        return False

    @property
    def needs_each_watermark(self) -> bool:
        """Whether in mini-batch it receives watermarks with each record, not in steps (Flink: no assigner)."""
        return False

    @property
    def foreign_code(self) -> str:
        """Code of the document's author, which a user has to allow before it runs; "" if there is none."""
        return ""

    @property
    def unordered(self) -> frozenset[str]:
        """Result columns with lists whose order is not defined in SQL; they are compared in any order."""
        return frozenset()

    @abstractmethod
    def late_rule(self) -> LateRule | None:
        """When a record is too late for the operator; None if no record can be."""

    def meaning(self, emission: Emission) -> Meaning:
        """Why the operator emitted a record. The default is for operators that process single records."""
        return Meaning("passed on")

    @classmethod
    def columns_out(cls, parameters: Mapping[str, Any], inputs: Sequence[Sequence[str]]) -> Sequence[str]:
        """The names of the output columns from those of the inputs, for a table function in SQL."""
        return inputs[0]

    def alternatives(self, inputs: Sequence[Derived]) -> Sequence[Alternative]:
        """Operators with the same result over these inputs, which this one may reject."""
        return ()

    def origins(self, inputs: Sequence[Sequence[str]], output: Sequence[str]) -> Sequence[Origin | None]:
        """Per input, the origin of an output record, by column names; None: the record that caused it."""
        return (None,) * len(inputs)

    def without_variables(self, expression: str) -> str:
        """An expression over several rows, such as A.v > LAST(A.v), as an expression over one row of the input."""
        return expression

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """The operator as a Flink SQL query over its inputs' (table name, schema).

        The default is a call of its table function; Flink needs a process table function of this name.
        """
        assert self.sql_function, "an operator without a table function says its Flink SQL itself"
        return table_call(self.sql_function, [table for table, _ in inputs], self)


def require_insert_only(node: str, what: str, input_: Derived, advice: str) -> None:
    """Raise PlanRejected, with advice, if the input of `what` retracts."""
    if not input_.is_insert_only:
        mode = ChangelogMode.of(input_.modify, UpdateKind.BEFORE_AND_AFTER)
        message = f"{what} needs an insert-only input, but {input_.node or 'its input'} emits {mode}. {advice}"
        raise PlanRejected(message, node)


def forwarded(inputs: Sequence[Derived], wanted: UpdateKind, reason: str) -> Sequence[Offer]:
    """The offer of an operator that passes kinds on: it requires the wanted kind from its inputs."""
    return (Offer((wanted,) * len(inputs), (reason,) * len(inputs)),)


def forwarded_with_update_before(inputs: Sequence[Derived], wanted: UpdateKind, reason: str) -> Sequence[Offer]:
    """The offer of a forwarding operator that needs -U: +U alone does not tell what it replaces in the output."""
    return () if wanted is UpdateKind.ONLY_UPDATE_AFTER else forwarded(inputs, wanted, reason)
