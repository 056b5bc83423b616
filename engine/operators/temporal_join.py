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

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.columnar.columns import Columns, taken
from engine.columnar.columns import joined as joined_rows
from engine.columnar.paths import extended, timer_paths
from engine.columnar.runs import runs_of
from engine.columnar.timers import timers_of
from engine.contract.batch_input import BatchInput
from engine.contract.columnar_kernel import NEVER, Advanced, Chunk, Columnar, Emitted, Lates, Layout, Longs, state_batch
from engine.contract.derived import Derived
from engine.contract.frames import GROUP
from engine.contract.operator import Alternative, Analyzer, InputPlan, StepContext, Strategy
from engine.contract.requirements import Offer
from engine.contract.state_in_words import Description, Names, instant, state_table
from engine.contract.step import Keyed
from engine.errors import PlanRejected
from engine.joins.batch_versions import at_their_time
from engine.joins.equal_keys import KeyedJoin, Matches, event_time, require_event_times
from engine.joins.sides import JoinKind, join_keys, join_moves, joined
from engine.joins.versions_in_time import ENDED, TIMER, VERSION, WAITING, Dated, dated
from engine.model.changelog import DELETE, INSERT, SYMBOLS, ChangelogMode, UpdateKind
from engine.model.position import TIMER as TIMER_PATH
from engine.model.position import ordinal
from engine.model.row_types import to_pylist
from engine.model.schema import Schema, quote
from engine.model.timeline import Timeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LATE_ROW = "the version of its time had been let go when it arrived"
LATE_VERSION = "rows of its time had been joined before it arrived"
PADDED = "emitted without a version, padded with NULL"
VERSION_USED = "a version for the rows of its time that are not joined yet"


_FIXED: Final = (
    pa.field("role", pa.int8(), nullable=False),
    pa.field("time_ms", pa.int64(), nullable=False),
    pa.field("due_ms", pa.int64(), nullable=False),
    pa.field("origin_seq", pa.int64(), nullable=False),
    pa.field("origin_step", pa.binary(), nullable=False),
    pa.field("kind", pa.int8(), nullable=False),
)


