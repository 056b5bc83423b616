"""The record at which Spark does not come to an end: the records of a job that takes too long, one by one, beside it.

Spark computes tens of thousands of records at once, and says nothing meanwhile. The search gives it one at a time, in a
session of its own: the records before the one that is wanted are quick, and with it the search has to stop as well. It
needs a free core, so it can fail; then the record stays unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, cast
from uuid import uuid4

import pyarrow as pa

from engine.contract.frames import EACH, FILE, LINE, SEQ
from engine.contract.step import Native
from engine.expressions.costs import bounded
from engine.runtime.edges.records import EdgeRecords, frame_of_kinds
from engine.runtime.reports import Batches, Report, run_tasks, task_name
from engine.spark.retrying import patient
from engine.spark.session import close, server_of
from engine.spark.workspace import Workspace, writing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from engine.spark.servers import Server

SEARCH_S: float = 60.0
RECORD_S: float = 10.0
"""What one record may take. The slowest of those that end take a fraction of a second."""
_LOOKS_S: Final = 0.2
# Spark's own size of a batch: the record is among as many of its partition.
_MOST: Final = 65_536
# A task that has just begun waits for Spark's code, too.
_FIRST: Final = 4
# A worker receives each record as soon as it is computed: Spark would wait until it has 64 kB for it.
_ONE_BY_ONE: Final = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
    "spark.sql.execution.pandas.udf.buffer.size": "4",
}


@dataclass(frozen=True)
class Suspects:
    """Records, and what Spark computes of each of them.

    records: on a session, with the columns `places`, by which a record is told. made: a column of what is computed;
    None if the records have it already.
    """

    records: Callable[[SparkSession], DataFrame]
    places: tuple[str, ...]
    made: str | None = None

    def frame(self, spark: SparkSession, after: int) -> DataFrame:
        """Those that the job may not have finished, with their places only. after: an event."""
        from pyspark.sql import functions as f

        whole = self.records(spark)
        return whole.where(f.col(SEQ) > after) if SEQ in self.places else whole

    def evaluated(self, frame: DataFrame) -> DataFrame:
        """The same, evaluated: each record after a row for which nothing is, if that is possible."""
        from pyspark.sql import functions as f

        if self.made is None:
            return frame
        turns = frame.select("*", f.explode(f.array(f.lit(0), f.lit(1))).alias("__turn"))
        return turns.select(f.expr(f"CASE WHEN __turn = 1 THEN {self.made} END").alias("__made"))

    def of_row(self, rows: int) -> Sequence[int]:
        """The places among which the record is after which a worker gets no more rows. rows: those that it got.

        Spark computes a row before it hands over the one before it.
        """
        if self.made is None:
            return [rows + 1] if rows else [0, 1]
        # Both rows of a record may be computed at once, or one by one.
        return [(rows + 1) // 2]

    def told(self, place: Mapping[str, Any]) -> str:
        """A record by its place."""
        return f"event {place[SEQ]:,}" if SEQ in place else f"line {place[LINE]:,} of {place[FILE]}"


def suspects_of(
    records: EdgeRecords, kinds: frozenset[int] | None, texts: Sequence[str], where: str | None, each: str | None = None
) -> Suspects:
    """The records of an edge, with a step's expressions and condition, as in `Projection` and `KeyedInput`."""

    def given(spark: SparkSession) -> DataFrame:
        return frame_of_kinds(records.frame(spark), kinds)

    value_sql = ", ".join(f"'{at}', {bounded(text)}" for at, text in enumerate(texts)) or "'0', 0"
    value_sql = f"named_struct({value_sql})"
    if each is not None:
        value_sql = f"transform({each}, {EACH} -> {value_sql})"
    if where is not None:
        # A value: every record is seen to end, not only those that meet the condition.
        value_sql = f"CASE WHEN {bounded(where)} THEN {value_sql} END"
    return Suspects(given, (SEQ,), value_sql)


def suspects_of_native(step: Native, inputs: Sequence[EdgeRecords]) -> Sequence[Suspects]:
    """The records of a stateless step. What a function in Python takes is no matter of Spark's."""
    return [
        suspects_of(records, step.kinds, projection.values, projection.where, projection.each)
        for records, projection in zip(inputs, step.projections, strict=True)
        if projection.call is None
    ]


def suspects_of_source(rows: DataFrame) -> Suspects:
    """The records of a source that is read by Spark, with its computed columns. rows: as in `SourceFrames`."""
    from pyspark.sql.connect.dataframe import DataFrame as Frame

    plan: Any = rows._plan
    return Suspects(lambda spark: cast("DataFrame", Frame(plan, cast("Any", spark))), (FILE, LINE))


