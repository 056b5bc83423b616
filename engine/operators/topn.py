"""Top N as an operator: parameters, schema, keys, the choice of the strategy, Flink SQL.

Input: any. Output: [I,UB,UA,D], or [I,UA,D] if no consumer needs UPDATE_BEFORE.
Source: Flink StreamPhysicalRank, RankProcessStrategy.analyzeRankProcessStrategies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, Self

from pydantic import model_validator

from engine.contract.batch_input import BatchInput
from engine.contract.derived import NO_KEYS, Derived, Keys, Monotonicity, constant
from engine.contract.expiry import Expiry
from engine.contract.frames import RANK
from engine.contract.meaning import Emission, Meaning
from engine.contract.operator import Analyzer, InputPlan, StepContext, Strategy
from engine.contract.own_ttl import OwnTtl
from engine.contract.parameters import ColumnOrNone, parameter
from engine.contract.partition_by import PartitionBy
from engine.contract.requirements import Offer
from engine.contract.step import Keyed, KeyedInput
from engine.errors import PipelineError
from engine.model.changelog import ALL_CHANGES, ChangelogMode, ModifyKind, RowKind, UpdateKind
from engine.model.origin import Origin
from engine.model.processing_time import with_processing_time
from engine.model.schema import Schema
from engine.model.types import BIGINT, INT, SMALLINT, quote
from engine.ranking.batch import Ranked, best, ever_there, standing_since
from engine.ranking.flink_sql import limit_sql, numbered_sql
from engine.ranking.kernels import ages_by_entry, tied_columns, topn_columns
from engine.ranking.key_order import bit_set_bucket
from engine.ranking.meaning import of_ranking
from engine.ranking.parameters import (
    OrderColumns,
    RankColumn,
    RankStart,
    check_order,
    check_range,
    ranked_columns,
    ranked_intervals,
    sort_columns,
)
from engine.ranking.ranks import Ranks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Ranking(Enum):
    """The numbering of rows."""

    ROW_NUMBER = "row_number"
    RANK = "rank"
    DENSE_RANK = "dense_rank"


class TopN(OwnTtl):
    """The parameters of Top N."""

    operator: ClassVar[str] = "topn"
    title: ClassVar[str] = "Top N"
    summary: ClassVar[str] = "Keeps the best rows of each partition, with or without their rank."
    also_called: ClassVar[tuple[str, ...]] = ("rank", "row_number", "limit", "order by", "best", "top-n", "qualify")
    group: ClassVar[str] = "ranking"
    passes_rows: ClassVar[bool] = True

    partition_by: PartitionBy = parameter(
        description="One ranking for each value of these columns. Empty: one ranking of all rows."
    )
    order_by: OrderColumns = parameter(
        description="The order of the ranking: the first row has rank 1. Empty: the order of arrival, as with LIMIT.",
        default=(),
        usual=True,
    )
    by_arrival: bool = parameter(
        "Order by arrival",
        "Instead of columns: keep the first rows of each partition that arrive, as ORDER BY PROCTIME() does.",
        default=False,
    )
    rank_start: RankStart = 1
    rank_end: int | None = parameter("To rank", "The last rank in the output: the N of Top N.", default=None, ge=1)
    rank_end_column: ColumnOrNone = parameter(
        "To rank, from a column",
        "Instead of a number: an integer column. Its value in the first row of a partition is the N of that partition.",
    )
    ranking: Ranking = parameter(
        "Ranked by",
        "Row number: of rows equal in the order, the first to arrive ranks first, as in Flink. Rank and "
        "dense rank give them the same rank, with or without a gap after them; Flink rejects these in streaming.",
        default=Ranking.ROW_NUMBER,
    )
    with_rank: bool = parameter(
        "Output the rank",
        "Add the rank as a column. Every change of a rank is then an update, so leave it out if you can.",
        default=False,
    )
    rank_column: RankColumn = "rank"
    limit: bool = parameter(
        "As LIMIT",
        "In SQL: ORDER BY ... LIMIT. Flink's plan knows less of its rows than of those of ROW_NUMBER.",
        default=False,
        last=True,
    )

    @model_validator(mode="after")
    def _is_a_limit(self) -> Self:
        if self.limit and (
            self.partition_by or self.with_rank or self.by_arrival or self._has_ties or not self.rank_end
        ):
            message = (
                "limit: LIMIT takes the first rows of all, by row number, without a rank. Set rank_end, and leave out "
                "partition_by, by_arrival, with_rank and ranking; or leave out limit"
            )
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _has_an_order(self) -> Self:
        if self.by_arrival and (self.order_by or self._has_ties):
            message = "by_arrival: no two rows arrive at once; leave out order_by, and rank by row_number"
            raise ValueError(message)
        wants_order = self.partition_by or self.with_rank or self.rank_end is None or self._has_ties
        if not self.order_by and not self.by_arrival and wants_order:
            message = "order_by is missing; only the first rows of all need none. Name columns, or set by_arrival"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _has_one_range(self) -> Self:
        if (self.rank_end is None) == (self.rank_end_column is None):
            message = "set either rank_end, a number, or rank_end_column, a column with that number"
            raise ValueError(message)
        if self.rank_end is not None:
            check_range(self.rank_start, self.rank_end)
        if self.rank_end_column is not None and self.rank_start != 1:
            message = "with rank_end_column the range starts at rank 1; leave rank_start at 1"
            raise ValueError(message)
        return self

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The input's columns and the rank. Ranks change, so no column stays an event time."""
        (input_,) = inputs
        self._check_columns(node, input_.schema)
        columns = input_.schema.without_times().columns
        if self.with_rank:
            columns = ranked_columns(columns, self.rank_column, node)
        if self._has_ties:
            # A row keeps its own key; its rank is no key, since other rows may share it.
            return Derived(Schema(columns), ALL_CHANGES, upsert_keys=self._in_partition(input_.upsert_keys))
        rank = self.rank_column if self.with_rank else None
        intervals = ranked_intervals(input_.intervals, rank, self.rank_start, self.rank_end)
        if self._has_no_order and input_.is_insert_only:
            return Derived(Schema(columns), upsert_keys=self._upsert_keys(input_), intervals=intervals)
        return Derived(
            Schema(columns),
            ALL_CHANGES,
            upsert_keys=self._upsert_keys(input_),
            monotonic=self._monotonic(input_),
            intervals=intervals,
            shared_keys=frozenset(self._row_keys(input_)) if self.with_rank else NO_KEYS,
        )

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """AppendFast requires no updates, UpdateFast only +U, Retract -U and +U."""
        (input_,) = inputs
        if input_.is_insert_only:
            return (Offer((UpdateKind.NONE,), ("AppendFast: its input has no updates",)),)
        retract = Offer((UpdateKind.BEFORE_AND_AFTER,), (f"Retract: {self._why_retract(input_)}",))
        if self._has_ties or self._row_key(input_) is None:
            return (retract,)
        fast = Offer((UpdateKind.ONLY_UPDATE_AFTER,), ("UpdateFast: +U replaces the row of its key",))
        return (fast, retract)

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """AppendFast, UpdateFast or Retract."""
        (input_,) = inputs
        if self._has_ties:
            return self._strategy_with_ties(input_)
        top_n = f"the best {self.rank_end}" if self.rank_end is not None else f"the best {self.rank_end_column}"
        if self._has_no_order:
            reason = "without an order the first rows stay"
            if input_.mode.is_insert_only:
                return Strategy("Limit", f"{reason}, and its input has no retractions", f"{top_n} rows")
            return Strategy("Limit", f"{reason}, and the next row moves up when one is retracted", "all rows, in order")
        if input_.mode.is_insert_only:
            reason = "its input is insert-only, so a row that drops out of the ranks never returns"
            return Strategy("AppendFast", reason, f"{top_n} rows of each partition")
        row_key = self._fast_row_key(input_)
        if row_key is None:
            return Strategy("Retract", self._why_retract(input_.derived), "all rows of each partition, in order")
        order = ", ".join(f"{item.column} {'descending' if item.descending else 'ascending'}" for item in self.order_by)
        reason = (
            f"rows are replaced by the key {', '.join(row_key)} and only ever by better ones in the order "
            f"{order}, so a row that drops out of the ranks returns only by its own update{self._why_deleted(input_)}"
        )
        return Strategy(f"UpdateFast[{', '.join(row_key)}]", reason, f"{top_n} rows of each partition, by that key")

    def step(self, context: StepContext) -> Keyed:
        """All columns by partition, to the kernel of the strategy."""
        (input_,) = context.inputs
        schema = input_.schema
        end_place = None if self.rank_end_column is None else schema.index(self.rank_end_column)
        ranks = Ranks(self.rank_start, self.rank_end, end_place, self.with_rank, context.generate_update_before)
        order = sort_columns(self.order_by, schema)
        given = (KeyedInput(tuple(map(quote, self.partition_by)), tuple(map(quote, schema.names))),)
        insert_only = input_.mode.is_insert_only
        (ttl_ms,) = self.state_ttls_ms(context.options)
        row_key = self._fast_row_key(input_)
        by_key = None if row_key is None else tuple(map(schema.index, row_key))
        if self._has_ties:
            dense = self.ranking is Ranking.DENSE_RANK
            columnar = tied_columns(ranks, order, dense=dense, insert_only=insert_only, ttl_ms=ttl_ms)
            return Keyed(given, None, columnar=columnar, layout=6)
        columnar = topn_columns(ranks, order, insert_only, by_key, ttl_ms)
        layout = 5 if insert_only else 3 if by_key is None else 6
        if ages_by_entry(ranks, insert_only, by_key, ttl_ms):
            layout = 9
        return Keyed(given, None, columnar=columnar, layout=layout)

    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """ROW_NUMBER(), RANK() or DENSE_RANK() in a sub-query, the range above it."""
        (input_,) = inputs
        (planned,) = context.inputs
        order = [(item.column, item.descending, item.nulls) for item in self.order_by]
        row_key = None if planned.mode.is_insert_only or self._has_ties else self._fast_row_key(planned)
        rows = input_.table
        if row_key is not None:
            is_top_1 = Ranks(self.rank_start, self.rank_end).is_top_1
            rows = ever_there(input_) if is_top_1 else standing_since(input_, row_key, order)
        end = self.rank_end if self.rank_end is not None else str(self.rank_end_column)
        ranked = best(rows, Ranked(self.partition_by, order, self.rank_start, end, self.ranking.value))
        return ranked.withColumnRenamed(RANK, self.rank_column) if self.with_rank else ranked

    def origins(self, inputs: Sequence[Sequence[str]], output: Sequence[str]) -> Sequence[Origin]:
        """The rows of its partition, which it competes with."""
        return (Origin(tuple((name, name) for name in self.partition_by)),)

    def expiry(self, inputs: Sequence[InputPlan]) -> Expiry:
        """Its rows expire: those of a sort key together, each by itself, or the best one."""
        return Expiry.BY_TTL

    def late_rule(self) -> None:
        """No record is ever too late."""

    def meaning(self, emission: Emission) -> Meaning:
        """Rows that enter the ranking, change their rank or leave it."""
        return of_ranking(emission, self.rank_end, self.rank_column if self.with_rank else None)

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """The number in a sub-query, the range in WHERE; with a comment if Flink rejects the ranking."""
        ((table, schema),) = inputs
        if self._is_limit:
            return limit_sql(table, schema, self.order_by, self.rank_start, self.rank_end or 0)
        source, order = quote(table), ", ".join(item.sql for item in self.order_by)
        if self.by_arrival:
            source, time = with_processing_time(table, schema)
            order = f"{time} ASC"
        rank, name = quote(self.rank_column), self.ranking.name
        columns = [*map(quote, schema.names), *([rank] if self.with_rank else [])]
        end = quote(self.rank_end_column) if self.rank_end_column is not None else str(self.rank_end)
        start = f"{rank} >= {self.rank_start} AND " if self.rank_start > 1 else ""
        refused = f"-- Flink refuses {name} in streaming; it is an addition of Changelog Studio.\n"
        return (refused if self._has_ties else "") + numbered_sql(
            source, columns, self.partition_by, order, (name, rank), f"{start}{rank} <= {end}"
        )

    @property
    def _has_no_order(self) -> bool:
        """Whether it is LIMIT without ORDER BY: the first rows stay."""
        return not self.order_by and not self.by_arrival

    @property
    def _is_limit(self) -> bool:
        """Whether Flink's plan has a limit, with or without an order, and no rank."""
        return self.limit or self._has_no_order

    @property
    def _has_ties(self) -> bool:
        return self.ranking is not Ranking.ROW_NUMBER

    def _strategy_with_ties(self, input_: InputPlan) -> Strategy:
        own = (
            f"{self.ranking.name} is an addition of Changelog Studio, which Flink rejects in streaming; equal rows "
            "share a rank"
        )
        if input_.mode.is_insert_only:
            reason = f"{own}. Its input is insert-only, so a row that drops out of the ranks never returns"
            return Strategy(f"AppendOnly{self.ranking.name}", reason, "the rows of each partition up to the last rank")
        reason = f"{own}. Its input has retractions, after which rows past the last rank move up"
        return Strategy(f"Retract{self.ranking.name}", reason, "all rows of each partition, in order")

    def _check_columns(self, node: str, schema: Schema) -> None:
        for name in self.partition_by:
            schema.column(name, node, "partition_by")
        check_order(self.order_by, schema, node, "order_by")
        if self.rank_end_column is not None:
            column = schema.column(self.rank_end_column, node, "rank_end_column")
            if column.type not in (SMALLINT, INT, BIGINT):
                of = f"{column.name} is of type {column.type.flink}"
                message = f"rank_end_column: {of}, but a rank is a SMALLINT, INT or BIGINT."
                raise PipelineError(message, node, "rank_end_column")

    def _in_partition(self, keys: Keys) -> Keys:
        """The input's keys that contain the partition columns: they stay valid if rows are distributed by partition."""
        return frozenset(key for key in keys if key >= frozenset(self.partition_by))

    def _row_keys(self, input_: Derived) -> list[frozenset[str]]:
        """The keys by which Flink identifies a row of the input, in its order of preference."""
        at = input_.schema.index
        keys = self._in_partition(input_.upsert_keys | input_.shared_keys)
        return sorted(keys, key=lambda key: (bit_set_bucket(map(at, key)), len(key), sorted(key)))

    def _upsert_keys(self, input_: Derived) -> Keys:
        """The upsert keys, which identify a row even without -U.

        With the rank in the output, the row of a rank changes by -U/+U, so only partition and rank are a key. Flink
        also declares the input's keys, by which a row that leaves the ranking would never be deleted. Without the
        rank such a row is deleted.
        """
        partition = frozenset(self.partition_by)
        if self.rank_start == self.rank_end:
            return frozenset({partition})
        if self.with_rank:
            return frozenset({partition | {self.rank_column}})
        return NO_KEYS if self.rank_start > 1 else self._in_partition(input_.upsert_keys)

    def _monotonic(self, input_: Derived) -> Mapping[str, Monotonicity]:
        """The monotonicity of the columns: Flink assumes that the row of a rank is only replaced by a better one.

        For LIMIT nothing is known, for Top 1 only the partition. Source: Flink FlinkRelMdModifiedMonotonicity.
        """
        moves = input_.monotonic
        steady = all(moves.get(name) is Monotonicity.CONSTANT for name in self.partition_by)
        if not moves or self._is_limit or not steady:
            return {}
        ranks = (self.rank_column,) if self.with_rank else ()
        directions = dict(constant((*self.partition_by, *ranks), among=input_.schema.names))
        if (self.rank_start, self.rank_end) == (1, 1):
            return directions if input_.never_moves else {}
        for first in self.order_by[:1]:
            is_time = input_.schema.column(first.column).time is not None
            move = Monotonicity.INCREASING if is_time else moves.get(first.column)
            better = Monotonicity.INCREASING if first.descending else Monotonicity.DECREASING
            directions[first.column] = better if move in (Monotonicity.CONSTANT, better) else Monotonicity.NOT_MONOTONIC
        return directions

    def _falling(self, input_: Derived) -> str | None:
        """The first column of the order by which a row may get worse, or None. Named again, a column orders nothing."""
        for item in reversed({item.column: item for item in reversed(self.order_by)}.values()):
            better = Monotonicity.INCREASING if item.descending else Monotonicity.DECREASING
            if input_.monotonic.get(item.column) not in (better, Monotonicity.CONSTANT):
                return item.column
        return None

    def _row_key(self, input_: Derived) -> tuple[str, ...] | None:
        """The columns by which UpdateFast identifies a row, in the input's order; None if it is not possible."""
        keys = self._row_keys(input_)
        if input_.is_insert_only or not keys or not self.order_by or self._falling(input_) is not None:
            return None
        return tuple(name for name in input_.schema.names if name in keys[0])

    def _fast_row_key(self, input_: InputPlan) -> tuple[str, ...] | None:
        """The row key in the final plan; None (Retract) if the input writes -U for another consumer."""
        return None if input_.mode.has_update_before else self._row_key(input_.derived)

    def _why_deleted(self, input_: InputPlan) -> str:
        """A note for the strategy if deleted rows stay, which happens if the order is by key columns only."""
        moves = input_.derived.monotonic
        is_by_key = all(moves.get(item.column) is Monotonicity.CONSTANT for item in self.order_by)
        return "; a row that is deleted stays, as in Flink" if is_by_key and RowKind.DELETE in input_.mode else ""

    def _why_retract(self, input_: Derived) -> str:
        if self._has_ties:
            return "rows that are equally good share a rank, so an update needs the old row, to remove it from its rank"
        if not self.order_by:
            return "the first rows to arrive are kept, and when one is retracted the next one moves up"
        if not self._row_keys(input_):
            partition = f" that contains {', '.join(self.partition_by)}" if self.partition_by else ""
            return f"its input is updated and has no upsert key{partition}, so a row must be retracted as a whole"
        falling = self._falling(input_)
        if falling is not None:
            lacks = "may be deleted" if ModifyKind.DELETE in input_.modify else f"may get a worse {falling}"
            return f"a row of its input {lacks}, and then the row past the last rank moves up"
        return "its input writes -U for another consumer too"


OPERATOR = TopN
