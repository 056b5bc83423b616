"""Write changes as rows: each record becomes an inserted row whose first column tells its kind.

Input: any changelog mode; updates come with -U. Output: insert-only. A kind without a text is left out.
State: none. Time: event times are passed on.
Source: Flink ToChangelogFunction, ToChangelogTypeStrategy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from engine.contract.batch_input import BatchInput
from engine.contract.change_words import ChangeWords
from engine.contract.derived import Derived
from engine.contract.frames import KIND
from engine.contract.kernel import Output
from engine.contract.meaning import Emission, Meaning
from engine.contract.operator import Analyzer, InputPlan, StepContext, Strategy
from engine.contract.parameters import parameter
from engine.contract.requirements import require_different_names
from engine.contract.stateless import StatelessKernel
from engine.contract.step import Keyed, KeyedInput
from engine.model.changelog import INSERT, ChangelogMode
from engine.model.row import Row
from engine.model.schema import Column, Schema
from engine.model.types import STRING, quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class ToChangelogKernel(StatelessKernel):
    """Each record as an inserted row. texts: by kind, what its first column says."""

    def __init__(self, texts: Mapping[int, str]) -> None:
        self.texts = texts

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """A kind without a text is left out."""
        if kind in self.texts:
            out.emit(INSERT, (self.texts[kind], *row))


class ToChangelog(ChangeWords):
    """TO_CHANGELOG(input => TABLE t, op => DESCRIPTOR(op))."""

    operator: ClassVar[str] = "to_changelog"
    title: ClassVar[str] = "Changes as rows"
    summary: ClassVar[str] = "Makes each change an inserted row, with a column that tells its kind."
    also_called: ClassVar[tuple[str, ...]] = ("to_changelog", "append", "audit", "history", "row kind")
    group: ClassVar[str] = "records"
    sql_function: ClassVar[str] = "TO_CHANGELOG"

    op: str = parameter("Name of the column", "The first column, with the kinds.", default="op", min_length=1)

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The kind, then the input's columns. Raises PipelineError."""
        (input_,) = inputs
        schema = Schema((Column(self.op, STRING), *input_.schema.columns))
        require_different_names(node, "op", schema)
        return Derived(schema)

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """There is only one strategy."""
        return Strategy("changes as rows", f"each change is inserted, and {self.op} tells its kind")

    def step(self, context: StepContext) -> Keyed:
        """Keyed by the content, so that records with equal content keep their order."""
        columns = tuple(map(quote, context.schema.names[1:]))
        texts = {int(kind): text for kind, text in self.texts.items()}
        return Keyed((KeyedInput(columns, columns),), partial(ToChangelogKernel, texts))

    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """The records of the input, but for the kinds that are left out."""
        from pyspark.sql import functions as f

        (input_,) = inputs
        told = f.coalesce(*(f.when(f.col(KIND) == int(kind), text) for kind, text in self.texts.items()))
        return input_.changelog.withColumn(self.op, told).where(f.col(quote(self.op)).isNotNull()).drop(KIND)

    def late_rule(self) -> None:
        """No record is ever too late."""

    def meaning(self, emission: Emission) -> Meaning:
        """The change that it tells."""
        return Meaning(f"a change of the input, {emission.record.values[0]}")

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """The call of the function."""
        ((table, _),) = inputs
        return self.call(f"TABLE {quote(table)}", self.op, {kind.name: text for kind, text in self.texts.items()})


OPERATOR = ToChangelog
