"""A source that counts down to zero, one record per second of event time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from pydantic import Field

from engine.contract.derived import Derived
from engine.contract.scan import ReadPart, Scan
from engine.contract.source import Source
from engine.model.schema import Column, Schema
from engine.model.types import BIGINT
from engine.reading.flink_table import create_table
from engine.reading.typed.columns import derive_source


class Countdown(Source):
    """The parameters, which draw the form."""

    operator: ClassVar[str] = "countdown"
    title: ClassVar[str] = "Countdown"
    summary: ClassVar[str] = "Counts down to zero, a record per second."

    start: int = Field(10, ge=0, title="From", description="The first number.")

    def derive(self, node: str, folder: Path) -> Derived:
        """A time in ms and a number."""
        return derive_source(self, node, (Column("at_ms", BIGINT), Column("n", BIGINT)))

    def scan(self, node: str, folder: Path) -> Scan:
        """One part; a source of files has one per file or range of bytes."""
        return Scan((self.start,), _read)

    def head(self, rows: int, node: str, folder: Path, into: Path) -> Countdown:
        """It is short: all of it."""
        return self

    def flink_sql(self, node: str, schema: Schema) -> str:
        """A table of the same columns."""
        return create_table(node, schema, self, {"connector": "datagen"})


def _read(start: int) -> Iterator[ReadPart]:
    numbers = list(range(start, -1, -1))
    times = [1000 * at for at in range(len(numbers))]
    batch = pa.RecordBatch.from_pydict({"at_ms": pa.array(times, pa.int64()), "n": pa.array(numbers, pa.int64())})
    yield ReadPart(batch, "countdown", list(range(1, len(numbers) + 1)))


SOURCE = Countdown
