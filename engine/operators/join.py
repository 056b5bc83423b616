"""Join two inputs on equal keys, over all of their rows, however old.

Input: any changelog mode. Output: the kinds of the inputs for inner and semi joins. For the others any kind: a
row without a partner is padded with NULL until its first partner arrives and after its last one is removed.
State: all rows of both sides per key, each with its number of copies and of partners; by unique key if there
is one. NULL keys never match. A +U without its -U replaces the row of its unique key. Each row expires by itself, after
the TTL of its side; where its partners are counted, a change of their number writes it, too.
Mini-batch: changes of a bundle are folded per side; semi and anti joins process each record at once, as in Flink.
Source: Flink StreamingJoinOperator, StreamingSemiAntiJoinOperator, JoinInputSideSpec. Flink 2.3 counts such
a replacement as an additional partner (FLINK-40681); here it is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from engine.contract.batch_input import BatchInput
from engine.contract.bundling import bundling
from engine.contract.derived import Derived
from engine.contract.expiry import Expiry
from engine.contract.operator import Analyzer, InputPlan, StepContext, Strategy
from engine.contract.own_ttl import ttl_hint
from engine.contract.parameters import DurationOrNone, parameter
from engine.contract.requirements import Offer
from engine.contract.step import Keyed
from engine.joins.batch import paired
from engine.joins.columnar import columnar_join, layout_of
from engine.joins.equal_keys import KeyedJoin, LeftKeys, RightKeys
from engine.joins.sides import SIDES, JoinKind, join_intervals, join_keys, join_moves, join_side, joined
from engine.model.changelog import ALL_CHANGES, ChangelogMode, UpdateKind
from engine.model.options import expires, state_ttl_ms
from engine.model.schema import Schema
from engine.model.types import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Join(KeyedJoin):
    """The parameters of a join."""

    operator: ClassVar[str] = "join"
    title: ClassVar[str] = "Join"
    summary: ClassVar[str] = "Pairs rows of two inputs that have equal keys, and keeps the pairs up to date."
    also_called: ClassVar[tuple[str, ...]] = (
        "inner",
        "left",
        "right",
        "full",
        "outer",
        "semi",
        "anti",
        "cross",
        "in",
        "exists",
        "enrich",
        "merge",
    )

    time_ends: ClassVar[str] = (
        "the pairs of a regular join come in no order of time. Use an interval join or a temporal join, or put this "
        "step before it."
    )

    # Without keys it is a cross join.
    left_keys: LeftKeys = ()
    right_keys: RightKeys = ()
    left_state_ttl_ms: DurationOrNone = parameter(
        "State TTL of the left side",
        "How long a row of the left input is kept after its last write. Empty: as the pipeline says; 0: for ever.",
        last=True,
    )
    right_state_ttl_ms: DurationOrNone = parameter(
        "State TTL of the right side",
        "The same for the right input, which is often needed for longer. In Flink both are the hint STATE_TTL.",
        last=True,
    )

    @property
    def caution(self) -> str:
        """A cross join."""
        if self.left_keys or self.condition is not None:
            return ""
        return "without keys, each row of the left input is paired with every row of the right: this is a cross join."

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The joined row. Inner and semi joins forward the kinds of change; the others may emit any kind."""
        left, right = inputs
        self.check_pair(node, inputs, analyzer)
        forwards = self.kind in (JoinKind.INNER, JoinKind.SEMI)
        modify = left.modify | right.modify if forwards else ALL_CHANGES
        alone = any(input_.lone_updates for input_ in inputs) or not self._takes_lone_updates_after(inputs)
        return Derived(
            Schema(joined(left.schema, right.schema, self.kind)),
            modify,
            upsert_keys=join_keys(left, right, self.left_keys, self.right_keys, self.kind),
            lone_updates=alone,
            null_keys=self.kind.keeps_left and self.kind.keeps_right,
            monotonic=join_moves(
                left, right, self.left_keys, self.right_keys, self.kind, is_equi=self.condition is None
            ),
            intervals=join_intervals(left, right, self.kind, self.condition),
        )

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """+U alone only if it replaces a row by a key that contains the join key: then its partners stay the same."""
        if wanted is UpdateKind.ONLY_UPDATE_AFTER:
            if not self._takes_lone_updates_after(inputs):
                return ()
            reason = "+U replaces the row of its unique key, which contains the join key"
            return (Offer((UpdateKind.ONLY_UPDATE_AFTER,) * 2, (reason,) * 2),)
        reason = "pairs of the old row must be retracted"
        return (Offer((UpdateKind.BEFORE_AND_AFTER,) * 2, (reason,) * 2),)

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """The keys of each side determine how its rows are kept."""
        left, right = (
            join_side(input_.derived, keys)
            for input_, keys in zip(inputs, (self.left_keys, self.right_keys), strict=True)
        )
        return Strategy(
            f"{self.kind.value} join[{left.spec}, {right.spec}]",
            f"the left input {left.reason}, the right input {right.reason}",
            f"per join key, of the left input {left.state}, of the right input {right.state}",
        )

    def step(self, context: StepContext) -> Keyed:
        """All columns of both sides by key."""
        left, right = (given.schema for given in context.inputs)
        left_side = join_side(context.inputs[0].derived, self.left_keys)
        right_side = join_side(context.inputs[1].derived, self.right_keys)
        matches = self.matches(context.node, left, right)
        ttls_ms = self.state_ttls_ms(context.options)
        given = self.sides(context.node, left, right, timed=False)
        bundles = None if self.kind.is_left_only else bundling(context.options)
        sides = (left_side, right_side)
        columnar = columnar_join(self.kind, sides, ttls_ms, matches, bundles)
        key_types = [left.column(key).type for key in self.left_keys]
        layout = layout_of(key_types, sides, ttls_ms, is_simple=matches is None and bundles is None)
        return Keyed(given, None, bundling=bundles, columnar=columnar, holds=SIDES, layout=layout)

    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """JOIN ... ON."""
        left, right = (input_.schema for input_ in context.inputs)
        keys = self.key_expressions(context)
        return paired(inputs, (left, right), keys, self.kind, self.condition)

    def state_ttls_ms(self, options: Mapping[str, str]) -> tuple[int, int]:
        """Of each side, its own or that of the pipeline."""
        pipeline_ms = state_ttl_ms(options)
        if not expires(options):
            return 0, 0
        left_ms, right_ms = self.left_state_ttl_ms, self.right_state_ttl_ms
        return pipeline_ms if left_ms is None else left_ms, pipeline_ms if right_ms is None else right_ms

    def expiry(self, inputs: Sequence[InputPlan]) -> Expiry:
        """Its rows expire, each by itself."""
        return Expiry.BY_TTL

    def late_rule(self) -> None:
        """No record is ever too late."""

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """JOIN ... ON, or [NOT] EXISTS for semi and anti joins."""
        table = quote(inputs[0][0])
        other, tests = self.sql_parts(inputs)
        on = " AND ".join(tests) or "TRUE"
        if self.kind.is_left_only:
            negation = "NOT " if self.kind is JoinKind.ANTI else ""
            return f"SELECT *\nFROM {table}\nWHERE {negation}EXISTS (SELECT 1 FROM {other} WHERE {on})"
        (left, _), (right, _) = inputs
        hint = ttl_hint({left: self.left_state_ttl_ms, right: self.right_state_ttl_ms})
        named = f"{other} AS {quote(right)}" if self.right_state_ttl_ms is not None else other
        return f"SELECT {hint}*\nFROM {table}\n{self.kind.sql} {named}\nON {on}"

    def _takes_lone_updates_after(self, inputs: Sequence[Derived]) -> bool:
        """Whether each updating input has a key that contains its join key, and the join has no further condition."""
        updated = [
            (input_, frozenset(keys))
            for input_, keys in zip(inputs, (self.left_keys, self.right_keys), strict=True)
            if input_.has_updates
        ]
        return all(
            self.condition is None and any(key >= join_key for key in input_.upsert_keys)
            for input_, join_key in updated
        )


OPERATOR = Join
