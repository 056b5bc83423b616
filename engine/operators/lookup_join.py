"""Look up each row in the current version of a table when the row arrives.

Input: left any changelog mode; the table any: rows, or a changelog of them. Records of the table's sources precede
all others of the same epoch, so a bounded run looks up in the whole table. Output: the kinds of the left input, at
once. A retracted row is looked up again, in the version of the table at that time.
State: per key the rows of the table, in its order. NULL keys never match.
Source: Flink StreamPhysicalLookupJoin, LookupJoinRunner.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from engine.contract.batch_input import BatchInput
from engine.contract.derived import Derived
from engine.contract.kernel import Kernel, Key, Output
from engine.contract.operator import Analyzer, InputPlan, StepContext, Strategy
from engine.contract.requirements import Offer
from engine.contract.state_in_words import Description, Names, state_table
from engine.contract.step import Keyed
from engine.errors import PlanRejected
from engine.joins.batch_versions import as_it_stood
from engine.joins.equal_keys import KeyedJoin, Matches
from engine.joins.sides import JoinKind, joined, left_keys_of
from engine.model.changelog import INSERT, UPDATE_AFTER, ChangelogMode, UpdateKind
from engine.model.processing_time import with_processing_time
from engine.model.row import Row
from engine.model.schema import Schema
from engine.model.types import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TABLE = 1
"""The port of the table."""


class LookupJoinKernel(Kernel):
    """The table's rows of one key."""

    def __init__(self, kind: JoinKind, right_width: int, matches: Callable[[], Matches] | None = None) -> None:
        self.pads = kind is JoinKind.LEFT
        self.nulls: Row = (None,) * right_width
        self.matches = matches() if matches is not None else None
        self.can_match = True
        self.table: list[Row] = []

    def start(self, key: Key, state: Any | None) -> None:
        """Restore the rows of the table."""
        self.can_match = None not in key
        self.table = state or []

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Keep a row of the table; look up a left row."""
        if out.port == TABLE:
            self._keep(kind, row)
            return
        has_match = False
        for other in self.table:
            if self.matches is None or self.matches(row + other) is True:
                has_match = True
                out.emit(kind, row + other)
        if not has_match and self.pads:
            out.emit(kind, row + self.nulls)

    def finish(self) -> Any | None:
        """The rows; None if there are none."""
        return self.table or None

    def describe(self, names: Names) -> Description:
        """The rows of the table, as a lookup finds them."""
        if not self.table:
            return ()
        rows = [names.show(row, 1) for row in self.table]
        return (state_table("Table", names.columns(1), rows, "What a row with this key finds now."),)

    def _keep(self, kind: int, row: Row) -> None:
        if not self.can_match:
            return
        if kind in (INSERT, UPDATE_AFTER):
            self.table.append(row)
        elif row in self.table:
            self.table.remove(row)


class LookupJoin(KeyedJoin):
    """The parameters of a lookup join."""

    operator: ClassVar[str] = "lookup_join"
    title: ClassVar[str] = "Lookup join"
    summary: ClassVar[str] = "Joins each row with the rows that a table has when the row arrives."
    also_called: ClassVar[tuple[str, ...]] = ("enrich", "dimension", "reference data", "for system_time", "proctime")
    kinds: ClassVar[tuple[JoinKind, ...]] = (JoinKind.INNER, JoinKind.LEFT)
    tables: ClassVar[tuple[str, ...]] = ("right",)

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The joined row; the left side keeps its event times, watermark and kinds of change."""
        self.check_pair(node, inputs, analyzer)
        left, right = inputs
        if shared := sorted(left.holdbacks.keys() & right.holdbacks.keys()):
            message = (
                f"{shared[0]} is both the stream and the table in which it is looked up. Read it by a second source, "
                "and look up in that."
            )
            raise PlanRejected(message, node, "right")
        columns = (*left.schema, *joined(left.schema, right.schema, self.kind)[len(left.schema) :])
        return Derived(
            Schema(columns),
            left.modify,
            upsert_keys=left_keys_of(left, right, self.right_keys),
            above=left.above,
            lone_updates=left.lone_updates,
            monotonic=left.moves_of(Schema(columns).names),
        )

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """The wanted kind from the left input; -U from the table, so that removed rows are known."""
        own = "the kinds of the left input are passed on"
        return (Offer((wanted, UpdateKind.BEFORE_AND_AFTER), (own, "a row that left the table is not found any more")),)

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """There is only one strategy."""
        return Strategy(
            f"{self.kind.value} lookup join",
            f"a row is joined with the rows that {inputs[TABLE].node} has when it arrives; later changes of the table "
            "do not update emitted rows",
            "per key: the rows of the table",
        )

    def step(self, context: StepContext) -> Keyed:
        """Both sides by key."""
        left, right = (input_.schema for input_ in context.inputs)
        kernel = partial(LookupJoinKernel, self.kind, len(right), self.matches(context.node, left, right))
        return Keyed(self.sides(context.node, left, right, timed=False), kernel)

    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """Each left row with the rows that were in the table when it arrived."""
        rows, table = inputs
        left, right = (input_.schema for input_ in context.inputs)
        return as_it_stood((rows, table), (left, right), self.key_expressions(context), self.kind, self.condition)

    def late_rule(self) -> None:
        """No record is ever too late."""

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """JOIN ... FOR SYSTEM_TIME AS OF the processing time."""
        (left_table, left), (right_table, _) = inputs
        table, rows = quote(left_table), quote(f"rows of {right_table}")
        other, tests = self.sql_parts(inputs)
        source, time = with_processing_time(left_table, left)
        columns = ", ".join(quote(column.name) for column in joined(left, inputs[TABLE][1], JoinKind.INNER))
        return (
            f"WITH {rows} AS {other}\nSELECT {columns}\nFROM {source} AS {table}\n"
            f"{self.kind.sql} {rows} FOR SYSTEM_TIME AS OF {table}.{time}\n"
            f"ON {' AND '.join(tests)}"
        )


OPERATOR = LookupJoin
