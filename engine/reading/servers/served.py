"""What the sources that read from a server share: nobody is asked because somebody looks, and columns are declared.

A run that ends receives all that is there first. Of a `ReceivedSource`

    server --received--> batches --Keeping--> pieces --reader--> records

and a live run goes on with what comes (`stream`), and keeps it in the same way.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

from pydantic import PrivateAttr

from engine.contract.scan import ReadPart, Scan
from engine.contract.source import Source, TypedColumn
from engine.contract.stream import Json
from engine.reading.servers.kept_messages import ForNow, Keeping, Piece, forget, pieces_of, place_of

if TYPE_CHECKING:
    import pyarrow as pa


class ColumnsThere(NamedTuple):
    """What a server knows of the columns of a source, and which of them identify a row."""

    columns: Sequence[TypedColumn]
    primary_key: Sequence[str] = ()


class ServedSource(Source):
    """A source whose rows a server has. asks_for_columns: how a person asks the server for them."""

    asks_for_columns: ClassVar[str]

    _most: int | None = PrivateAttr(None)

    @property
    @abstractmethod
    def server(self) -> str:
        """Everybody who is asked, by address. Nothing connects where somebody only looks at a pipeline."""

    @property
    @abstractmethod
    def variables(self) -> tuple[str, ...]:
        """The environment variables whose values are sent there."""

    @abstractmethod
    def columns_there(self, node: str, folder: Path) -> ColumnsThere:
        """The columns as the server knows them. Raises SourceError."""

    def head(self, rows: int, node: str, folder: Path, into: Path) -> Self:
        """The first rows."""
        some = self.model_copy()
        some._most = rows
        return some


class ReceivedSource(ServedSource):
    """One whose rows are kept as they come."""

    _kept: ForNow | None = PrivateAttr(None)

    @property
    @abstractmethod
    def origin(self) -> str:
        """Where the rows come from, as a person calls it."""

    @abstractmethod
    def reader(self, node: str, folder: Path) -> Callable[[Piece], Iterator[ReadPart]]:
        """How what was received is read."""

    @abstractmethod
    def received(self, node: str, folder: Path, most: int | None) -> Iterator[pa.RecordBatch]:
        """What is there as the run begins, as it is kept. most: of these rows the first. Raises SourceError."""

    def scan(self, node: str, folder: Path) -> Scan:
        """What is there as the run begins, received into files of this run. Raises SourceError."""
        reader = self.reader(node, folder)
        self._kept = ForNow()
        keeping = Keeping(self._kept.path, place_of(self.origin, node, ""))
        what = [keeping.keep(batch) for batch in self.received(node, folder, self._most)]
        return Scan(pieces_of(what, self._kept.path, self.origin), reader)

    def inputs(self, node: str, folder: Path) -> tuple[Path, ...]:
        """The files of what was received."""
        return tuple(sorted(self._kept.path.rglob("*.arrow"))) if self._kept is not None else ()

    def kept_in(self, node: str, run: str, position: Json) -> str:
        """Where a run that got so far keeps what it receives."""
        return place_of(self.origin, node, run) if position is None else str(position["kept"])

    def let_go(self, node: str, folder: Path, run: str, position: Json) -> Sequence[str]:
        """What a run has kept of it."""
        forget(folder, self.kept_in(node, run, position))
        return ()
