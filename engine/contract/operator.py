"""The contract of an operator: one file in `engine/operators/` holds everything that it is.

    parameters     the fields of a pydantic model; their titles and descriptions draw the form
    derive         what its output is: schema, keys, kinds of change (planner, from the sources down)
    offers         what it needs of its inputs to write updates as its consumers want (from the sinks up)
    strategy       how it will work, and why, in words
    step           what Spark shall do: a native projection, or a kernel per key
    late_rule      when a record is too late for it, and who loses what
    meaning        why it emitted a record, in words
    alternatives   what can do its work where it is not allowed to stand
    flink_sql      the same in Flink SQL

A parameter that is more than its type says so in `json_schema_extra`, and the form draws a picker for it:
{"column": True} one column of the input, {"columns": True} a list of them, {"expression": True} Spark SQL
(`engine.expressions.spellings` makes it of Flink's), {"duration": True} a length of time in ms; "port" names the
input that is meant where there are several.
{"text": True}: what is neither a text nor a number alone is typed as one, and read by the model.
{"last": True} puts a field that few need below the others, folded away. {"only": ["hop"]}: it is asked for only where
one of these is chosen, in the field of the same model that offers them.
{"functions": True}: the aggregate functions of the node's code can be chosen too.
One of some objects with names, such as an aggregate function, is annotated with `engine.contract.named.Named`.
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
"""The output that every node has."""

Keys = frozenset[frozenset[str]]
NO_KEYS: Keys = frozenset()


class Monotonicity(Enum):
    """How a value of one key moves from update to update (Flink RelModifiedMonotonicity)."""

    INCREASING = "increasing"
    DECREASING = "decreasing"
    CONSTANT = "constant"
    NOT_MONOTONIC = "not monotonic"


def constant(names: Iterable[str], among: Iterable[str] = ()) -> Mapping[str, Monotonicity]:
    """Columns that never change, and others among which they are, which change in any way."""
    return {**dict.fromkeys(among, Monotonicity.NOT_MONOTONIC), **dict.fromkeys(names, Monotonicity.CONSTANT)}


class Analyzer(Protocol):
    """Spark's analyzer, as the planner sees it."""

    def type_of(self, expression: str, schema: Schema, node: str, field: str) -> str:
        """The type of a Spark SQL expression over these columns. Raises ExpressionError."""


@dataclass(frozen=True)
class Derived:
    """What is known of an output before its consumers are asked.

    upsert_keys: sets of columns of which one identifies a row of the table; empty where only the whole
    row does. monotonic: by column, how it moves from update to update; empty where nothing is known, which Flink
    takes for rows that may be deleted, and so it does of some operators whose rows only come.
    non_negative: the columns that are never below zero. provides: for a source with a
    changelog of its own, how it writes updates, which no consumer can change. above: the sources of which
    its watermark is made; the planner fills in what an operator does not say. lone_updates: below a filter a
    -U may come without its +U, so that nobody may leave it out. null_keys: below a FULL join two rows may be
    padded to the same key, one of NULLs alone. shared_keys: keys of the rows below a Top N, of which two ranks may have
    the same for a moment, when they change hands; Flink takes them for upsert keys. expression_types: Spark's types
    of what the operator's parameters have
    computed of a row, for its step. node: who emits it, for sentences; the planner fills it in.
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
        """The sources above, each with the ms by which the watermark is held back on the way."""
        return holdbacks_of(self.above)

    @property
    def shortest_key(self) -> frozenset[str] | None:
        """The upsert key with the fewest columns; None where there is none."""
        return min(self.upsert_keys, key=lambda names: (len(names), sorted(names)), default=None)

    @property
    def is_insert_only(self) -> bool:
        """True where no row is ever taken back."""
        return self.modify == INSERT_ONLY

    @property
    def never_moves(self) -> bool:
        """True where no column moves: Flink takes that for an input that only inserts, though rows may be deleted."""
        return all(self.monotonic.get(name) is Monotonicity.CONSTANT for name in self.schema.names)

    def moves_of(self, names: Iterable[str]) -> Mapping[str, Monotonicity]:
        """How columns move that are computed of this output, by an operator that updates nothing by itself."""
        if not self.monotonic:
            return {}
        return constant(names) if self.never_moves else constant((), among=names)

    @property
    def has_updates(self) -> bool:
        """True where rows are replaced."""
        return ModifyKind.UPDATE in self.modify


@dataclass(frozen=True)
class Offer:
    """One way to give the consumers what they want: what each input has to provide for it, and why."""

    needs: tuple[UpdateKind, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class InputPlan:
    """An input once everything is decided. port: which output of its node; mode: what is given of it, maybe not all."""

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
    """How an operator works here: a name (AppendFast, with retraction, ...), why, and what state it keeps."""

    name: str
    reason: str
    state: str = NO_STATE


@dataclass(frozen=True)
class StepContext:
    """Everything that is decided of a node when its step is made."""

    node: str
    rank: int
    inputs: tuple[InputPlan, ...]
    schema: Schema
    mode: ChangelogMode
    derived: Derived
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def generate_update_before(self) -> bool:
        """True where the output has -U: a consumer needs it, and the pipeline's options do not switch it off."""
        return self.mode.has_update_before


