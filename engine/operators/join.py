"""Join two inputs on equal keys, over all of their rows, however old.

Input: any changelog mode. Output: the kinds of the inputs for inner and semi joins. For the others any kind: a
row without a partner is padded with NULL until its first partner arrives and after its last one is removed.
State: all rows of both sides per key, each with its number of copies and of partners; by unique key if there
is one. NULL keys never match. A +U without its -U replaces the row of its unique key.
Mini-batch: changes of a bundle are folded per side; semi and anti joins process each record at once, as in Flink.
Source: Flink StreamingJoinOperator, StreamingSemiAntiJoinOperator, JoinInputSideSpec. Flink 2.3 counts such
a replacement as an additional partner (FLINK-40681); here it is not.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

from engine.contract.batch_input import BatchInput
from engine.contract.bundling import bundling
from engine.contract.derived import Derived
from engine.contract.kernel import Kernel, Key, Output
from engine.contract.operator import Analyzer, InputPlan, StepContext, Strategy
from engine.contract.requirements import Offer
from engine.contract.state_in_words import Description, Names, state_table
from engine.contract.step import Keyed
from engine.joins.batch import paired
from engine.joins.columnar import columnar_join
from engine.joins.equal_keys import KeyedJoin, LeftKeys, Matches, RightKeys
from engine.joins.sides import PORTS, JoinKind, JoinSide, join_keys, join_moves, join_side, joined
from engine.mini_batch.join_kernel import BundledJoin, Change, ReplacingKernel
from engine.model.binary_row import row_encoder
from engine.model.changelog import ALL_CHANGES, DELETE, INSERT, UPDATE_AFTER, ChangelogMode, UpdateKind
from engine.model.row import Row, identity
from engine.model.schema import Schema
from engine.model.types import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class SideRow:
    """A row of one side: its number of copies and of partners. code: its sort code, once computed."""

    __slots__ = ("code", "count", "partners", "row")

    def __init__(self, row: Row, count: int, partners: int) -> None:
        self.row = row
        self.count = count
        self.partners = partners
        self.code = b""


_code = attrgetter("code")


class SideRows:
    """The rows of one side of a key, by their unique key or by their content.

    They are joined in the order of Flink's RocksDB: by the bytes of their unique key or content.
    """

    def __init__(self, side: JoinSide) -> None:
        self.unique_key = side.unique_key
        places = range(len(side.types)) if side.unique_key is None else side.unique_key
        self.encode = row_encoder([side.types[place] for place in places]) if side.types else None
        self.begin(())

    def begin(self, held: Iterable[tuple[Any, tuple[Row, int, int]]]) -> None:
        """Restore the rows of a key."""
        self.held = {place: SideRow(*row) for place, row in held}
        self.ordered: list[SideRow] | None = None

    def in_order(self) -> Iterable[SideRow]:
        """The rows in the order in which they are joined. The order is computed once there are two rows."""
        if self.encode is None or len(self.held) < 2:
            return self.held.values()
        if self.ordered is None:
            for held in self.held.values():
                held.code = self._encoded(held.row)
            self.ordered = sorted(self.held.values(), key=_code)
        return self.ordered

    def add(self, row: Row, partners: int) -> bool:
        """Add a row. True if it replaces the row of its unique key."""
        place = self._place(row)
        held = self.held.get(place)
        if held is None:
            held = self.held[place] = SideRow(row, 1, partners)
            if self.ordered is not None:
                held.code = self._encoded(row)
                insort(self.ordered, held, key=_code)
            return False
        held.row, held.partners = row, partners
        if self.unique_key is None:
            held.count += 1
        return self.unique_key is not None

    def retract(self, row: Row) -> bool:
        """Remove one copy of a row. False if there is none."""
        place = self._place(row)
        held = self.held.get(place)
        if held is None:
            return False
        held.count -= 1
        if not held.count:
            del self.held[place]
            if self.ordered is not None:
                self.ordered.pop(self.ordered.index(held, bisect_left(self.ordered, held.code, key=_code)))
        return True

    def _encoded(self, row: Row) -> bytes:
        assert self.encode is not None
        known_by = row if self.unique_key is None else tuple([row[place] for place in self.unique_key])
        code = self.encode(known_by)
        return len(code).to_bytes(4) + code

    def _place(self, row: Row) -> Any:
        if self.unique_key is None:
            return identity(row)
        return tuple([row[place] for place in self.unique_key])


class JoinKernel(Kernel):
    """The base of both kinds of join: the rows of both sides of one key, and their pairs."""

    def __init__(self, left: JoinSide, right: JoinSide, matches: Callable[[], Matches] | None) -> None:
        self.specs = (left, right)
        self.matches = matches() if matches is not None else None
        self.sides = (SideRows(left), SideRows(right))
        self.can_match = True

    def start(self, key: Key, state: Any | None) -> None:
        """Restore both sides."""
        self.can_match = None not in key
        for side, rows in zip(self.sides, state or ((), ()), strict=True):
            side.begin(rows)

    def finish(self) -> Any | None:
        """Both sides, as plain values."""
        if not any(side.held for side in self.sides):
            return None
        return tuple(
            [(place, (held.row, held.count, held.partners)) for place, held in side.held.items()] for side in self.sides
        )

    def describe(self, names: Names) -> Description:
        """Both sides: each row with its count and the number of its partners."""
        tables = []
        for port, (side, spec) in enumerate(zip(self.sides, self.specs, strict=True)):
            if not side.held:
                continue
            rows = ((*names.show(held.row, port), held.count, held.partners) for held in side.held.values())
            columns = (*names.columns(port), "count", "partners")
            note = f"Kept: {spec.state}."
            tables.append(state_table(f"{PORTS[port].capitalize()} rows", columns, rows, note))
        return tuple(tables)

    def partners(self, row: Row, port: int) -> Iterator[SideRow]:
        """The rows of the other side that match this row."""
        if not self.can_match:
            return
        matches = self.matches
        for held in self.sides[1 - port].in_order():
            if matches is None or matches(row + held.row if port == 0 else held.row + row) is True:
                yield held


class PairingJoin(JoinKernel, ReplacingKernel):
    """Inner, left, right and full join: pairs, and padding for a preserved side."""

    def __init__(
        self, kind: JoinKind, left: JoinSide, right: JoinSide, matches: Callable[[], Matches] | None = None
    ) -> None:
        super().__init__(left, right, matches)
        self.keeps = (kind.keeps_left, kind.keeps_right)
        self.passes_unknown = kind.passes_unknown(0), kind.passes_unknown(1)

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Emit or retract the row's pairs."""
        if kind in (INSERT, UPDATE_AFTER):
            self._accumulate(kind, row, out)
        else:
            self._retract(kind, row, out)

    def replace(self, old: Change, new: Change, out: Output) -> None:
        """Retract a row and add its successor. A partner of both is not padded in between."""
        after = set(map(id, self.partners(new[1], out.port)))
        both = {id(held) for held in self.partners(old[1], out.port)} & after
        self._retract(*old, out, spared=both)
        self._accumulate(*new, out, spared=both)

    def _accumulate(self, kind: int, row: Row, out: Output, spared: Set[int] = frozenset()) -> None:
        port = out.port
        keeps, other_kept = self.keeps[port], self.keeps[1 - port]
        met = list(self.partners(row, port))
        replaces = self.can_match and self.sides[port].add(row, sum(held.count for held in met))
        if keeps and not met:
            self._pad(INSERT, row, port, out)
        for held in met:
            was_alone = other_kept and held.partners == 0
            for _ in range(held.count):
                if was_alone and id(held) not in spared:
                    self._pad(DELETE, held.row, 1 - port, out)
                self._pair(INSERT if keeps or other_kept else kind, row, held.row, port, out)
            if was_alone or not replaces:
                held.partners += 1

    def _retract(self, kind: int, row: Row, out: Output, spared: Set[int] = frozenset()) -> None:
        port = out.port
        keeps, other_kept = self.keeps[port], self.keeps[1 - port]
        if self.can_match and not self.sides[port].retract(row) and not self.passes_unknown[port]:
            return
        met = list(self.partners(row, port))
        if keeps and not met:
            self._pad(DELETE, row, port, out)
        for held in met:
            held.partners -= 1
            for _ in range(held.count):
                self._pair(DELETE if keeps else kind, row, held.row, port, out)
                if other_kept and held.partners == 0 and id(held) not in spared:
                    self._pad(INSERT, held.row, 1 - port, out)

    def _pair(self, kind: int, row: Row, other: Row, port: int, out: Output) -> None:
        out.emit(kind, row + other if port == 0 else other + row)

    def _pad(self, kind: int, row: Row, port: int, out: Output) -> None:
        nulls = (None,) * self.specs[1 - port].width
        out.emit(kind, row + nulls if port == 0 else nulls + row)