def looked_after(
    batches: Batches, note: Callable[[], None], most_s: Callable[[], float], looks_s: float
) -> Iterator[pa.RecordBatch]:
    """In a task: its records. Once the next ones have not come for `most_s`, `note` is called, once."""
    came, is_over = [monotonic()], Event()

    def look() -> None:
        while not is_over.wait(looks_s):
            if came and monotonic() - came[0] > most_s():
                note()
                return

    Thread(target=look, daemon=True).start()
    try:
        for batch in batches:
            # What happens to a batch here is no wait.
            came.clear()
            yield batch
            came.append(monotonic())
    finally:
        is_over.set()


class RecordSearch:
    """A search, from its beginning to `end`. after: the last event of a batch that the job has finished."""

    def __init__(
        self, spark: SparkSession, suspects: Callable[[], Sequence[Suspects]], workspace: Workspace, after: int
    ) -> None:
        self._suspects, self._after = suspects, after
        self._workspace, self._folder = workspace, workspace.place("waits", uuid4().hex)
        self._most_s, self._until = RECORD_S, monotonic() + SEARCH_S
        self._found: str | None = None
        self._is_over = Event()
        self._own: Any = None
        # On a user's engine nobody could end the search's work at the record.
        server = server_of(spark)
        if server is None:
            self._is_over.set()
        else:
            Thread(target=self._search, args=(spark, server), name="changelog-studio-search", daemon=True).start()

    @property
    def is_over(self) -> bool:
        """Whether it has found the record, or gives up."""
        return self._is_over.is_set() or monotonic() > self._until

    @property
    def found(self) -> str | None:
        """The record."""
        return self._found

    def end(self) -> None:
        """End its jobs."""
        self._is_over.set()

    def _search(self, spark: Any, server: Server) -> None:
        # It helps a run that fails anyway: whatever happens here, the run's own reason counts.
        try:
            with suppress(Exception):
                self._own = own = spark.cloneSession()
                own.client.set_retry_policies([patient(server)])
                for name, value in _ONE_BY_ONE.items():
                    own.conf.set(name, value)
                for number, suspects in enumerate(self._suspects()):
                    self._look(own, suspects, f"{self._folder}/{number}")
                    if self.is_over:
                        break
        finally:
            self._is_over.set()
            if self._own is not None:
                with suppress(Exception):
                    self._own.interruptAll()
                close(self._own)

    def _look(self, own: SparkSession, suspects: Suspects, folder: str) -> None:
        frame = suspects.frame(own, self._after)
        run_tasks(frame.select(*suspects.places), _listing(folder))
        watching = _watching(folder, self._most_s)
        job = Thread(target=_quietly, args=(suspects.evaluated(frame), watching), daemon=True)
        job.start()
        while job.is_alive() and not self.is_over:
            for name in self._workspace.names(f"{folder}/stopped"):
                part, _, row = name.partition("-")
                listed = next(self._workspace.read(f"{folder}/{part}", suspects.places)).to_pylist()
                self._found = " or ".join(
                    suspects.told(listed[at]) for at in suspects.of_row(int(row)) if at < len(listed)
                )
                return
            job.join(_LOOKS_S)


def _quietly(frame: DataFrame, task: Callable[[Batches], Iterator[Report]]) -> None:
    with suppress(Exception):
        run_tasks(frame, task)


def _listing(folder: str) -> Callable[[Batches], Iterator[Report]]:
    """A task that writes the places of its partition's first records."""

    def task(batches: Batches) -> Iterator[Report]:
        if first := list(islice(batches, _MOST)):
            Workspace("").write(f"{folder}/{_part()}", pa.Table.from_batches(first))
        yield {}

    return task


def _watching(folder: str, most_s: float) -> Callable[[Batches], Iterator[Report]]:
    """A task that notes the row of its partition after which none comes."""

    def task(batches: Batches) -> Iterator[Report]:
        rows, part = 0, _part()

        def note() -> None:
            writing(f"{folder}/stopped/{part}-{rows}").close()

        def patience_s() -> float:
            return most_s if rows else _FIRST * most_s

        for _ in islice(looked_after(batches, note, patience_s, _LOOKS_S), 2 * _MOST):
            rows += 1
        yield {}

    return task


def _part() -> str:
    return task_name().partition("-")[0]