@dataclass(frozen=True)
class Alternative:
    """Another operator, with its parameters, that does the same. label: what a button says."""

    label: str
    operator: str
    parameters: Mapping[str, Any]


class Parameters(BaseModel):
    """The base of all parameter models: unknown fields are errors, values do not change, numbers fit a BIGINT.

    An expression is Spark SQL, however it was spelled.
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
    """Ports whose sources are read before all others of an epoch: tables in which the rows of other ports look up."""
    sql_function: ClassVar[str] = ""
    """The name by which SQL calls it: FROM TABLE(NAME(TABLE t, PARAMETER => value)). "" where SQL has another way."""

    @classmethod
    def output_ports(cls, parameters: Mapping[str, Any]) -> tuple[str, ...]:
        """The outputs that an edge can start from with these parameters, right or wrong; `out` comes first."""
        return (OUT,)

    @abstractmethod
    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The output's schema, kinds of change and keys. Raises PipelineError and PlanRejected."""

    def derive_port(self, port: str, node: str, inputs: Sequence[Derived]) -> Derived:
        """The same of a second output, whose rows only insert. Raises PlanRejected."""
        raise AssertionError(port)

    def input_of_port(self, port: str) -> int:
        """The place of the input whose records come out of a second output."""
        raise AssertionError(port)

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """The ways to write updates as wanted, the cheapest first; () where there is none.

        By default an operator that keeps what it emitted: it can write any, and asks its inputs for -U.
        wanted is NONE where the output has no updates.
        """
        reason = "it has to retract what the old row contributed"
        return (Offer((UpdateKind.BEFORE_AND_AFTER,) * len(inputs), (reason,) * len(inputs)),)

    @abstractmethod
    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """How it works on these inputs, and why."""

    @abstractmethod
    def step(self, context: StepContext) -> Step:
        """What Spark shall do."""

    @abstractmethod
    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """The output table from the whole input tables, in Spark SQL without the kernel. It may have more columns."""

    @property
    def judges_late(self) -> bool:
        """Whether the batch step takes care of late records by itself, and so is given them, and which they are."""
        return False

    @property
    def needs_each_watermark(self) -> bool:
        """Whether in mini-batch the watermarks above it come with each record, not in steps (Flink: no assigner)."""
        return False

    @property
    def foreign_code(self) -> str:
        """Code of the document's author that it runs, which somebody has to have allowed; "" where there is none."""
        return ""

    @property
    def unordered(self) -> frozenset[str]:
        """Result columns whose lists have no order that SQL knows, so that they are compared without."""
        return frozenset()

    @abstractmethod
    def late_rule(self) -> LateRule | None:
        """When a record is too late for it; None where no record ever is."""

    def meaning(self, emission: Emission) -> Meaning:
        """Why it emitted a record. By default that of an operator that makes each record of one alone."""
        return Meaning("passed on")

    @classmethod
    def columns_out(cls, parameters: Mapping[str, Any], inputs: Sequence[Sequence[str]]) -> Sequence[str]:
        """The names of the output's columns, of those of its inputs, where SQL calls it as a table function."""
        return inputs[0]

    def alternatives(self, inputs: Sequence[Derived]) -> Sequence[Alternative]:
        """Operators that do the same over these inputs, where this one may be refused."""
        return ()

    def origins(self, inputs: Sequence[Sequence[str]], output: Sequence[str]) -> Sequence[Origin | None]:
        """Per input what an output record was made of, by the columns' names; None: of the one that caused it."""
        return (None,) * len(inputs)

    def without_variables(self, expression: str) -> str:
        """An expression of its parameters as one over a row of its input, where it is over several: A.v > LAST(A.v)."""
        return expression

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """The operator as a Flink SQL query over its inputs' (table name, schema).

        By default the call of its table function, which Flink needs a process table function of that name for.
        """
        assert self.sql_function, "an operator without a table function says its Flink SQL itself"
        return table_call(self.sql_function, [table for table, _ in inputs], self)


def require_insert_only(node: str, what: str, input_: Derived, advice: str) -> None:
    """Raise PlanRejected, with what to do instead, where the input of `what` takes rows back."""
    if not input_.is_insert_only:
        mode = ChangelogMode.of(input_.modify, UpdateKind.BEFORE_AND_AFTER)
        message = f"{what} needs an insert-only input, but {input_.node or 'its input'} emits {mode}. {advice}"
        raise PlanRejected(message, node)


def forwarded(inputs: Sequence[Derived], wanted: UpdateKind, reason: str) -> Sequence[Offer]:
    """The offer of an operator that passes kinds on: it needs of its inputs what is wanted of it."""
    return (Offer((wanted,) * len(inputs), (reason,) * len(inputs)),)


def forwarded_with_update_before(inputs: Sequence[Derived], wanted: UpdateKind, reason: str) -> Sequence[Offer]:
    """The same of an operator that cannot do without -U: +U alone does not say what it replaces in the output."""
    return () if wanted is UpdateKind.ONLY_UPDATE_AFTER else forwarded(inputs, wanted, reason)
