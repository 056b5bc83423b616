"""The contract of an operator: one file in `engine/operators/` defines all of it.

parameters     its fields (`engine.contract.parameters`); the form shows their titles and descriptions
derive         its output: schema, keys, kinds of change (planner, from the sources down)
offers         its requirements for its inputs, to write updates as its consumers want (from the sinks up)
strategy       how it will work, and why, in words
step           the work for Spark: a native projection, or a kernel per key
late_rule      when a record is too late for it, and the consequences
meaning        why it emitted a record, in words
alternatives   operators with the same result for inputs that it does not accept
preparations   operators that make such an input acceptable
epoch_writer   where a sink writes, in a live run; check_place: whether it can
flink_sql      the same in Flink SQL
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from engine.contract.batch_input import BatchInput
from engine.contract.derived import Derived
from engine.contract.expiry import Expiry
from engine.contract.explanation import NO_STATE
from engine.contract.late_rule import LateRule
from engine.contract.meaning import Emission, Meaning
from engine.contract.parameters import Parameters
from engine.contract.requirements import Offer
from engine.contract.step import Step
from engine.contract.table_call import table_call
from engine.contract.target import EpochWriter
from engine.model.changelog import ChangelogMode, UpdateKind
from engine.model.options import state_ttl_ms
from engine.model.origin import Origin
from engine.model.schema import Schema
from engine.model.types import Type
from engine.model.zones import Zone

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

OUT: Final = "out"
"""The output port that every node has."""


class Analyzer(Protocol):
    """Judges expressions: `engine.expressions.analyzer.TypeRules`."""

    def __hash__(self) -> int:
        """What it has judged is remembered."""

    def type_of(self, expression: str, schema: Schema, node: str, field: str) -> Type:
        """The type of a Spark SQL expression over these columns. Raises ExpressionError."""


class WithSchema:
    """The base of plans with a derived output."""

    derived: Derived

    @property
    def schema(self) -> Schema:
        """The output's columns."""
        return self.derived.schema


@dataclass(frozen=True)
class InputPlan(WithSchema):
    """An input in the final plan. port: the output of its node. mode: the kinds that are passed on, maybe not all."""

    node: str
    derived: Derived
    mode: ChangelogMode
    port: str = OUT


@dataclass(frozen=True)
class Strategy:
    """How an operator works here: a name (AppendFast, with retraction, ...), the reason, and its state."""

    name: str
    reason: str
    state: str = NO_STATE


@dataclass(frozen=True)
class StepContext(WithSchema):
    """The decisions for a node, from which its step is made."""

    node: str
    rank: int
    inputs: tuple[InputPlan, ...]
    mode: ChangelogMode
    derived: Derived
    options: Mapping[str, str] = field(default_factory=dict)
    zone: Zone | None = None
    """The zone of windows over this node's event time; None for UTC, and for local times."""

    @property
    def generate_update_before(self) -> bool:
        """True if the output has -U: a consumer needs it, and the pipeline's options do not switch it off."""
        return self.mode.has_update_before


@dataclass(frozen=True)
class Alternative:
    """Another operator that helps, and its parameters. label: of the button."""

    label: str
    operator: str
    parameters: Mapping[str, Any]


class Operator(Parameters):
    """An operator with its parameters. Class variables describe it in the palette and the document."""

    operator: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    also_called: ClassVar[tuple[str, ...]] = ()
    """Words of SQL and of other tools by which a search finds it."""
    group: ClassVar[str]
    ports: ClassVar[tuple[str, ...]] = ("in",)
    role: ClassVar[str] = "operator"
    computes: ClassVar[str] = ""
    """The parameter with the expressions that are its output's columns."""
    many_edges: ClassVar[bool] = False
    """Whether a port takes several edges (a union)."""
    passes_rows: ClassVar[bool] = False
    """Whether its output has the columns of its input, with the values that they have there; it may add others."""
    tables: ClassVar[tuple[str, ...]] = ()
    """Ports whose sources are read before all others of an epoch: lookup tables for the rows of other ports."""
    goes_by_latest: ClassVar[bool] = False
    """Whether its watermark is that of the latest source above it: a clock, which none of them holds back."""
    time_ends: ClassVar[str] = ""
    """Why its rows have no event time though its inputs' have, and what helps; "" if that follows from its output."""
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

    def let_go(self, context: StepContext, inputs: Iterable[BatchInput]) -> DataFrame | None:
        """Results over whole tables that a stream cannot have, since the watermark had let a row go before they came.

        inputs: whole, with the list of the dropped records; made only where they are read. One row: the number of these
        results, and by how many ms the watermark had passed such a row at most (NULL without one). The batch step
        leaves them out too. None for an operator whose results are lost with late records only.
        """
        return None

    @property
    def judges_late(self) -> bool:
        """Whether the batch step handles late records itself; it then receives them and the list of them."""
        return False

    @property
    def needs_each_watermark(self) -> bool:
        """Whether in mini-batch it receives watermarks with each record, not in steps (Flink: no assigner)."""
        return False

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of rows that may precede a column in its expressions, as in A.v."""
        return ()

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

    def options_of(self, options: Mapping[str, str]) -> Mapping[str, str]:
        """The pipeline's options as they are for this operator (`engine.contract.own_ttl`)."""
        return options

    def state_ttls_ms(self, options: Mapping[str, str]) -> tuple[int, ...]:
        """How long an entry of its state lives after it was last written, or of each side's; 0: for ever."""
        return (state_ttl_ms(self.options_of(options)),)

    def expiry(self, inputs: Sequence[InputPlan]) -> Expiry:
        """What frees its state; the default is for an operator whose windows end, and for one that keeps its state."""
        return Expiry.NEVER if self.late_rule() is None else Expiry.BY_WATERMARK

    def epoch_writer(self, context: StepContext, run: str, folder: Path) -> EpochWriter | None:
        """What writes a sink's records of a live run to a place outside. run: its unique name. Raises TargetError."""
        return None

    def check_place(self, context: StepContext, folder: Path) -> None:
        """Raise StudioError if a sink cannot write where it is told to, as far as this is known without connecting."""

    def meaning(self, emission: Emission) -> Meaning:
        """Why the operator emitted a record. The default is for operators that process single records."""
        return Meaning("passed on")

    @classmethod
    def columns_out(cls, parameters: Mapping[str, Any], inputs: Sequence[Sequence[str]]) -> Sequence[str]:
        """The names of the output columns from those of the inputs, for a table function in SQL."""
        return inputs[0]

    @property
    def caution(self) -> str:
        """What its parameters mean, if that is valid but seldom meant; else ""."""
        return ""

    def alternatives(self, inputs: Sequence[Derived]) -> Sequence[Alternative]:
        """Operators with the same result over these inputs, which this one may reject."""
        return ()

    def preparations(self, port: str) -> Sequence[Alternative]:
        """Operators that can be put before an input, if this one rejects it as it is."""
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