class SemiAntiJoin(JoinKernel):
    """Semi and anti join: left rows with a partner, or without one."""

    def __init__(
        self, kind: JoinKind, left: JoinSide, right: JoinSide, matches: Callable[[], Matches] | None = None
    ) -> None:
        super().__init__(left, right, matches)
        self.is_anti = kind is JoinKind.ANTI

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """A left row is emitted depending on its partners; a right row may change this for left rows."""
        port = out.port
        accumulates = kind in (INSERT, UPDATE_AFTER)
        if not accumulates and self.can_match and not self.sides[port].retract(row) and port == 1:
            return
        met = list(self.partners(row, port))
        if port == 0:
            if (not met) is self.is_anti:
                out.emit(kind, row)
            if accumulates and self.can_match:
                self.sides[0].add(row, sum(held.count for held in met))
        elif accumulates:
            replaces = self.can_match and self.sides[1].add(row, 0)
            for held in met:
                if held.partners == 0:
                    self._emit(DELETE if self.is_anti else kind, held, out)
                if held.partners == 0 or not replaces:
                    held.partners += 1
        else:
            for held in met:
                held.partners -= 1
                if held.partners == 0:
                    self._emit(INSERT if self.is_anti else kind, held, out)

    def _emit(self, kind: int, held: SideRow, out: Output) -> None:
        for _ in range(held.count):
            out.emit(kind, held.row)


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

    # Without keys it is a cross join.
    left_keys: LeftKeys = ()
    right_keys: RightKeys = ()

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
        given = self.sides(context.node, left, right, timed=False)
        bundles = None if self.kind.is_left_only else bundling(context.options)
        columnar = columnar_join(
            self.kind,
            left_side,
            right_side,
            [left.column(key).type for key in self.left_keys],
            has_condition=matches is not None,
            is_bundled=bundles is not None,
        )
        if self.kind.is_left_only:
            semi = partial(SemiAntiJoin, self.kind, left_side, right_side, matches)
            return Keyed(given, semi, columnar=columnar)
        pairing = partial(PairingJoin, self.kind, left_side, right_side, matches)
        if bundles is None:
            return Keyed(given, pairing, columnar=columnar)
        return Keyed(
            given, partial(BundledJoin, pairing, self.kind, left_side, right_side), bundling=bundles, columnar=columnar
        )

    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """JOIN ... ON."""
        left, right = (input_.schema for input_ in context.inputs)
        keys = self.key_expressions(context)
        return paired(inputs, (left, right), keys, self.kind, self.condition)

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
        return f"SELECT *\nFROM {table}\n{self.kind.sql} {other}\nON {on}"

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