class TemporalJoinKernel:
    """The rows and versions of many keys. A row is (event time in ms, column, ...).

    State per key: its timer with the position that set it, the waiting left rows in order of arrival, and the versions
    in order of time.
    """

    def __init__(self, kind: JoinKind, matches: Callable[[], Matches] | None, layout: Layout) -> None:
        self.pads = kind is JoinKind.LEFT
        self.matches = matches() if matches is not None else None
        self.layout = layout
        self.own_timers = TIMER_PATH + ordinal(layout.rank)

    @property
    def state_schema(self) -> pa.Schema:
        """What a row is, its time, the watermark it waits for, the position of a timer, and the columns of its side."""
        sides = [
            pa.field(f"value{port}_{at}", type_)
            for port, types in enumerate(self.layout.values)
            for at, type_ in enumerate(types[1:])
        ]
        return pa.schema([*_FIXED, *sides])

    def due_ms(self, state: pa.RecordBatch) -> Longs:
        """The watermark that each row waits for."""
        due: Longs = state.column("due_ms").to_numpy()
        return due

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """Join the rows that the watermark reaches."""
        state, records = chunk.state, chunk.records
        sides = self._sides(chunk)
        seqs = np.concatenate((state.column("origin_seq").to_numpy(), records.seqs))
        # The position of a record that sets a timer is without its port.
        steps = pa.concat_arrays([state.column("origin_step"), pc.binary_slice(records.steps, 0, -1)])
        kinds = np.concatenate((state.column("kind").to_numpy(), records.kinds))
        found = self._dated(chunk, timeline, kinds)
        paths = self._paths(found, timeline, seqs, steps)
        rows, versions, timers = self._matching(sides, found)
        columns = (*taken(sides[0], rows), *taken(sides[1], versions, may_miss=True))
        ordinals = runs_of(timers).ordinals
        emitted = Emitted(
            timeline.seqs[found.fires[timers]],
            extended(paths.take(pa.array(timers)), ordinals),
            kinds[rows].astype(np.int8),
            columns,
        )
        return Advanced(
            emitted, self._state(found, timeline, sides, seqs, steps, kinds, paths), self._lates(chunk, found)
        )

    def describe(self, state: pa.RecordBatch, names: Names) -> Description:
        """The buffered rows, and the versions by the time from which they are valid."""
        widths = [len(types) - 1 for types in self.layout.values]
        values = list(zip(*map(to_pylist, state.columns[1 + len(_FIXED) :]), strict=True)) or [()] * state.num_rows
        fixed = zip(*(state.column(name).to_pylist() for name in ("role", "time_ms", "kind")), values, strict=True)
        waiting, versions = [], []
        for role, time_ms, kind, row in fixed:
            if role == WAITING:
                waiting.append((instant(time_ms), SYMBOLS[kind], *names.show(row[: widths[0]], skip=1)))
            elif role != TIMER:
                shown = row[widths[0] :] if role == VERSION else (None,) * widths[1]
                versions.append((instant(time_ms), role == VERSION, *names.show(shown, 1, skip=1)))
        tables = []
        if waiting:
            columns = ("waits for", "kind", *names.columns(skip=1))
            tables.append(
                state_table("Waiting rows", columns, waiting, "They are emitted when the watermark reaches them.")
            )
        if versions:
            columns = ("valid from", "is a row", *names.columns(1, skip=1))
            tables.append(state_table("Versions", columns, versions, "Each is valid until the next one begins."))
        return tuple(tables)

    def _sides(self, chunk: Chunk) -> list[Columns]:
        """By side, the columns of the state's rows and of the records."""
        sides, at = [], 1 + len(_FIXED)
        for values in chunk.records.values:
            sides.append(joined_rows(chunk.state.columns[at : at + len(values) - 1], values[1:]))
            at += len(values) - 1
        return sides

    def _dated(self, chunk: Chunk, timeline: Timeline, kinds: NDArray[np.int8]) -> Dated:
        state, records = chunk.state, chunk.records
        times = pc.coalesce(*(values[0] for values in records.values)).to_numpy()
        timers = timers_of(chunk, timeline, self.due_ms(state), times)
        of_timers = pc.starts_with(state.column("origin_step"), self.own_timers).to_numpy(zero_copy_only=False)
        found = dated(
            state.column("role").to_numpy(),
            np.concatenate((state.column(GROUP).to_numpy(), records.groups)),
            np.concatenate((state.column("time_ms").to_numpy(), times)),
            np.concatenate((np.zeros(state.num_rows, np.int8), records.ports)),
            kinds.astype(np.int64),
            timers.waits_for,
            timers.dues,
            of_timers.astype(np.int64),
            timers.marks,
            timers.befores,
            timers.limits,
            timeline.marks,
            NEVER,
        )
        return Dated(*found)

    def _paths(self, found: Dated, timeline: Timeline, seqs: Longs, steps: pa.Array) -> pa.Array:
        """The paths of the timers, of which one that was set by a timer begins with that one's."""
        by_rows = np.maximum(found.origins, 0)
        firsts = timer_paths(self.layout.rank, found.times, seqs[by_rows], steps.take(pa.array(by_rows)))
        origin_seqs, origin_steps = self._positions(found.origins, found, timeline, seqs, steps, firsts)
        return timer_paths(self.layout.rank, found.times, origin_seqs, origin_steps)

    def _positions(
        self, origins: Longs, found: Dated, timeline: Timeline, seqs: Longs, steps: pa.Array, paths: pa.Array
    ) -> tuple[Longs, pa.Array]:
        """The positions of what set timers: rows, or timers with these paths."""
        all_seqs = np.concatenate((seqs, timeline.seqs[found.fires]))
        places = np.where(origins < 0, len(seqs) - 1 - origins, origins)
        return all_seqs[places], pa.concat_arrays([steps, paths]).take(pa.array(places))

    def _matching(self, sides: Sequence[Columns], found: Dated) -> tuple[Longs, Longs, Longs]:
        """The rows to emit, with their versions and timers."""
        versions = found.versions
        if self.matches is not None:
            pairs = (*taken(sides[0], found.rows), *taken(sides[1], versions, may_miss=True))
            met = [self.matches(pair) is True for pair in zip(*map(to_pylist, pairs), strict=True)]
            versions = np.where(np.array(met, np.bool_), versions, -1)
        if self.pads:
            return found.rows, versions, found.timers
        wanted = versions >= 0
        return found.rows[wanted], versions[wanted], found.timers[wanted]

    def _state(
        self,
        found: Dated,
        timeline: Timeline,
        sides: Sequence[Columns],
        seqs: Longs,
        steps: pa.Array,
        kinds: NDArray[np.int8],
        paths: pa.Array,
    ) -> pa.RecordBatch:
        of_timer = found.left_roles == TIMER
        rows = np.where(of_timer, -1, found.left_rows)
        origin_seqs, origin_steps = self._positions(
            np.where(of_timer, found.left_rows, 0), found, timeline, seqs, steps, paths
        )
        nothing = pa.scalar(b"", pa.binary())
        alive = np.where(found.left_roles == ENDED, DELETE, INSERT)
        columns = [
            pa.array(found.left_roles.astype(np.int8)),
            pa.array(found.left_times),
            pa.array(found.left_dues),
            pa.array(np.where(of_timer, origin_seqs, 0)),
            pc.if_else(pa.array(of_timer), origin_steps, nothing),
            pa.array(np.where(found.left_roles == WAITING, kinds[rows], alive).astype(np.int8)),
            *taken(sides[0], np.where(found.left_roles == WAITING, rows, -1), may_miss=True),
            *taken(sides[1], np.where(found.left_roles == VERSION, rows, -1), may_miss=True),
        ]
        return state_batch(self.state_schema, found.left_groups, columns)

    def _lates(self, chunk: Chunk, found: Dated) -> Lates | None:
        rows, versions = len(found.late_rows), len(found.late_versions)
        if not rows + versions:
            return None
        records = chunk.records
        assert records.watermarks is not None
        places = np.concatenate((found.late_rows, found.late_versions))
        times = pc.coalesce(*(values[0] for values in records.values)).to_numpy()[places]
        nowhere = pa.nulls(len(places), pa.int64())
        reasons = [LATE_ROW] * rows + [LATE_VERSION] * versions
        used = [PADDED if self.pads else ""] * rows + [VERSION_USED] * versions
        is_dropped = np.array([not each for each in used], np.bool_)
        return Lates(places, times, nowhere, nowhere, records.watermarks[places] - times, is_dropped, reasons, used)


class TemporalJoin(KeyedJoin):
    """The parameters of a temporal join."""

    operator: ClassVar[str] = "temporal_join"
    title: ClassVar[str] = "Temporal join"
    summary: ClassVar[str] = (
        "Adds to each row of a stream the row of a versioned table that was valid at its event time."
    )
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
        return Keyed(self.sides(context.node, left, right, timed=True), None, uses_time=True, columnar=columnar)

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
