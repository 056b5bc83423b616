"""How long tasks wait for the records that Spark computes for them: a note of a task that waits for too long.

Its next records are those of one batch. Only a task knows how far Spark has come with its part, and only the driver can
end it: the task writes a file into the workspace, where the driver looks for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from engine.contract.frames import SEQ
from engine.runtime.record_search import RecordSearch, Suspects, looked_after
from engine.runtime.reports import Batches, Report, run_tasks, unheard
from engine.spark.cancelling import Watch
from engine.spark.run_files import RunFiles
from engine.spark.watching import ADVICE
from engine.spark.workspace import writing

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from engine.runtime.edges.records import EdgeRecords

RECORDS_S: float = 180.0
"""What one batch of records may take. The slowest of those that end take a few seconds."""
_LOOKS_S: Final = 0.5
# How often a task is asked for notes in a workspace that only workers see.
_ASKED_S: Final = 5.0


@dataclass(frozen=True)
class Watched:
    """Runs tasks over frames that Spark computes. One whose records do not come is ended with a sentence."""

    files: RunFiles
    watch: Watch
    are_here: bool = False

    def frame(self, records: EdgeRecords, spark: SparkSession) -> DataFrame:
        """The records of an edge, which tasks read from its files."""
        return records.frame(spark)

    def run(
        self,
        frame: DataFrame,
        task: Callable[[Batches], Iterator[Report]],
        node: str,
        heard: Callable[[Report], None] = unheard,
        suspects: Callable[[], Sequence[Suspects]] = tuple,
    ) -> list[Report]:
        """As `run_tasks`. suspects: the records among which one is looked for that does not end. Raises TookTooLong."""
        waits = Waits(self.files.workspace.place("waits", uuid4().hex))
        notes = _Notes(self.files, waits, partial(RecordSearch, frame.sparkSession, suspects, self.files.workspace))

        def noted(batches: Batches) -> Iterator[Report]:
            yield from task(waits.noted(batches))

        with notes, self.watch.limited(notes.too_long, node, keeps_core=True):
            return run_tasks(frame, noted, heard)


@dataclass(frozen=True)
class Waits:
    """The waits of the tasks of one job. folder: of their notes."""

    folder: str
    most_s: float = field(default_factory=lambda: RECORDS_S)

    def noted(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """In a task: its records, with a note if the next ones do not come."""
        after = 0

        def note() -> None:
            writing(f"{self.folder}/{after}").close()

        for batch in looked_after(batches, note, lambda: self.most_s, _LOOKS_S):
            yield batch
            # The rows of a source have no numbers yet.
            if batch.num_rows and SEQ in batch.schema.names:
                after = batch.column(SEQ)[-1].as_py()

    def after(self, names: Sequence[str]) -> int | None:
        """On the driver: the event after which a task waits for too long, if one does. names: of the notes."""
        return min((int(name) for name in names if name.isdecimal()), default=None)

    def told(self, where: str) -> str:
        """The sentence. where: the record, or the records, for which a task waits."""
        return f"an expression works for more than {self.most_s:.0f} s on {where}, and may never end. {ADVICE}."


class _Notes:
    """The notes of a job, as the driver finds them. Those that only workers see are asked for by a thread of its own:
    whoever watches a job must not wait for another one.
    """

    def __init__(self, files: RunFiles, waits: Waits, search: Callable[[int], RecordSearch]) -> None:
        self._files, self._waits, self._search = files, waits, search
        self._searching: RecordSearch | None = None
        self._names: Sequence[str] = ()
        self._is_over = Event()

    def __enter__(self) -> None:
        if not self._files.are_here:
            Thread(target=self._ask, name="changelog-studio-waits", daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        if self._searching is not None:
            self._searching.end()

    def too_long(self) -> str | None:
        """The sentence about a task that waits for too long, once its record is known or cannot be found; else None."""
        if self._files.are_here:
            self._names = self._files.names(self._waits.folder)
        after = self._waits.after(self._names)
        if after is None:
            return None
        if self._searching is None:
            self._searching = self._search(after)
        if not self._searching.is_over:
            return None
        return self._waits.told(self._searching.found or f"the records after event {after:,}")

    def _ask(self) -> None:
        # Before that there is none.
        wait = self._waits.most_s
        while not (self._names or self._is_over.wait(wait)):
            wait = _ASKED_S
            try:
                self._names = self._files.names(self._waits.folder)
            except Exception:  # noqa: BLE001 - an engine that is gone is told by the job itself
                return
