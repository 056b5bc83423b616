"""Generated records at a rate per second of real time: the records that a live run takes.

    what, position   [first, after the last], counted from 0

A resumed run continues at its rate, as Flink's datagen does; it does not make up for the time in between.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Self

from pydantic import PrivateAttr

from engine.contract.declared_table import Declared
from engine.contract.parameters import parameter
from engine.contract.scan import Scan
from engine.contract.source import Endless, Source
from engine.contract.stream import Json, Limit, Stopping, Taken, never
from engine.model.schema import Column
from engine.model.types import TIMESTAMP
from engine.reading.declared_options import DeclaredOptions

SAMPLE: Final = 1000
"""The number of records that a bounded run generates for an unbounded source."""

Seed = Annotated[int, parameter("Seed", "The same seed gives the same records.", ge=0, lt=1 << 62)]

Start = Annotated[int, parameter("Start", "The time of the first record, in UTC.", instant=True)]
START_MS: Final = 1_704_067_200_000
_FLINKS_RATE: Final = 10_000.0
MOST_PER_SECOND: Final = 1_000_000
"""The highest rate of a source."""


class MadeUp(Source):
    """A source that generates each record from its number."""

    rows: int | None = parameter(
        "Records",
        f"How many records to generate. Empty: without end in a live run, {SAMPLE:,} in any other.",
        default=1000,
        ge=0,
        le=1 << 40,
    )
    rate: float = parameter(
        "Rate",
        "Records per second of event time, and in a live run also per second of real time.",
        default=100.0,
        ge=0.001,
        le=MOST_PER_SECOND,
    )

    arrival_told = "at which its generator makes them"
    table_options: ClassVar[str | None] = "number-of-rows rows-per-second fields.*"

    _cut: tuple[int, int] | None = PrivateAttr(None)

    def head(self, rows: int, node: str, folder: Path, into: Path) -> Self:
        """The first records, which do not depend on the number of records."""
        return self.model_copy(update={"rows": rows if self.rows is None else min(self.rows, rows)})

    @classmethod
    def with_arrival(cls, table: Declared, name: str) -> Declared:
        """With one more column."""
        return replace(table, columns=(*table.columns, Column(name, TIMESTAMP)))

    @classmethod
    def settings_of(cls, column: Column, options: DeclaredOptions) -> dict[str, Any]:
        """The settings of a column of a table, whose options are taken. Raises StudioError."""
        return {}

    @classmethod
    def parameters_of(cls, options: DeclaredOptions) -> dict[str, Any]:
        """The parameters of a table: its columns with their settings, the number of rows, and its rate."""
        columns = [
            {"name": column.name, "type": column.type.flink, **cls.settings_of(column, options)}
            for column in options.table.columns
        ]
        return {"columns": columns, **cls._pace(options)}

    @classmethod
    def _pace(cls, options: DeclaredOptions) -> dict[str, Any]:
        rows = options.number("number-of-rows")
        if rows is None:
            options.note(
                f"{cls.connector} without 'number-of-rows' never ends; a run that is not live makes {SAMPLE} rows."
            )
        rate = options.number("rows-per-second", float)
        rate = _FLINKS_RATE if rate is None else rate
        if rate > MOST_PER_SECOND:
            options.note(f"it makes {MOST_PER_SECOND:,} rows per second at most.")
        return {"rows": rows, "rate": min(rate, MOST_PER_SECOND)}

    @property
    def pace_options(self) -> dict[str, str]:
        """The options of its table for the number of rows, and the rate."""
        number = {} if self.rows is None else {"number-of-rows": str(self.rows)}
        return {"connector": self.connector or "datagen", **number, "rows-per-second": str(max(1, round(self.rate)))}

    @property
    @abstractmethod
    def size(self) -> int | None:
        """The number of records; None for unbounded."""

    def rows_about(self, node: str, folder: object) -> int | None:
        """As many as it generates."""
        return self.size

    @property
    def goes_on(self) -> bool:
        """Whether it generates records without end."""
        return self.size is None

    @property
    def endless(self) -> Endless:
        """Without a number of records."""
        return Endless("Generate records without end", {"rows": None})

    @property
    def range(self) -> tuple[int, int]:
        """The numbers of the records to generate: the first, and the one after the last."""
        return self._cut or (0, SAMPLE if self.size is None else self.size)

    def cut(self, first: int, end: int) -> Self:
        """The same source with only some of its records."""
        part = self.model_copy()
        part._cut = (first, end)
        return part

    def stream(self, node: str, folder: object, run: str) -> Paced:
        """The records at their rate."""
        return Paced(self)


@dataclass
class Paced:
    """The records of a source as time passes."""

    source: MadeUp
    _since: tuple[int, int] | None = field(default=None)

    def poll(
        self, position: Json, limit: Limit, now_ms: int, *, ending: bool = False, is_stopping: Stopping = never
    ) -> Taken:
        """The records that are due since the last poll."""
        at = int(position or 0)
        if ending:
            # Nothing is left behind: records do not exist before they are generated.
            return Taken(None, at)
        if self._since is None:
            self._since = now_ms, at
        began_ms, first = self._since
        due = first + int((now_ms - began_ms) * self.source.rate / 1000)
        size = self.source.size
        end = due if size is None else min(due, size)
        if end > at + limit.records:
            # A machine that is too slow generates fewer records, instead of ever larger batches.
            end = at + limit.records
            self._since = now_ms, end
        return Taken([at, end] if end > at else None, max(at, end), is_end=size is not None and end >= size)

    def read(self, what: Json) -> Scan | Source:
        """The records with these numbers."""
        first, end = what
        return self.source.cut(first, end)

    def close(self) -> None:
        """There is nothing to close."""
