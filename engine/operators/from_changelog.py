"""Read rows as changes: a column of them tells the kind of each.

Input: insert-only. Output: every kind, without the column. A row whose text stands for no kind ends the run, as it
ends Flink's job.
State: none. Time: event times are passed on.
Source: Flink FromChangelogFunction, FromChangelogTypeStrategy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from pydantic import model_validator

from engine.contract.batch_input import BatchInput
from engine.contract.batch_rows import by_whole_row
from engine.contract.change_words import ChangeWords
from engine.contract.derived import Derived
from engine.contract.frames import KIND
from engine.contract.kernel import Output
from engine.contract.meaning import Emission, Meaning
from engine.contract.operator import Analyzer, InputPlan, StepContext, Strategy
from engine.contract.parameters import parameter
from engine.contract.requirements import Offer, require_insert_only
from engine.contract.stateless import StatelessKernel
from engine.contract.step import Keyed, KeyedInput
from engine.errors import PipelineError
from engine.model.changelog import ALL_CHANGES, ChangelogMode, RowKind, UpdateKind
from engine.model.row import Row
from engine.model.schema import Schema
from engine.model.types import STRING, quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class FromChangelogKernel(StatelessKernel):
    """Each row with the kind that its last column tells. kinds: by text."""

    def __init__(self, kinds: Mapping[str, int]) -> None:
        self.kinds = kinds

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """The row without its last column. Raises ValueError for a text that stands for no kind."""
        *values, text = row
        if text not in self.kinds:
            texts = ", ".join(self.kinds)
            got = "a row has no kind" if text is None else f"{text!r} stands for no kind of change"
            message = f"{got}; known are {texts}. Filter such rows, or give the text a kind."
            raise ValueError(message)
        out.emit(self.kinds[text], tuple(values))


class FromChangelog(ChangeWords):
    """FROM_CHANGELOG(input => TABLE t, op => DESCRIPTOR(op))."""

    operator: ClassVar[str] = "from_changelog"
    title: ClassVar[str] = "Rows as changes"
    summary: ClassVar[str] = "Takes rows for a changelog: a column tells whether a row is inserted, updated or deleted."
    also_called: ClassVar[tuple[str, ...]] = ("from_changelog", "cdc", "op", "row kind", "debezium")
    group: ClassVar[str] = "records"
    sql_function: ClassVar[str] = "FROM_CHANGELOG"

    op: str = parameter(
        "Column of the kinds",
        "A STRING column. It is not part of the output. Several texts of one kind have commas between them: c, r",
        column=True,
    )

    @model_validator(mode="after")
    def _has_pairs(self) -> FromChangelog:
        if RowKind.UPDATE_AFTER in self.texts and RowKind.UPDATE_BEFORE not in self.texts:
            message = "updates_before: a row after an update needs the row before it. Give -U a text, or none to +U."
            raise ValueError(message)
        return self

    @property
    def kinds(self) -> Mapping[str, int]:
        """By text, the kind that it stands for."""
        return {text.strip(): int(kind) for kind, listed in self.texts.items() for text in listed.split(",")}

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The input's columns without that of the kinds. Raises PipelineError and PlanRejected."""
        (input_,) = inputs
        require_insert_only(node, "reading rows as changes", input_, "Its rows are changes already.")
        column = input_.schema.column(self.op, node, "op")
        if column.type != STRING:
            message = f"op: {column.name} is of type {column.type.flink}, but the texts of kinds are a STRING."
            raise PipelineError(message, node, "op")
        columns = tuple(other for other in input_.schema if other is not column)
        if not columns:
            message = f"op: {column.name} is the only column, so nothing would be left of a row."
            raise PipelineError(message, node, "op")
        return Derived(Schema(columns), ALL_CHANGES)

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """Its rows have -U, which no reader can do without: there is no key."""
        if wanted is UpdateKind.ONLY_UPDATE_AFTER:
            return ()
        return (Offer((UpdateKind.NONE,), ("its input only inserts",)),)

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """There is only one strategy."""
        return Strategy("rows as changes", f"the text in {self.op} tells the kind of each row")

    def step(self, context: StepContext) -> Keyed:
        """Keyed by the content, so that records with equal content keep their order."""
        columns = tuple(map(quote, context.schema.names))
        keyed = KeyedInput(columns, (*columns, quote(self.op)))
        return Keyed((keyed,), partial(FromChangelogKernel, dict(self.kinds)))

    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """The rows that are inserted more often than taken back."""
        from pyspark.sql import functions as f

        (input_,) = inputs
        told = f.coalesce(*(f.when(f.col(quote(self.op)) == text, kind) for text, kind in self.kinds.items()))
        return by_whole_row(input_.table.withColumn(KIND, told), context.schema).drop(KIND)

    def late_rule(self) -> None:
        """No record is ever too late."""

    def meaning(self, emission: Emission) -> Meaning:
        """What the column said."""
        return Meaning(f"{self.op} told {emission.record.kind.name}")

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """The call over a query: over a table alone, it is read as the source of a changelog."""
        ((table, _),) = inputs
        pairs = {listed: kind.name for kind, listed in self.texts.items()}
        return self.call(f"(SELECT * FROM {quote(table)})", self.op, pairs)


OPERATOR = FromChangelog
