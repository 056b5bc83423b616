"""How long tasks wait for the records that Spark computes for them: a note of a task that waits for too long.

Its next records are those of one batch. Only a task knows how far Spark has come with its part, and only the driver can
end it: the task writes a file, where the driver looks for one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Final

from engine.contract.frames import SEQ
from engine.spark.watching import ADVICE

if TYPE_CHECKING:
    import pyarrow as pa

RECORDS_S: float = 180.0
"""What one batch of records may take. The slowest of those that end take a few seconds."""
_LOOKS_S: Final = 0.5


@dataclass(frozen=True)
class Waits:
    """The waits of the tasks of one job. folder: of their notes."""

    folder: str
    most_s: float = field(default_factory=lambda: RECORDS_S)

    def noted(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """In a task: its records, with a note if the next ones do not come."""
        came, is_over, after = [monotonic()], Event(), [0]

        def look() -> None:
            while not is_over.wait(_LOOKS_S):
                if came and monotonic() - came[0] > self.most_s:
                    folder = Path(self.folder)
                    folder.mkdir(parents=True, exist_ok=True)
                    (folder / str(after[0])).touch()
                    return

        Thread(target=look, daemon=True).start()
        try:
            for batch in batches:
                # What happens to a batch here is no wait.
                came.clear()
                yield batch
                if batch.num_rows:
                    after[0] = batch.column(SEQ)[-1].as_py()
                came.append(monotonic())
        finally:
            is_over.set()

    def too_long(self) -> str | None:
        """On the driver: the sentence about a task that waits for too long, else None."""
        try:
            after = min(int(note.name) for note in Path(self.folder).iterdir())
        except (OSError, ValueError):
            return None
        return (
            f"an expression works for more than {self.most_s:.0f} s on the records after event {after:,}, and may "
            f"never end. {ADVICE}."
        )
