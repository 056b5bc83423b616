"""Join rows with the version of a table that was valid at their event time.

Input: left any changelog mode with an event time; right a versioned table, whose rows are versions by primary key
and event time: upserts, a changelog, or a deduplication that keeps the last row. Output: the kinds of the left
input, when the watermark has reached a row's time: no version of that time can arrive later.
State: per key the buffered left rows, the latest version that is due, and the versions that are not yet due.
Time: epoch ms. A version is valid from its time until the next one's; of two with the same time the later arrival
counts; a retracted one (-U, -D) ends its predecessor. A late left row is joined with the remaining versions when
the watermark next advances; a late version applies to the rows that are still buffered.
Source: Flink TemporalRowTimeJoinOperator, which unlike the other joins treats NULL keys as equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from engine.contract.batch_input import BatchInput
from engine.contract.columnar_kernel import Columnar
from engine.contract.derived import Derived
from engine.contract.operator import Alternative, Analyzer, InputPlan, StepContext, Strategy
from engine.contract.requirements import Offer
from engine.contract.step import Keyed
from engine.errors import PlanRejected
from engine.joins.batch_versions import at_their_time
from engine.joins.equal_keys import KeyedJoin, event_time, require_event_times
from engine.joins.sides import JoinKind, join_intervals, join_keys, join_moves, joined
from engine.joins.temporal_kernel import TemporalJoinKernel
from engine.model.changelog import ChangelogMode, UpdateKind
from engine.model.schema import Schema
from engine.model.types import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class TemporalJoin(KeyedJoin):
    """The parameters of a temporal join."""

    operator: ClassVar[str] = "temporal_join"
    title: ClassVar[str] = "Temporal join"
    summary: ClassVar[str] = (
        "Adds to each row of a stream the row of a versioned table that was valid at its event time."
    )
    also_called: ClassVar[tuple[str, ...]] = ("enrich", "versioned", "as of", "asof", "for system_time")
    kinds: ClassVar[tuple[JoinKind, ...]] = (JoinKind.INNER, JoinKind.LEFT)

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The joined row; the left side keeps its event times, keys and kinds of change."""
        require_event_times(node, inputs)
        self.check_pair(node, inputs, analyzer)
        left, right = inputs
        self._require_versions(node, right)
        columns = (*left.schema, *joined(left.schema, right.schema, self.kind)[len(left.schema) :])
        return Derived(
            Schema(columns),
            left.modify,
            upsert_keys=join_keys(left, right, self.left_keys, self.right_keys, self.kind),
            lone_updates=left.lone_updates,
            monotonic=join_moves(left, right, self.left_keys, self.right_keys, self.kind, is_equi=False),
            intervals=join_intervals(left, right, self.kind, self.condition),
        )

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """The wanted kind from the left input; the versions preferably without -U."""
        own = "the kinds of the left input are passed on"
        return (
            Offer((wanted, UpdateKind.ONLY_UPDATE_AFTER), (own, "a version ends where the next one of its key begins")),
            Offer(
                (wanted, UpdateKind.BEFORE_AND_AFTER),
                (own, "its input cannot leave out -U, which ends a version until the +U of that time"),
            ),
        )

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """There is only one strategy."""
        time = event_time(inputs[0].schema).name
        return Strategy(
            f"{self.kind.value} temporal join",
            f"a row waits until the watermark has reached its {time}: then the version of that time is known",
            "per key: the waiting left rows, and the versions from the latest that the watermark has reached",
        )

    def step(self, context: StepContext) -> Keyed:
        """Both sides by key; each row with its event time in ms."""
        left, right = (input_.schema for input_ in context.inputs)
        kernel = partial(TemporalJoinKernel, self.kind, self.matches(context.node, left, right))
        columnar = Columnar(kernel, "columnar: the rows and versions of many keys at once")
        sides = self.sides(context.node, left, right, timed=True)
        return Keyed(sides, None, uses_time=True, columnar=columnar, holds=("waiting rows", "versions"))

    @property
    def judges_late(self) -> bool:
        """A late version still applies to the buffered rows."""
        return True

    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """Each left row with the version of its time."""
        rows, versions = inputs
        left, right = (input_.schema for input_ in context.inputs)
        times = (event_time(left).milliseconds, event_time(right).milliseconds)
        keys = self.key_expressions(context)
        return at_their_time((rows, versions), (left, right), keys, times, self.kind, self.condition)

    def late_rule(self) -> None:
        """No record is ever too late."""

    def preparations(self, port: str) -> Sequence[Alternative]:
        """The last row per key makes a versioned table of rows without a primary key."""
        if port != "right" or not self.right_keys:
            return ()
        keys = list(self.right_keys)
        return (Alternative(f"Keep the last row per {', '.join(keys)} before it", "deduplicate", {"keys": keys}),)

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """JOIN ... FOR SYSTEM_TIME AS OF the left event time."""
        (left_table, left), (right_table, _) = inputs
        table, versions = quote(left_table), quote(f"versions of {right_table}")
        other, tests = self.sql_parts(inputs)
        return (
            f"WITH {versions} AS {other}\nSELECT *\nFROM {table}\n"
            f"{self.kind.sql} {versions} FOR SYSTEM_TIME AS OF {table}.{quote(event_time(left).name)}\n"
            f"ON {' AND '.join(tests)}"
        )

    def _require_versions(self, node: str, right: Derived) -> None:
        """Raise PlanRejected if the right input has no primary key, or if the join does not compare all of it."""
        emitter = right.node or "its right input"
        keys = sorted(map(sorted, right.upsert_keys), key=lambda key: (len(key), key))
        if not keys:
            message = (
                f"a temporal join needs a versioned table on the right, but {emitter} has no primary key. "
                "Declare one in the source, or keep the last row per key and event time before it (Deduplicate)."
            )
            raise PlanRejected(message, node, "right")
        if not set(keys[0]) <= set(self.right_keys):
            message = (
                f"the primary key of {emitter} is ({', '.join(keys[0])}), but the join compares "
                f"({', '.join(self.right_keys)}). Compare all of its columns; they identify the versions."
            )
            raise PlanRejected(message, node, "right_keys")


OPERATOR = TemporalJoin
