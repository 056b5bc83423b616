"""The base of the server sources: viewing a pipeline sends no request, and columns are declared.

A bounded run first receives all available data. For a `ReceivedSource`

    server --received--> batches --Keeping--> pieces --reader--> records

and a live run continues with new data (`stream`), which it stores in the same way.
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
    """The columns of a source as the server knows them, and those of them that identify a row."""

    columns: Sequence[TypedColumn]
    primary_key: Sequence[str] = ()


class ServedSource(Source):
    """A source with its rows on a server. asks_for_columns: the user's action that requests them from the server."""

    asks_for_columns: ClassVar[str]

    _most: int | None = PrivateAttr(None)

    @property
    @abstractmethod
    def server(self) -> str:
        """All addresses that are contacted. Viewing a pipeline does not connect."""

    @property
    @abstractmethod
    def variables(self) -> tuple[str, ...]:
        """The environment variables whose values are sent to the server."""

    @abstractmethod
    def columns_there(self, node: str, folder: Path) -> ColumnsThere:
        """The columns according to the server. Raises SourceError."""

    def head(self, rows: int, node: str, folder: Path, into: Path) -> Self:
        """A source over the first rows."""
        some = self.model_copy()
        some._most = rows
        return some


class ReceivedSource(ServedSource):
    """A source whose rows are stored as they are received."""

    _kept: ForNow | None = PrivateAttr(None)

    @property
    @abstractmethod
    def origin(self) -> str:
        """The origin of the rows, for users."""

    @abstractmethod
    def reader(self, node: str, folder: Path) -> Callable[[Piece], Iterator[ReadPart]]:
        """The reader of the stored rows."""

    @abstractmethod
    def received(self, node: str, folder: Path, most: int | None) -> Iterator[pa.RecordBatch]:
        """The data available when the run begins, as stored. most: only the first so many rows. Raises SourceError."""

    def scan(self, node: str, folder: Path) -> Scan:
        """The data available when the run begins, received into files of this run. Raises SourceError."""
        reader = self.reader(node, folder)
        self._kept = ForNow()
        keeping = Keeping(self._kept.path, place_of(self.origin, node, ""))
        what = [keeping.keep(batch) for batch in self.received(node, folder, self._most)]
        return Scan(pieces_of(what, self._kept.path, self.origin), reader)

    def inputs(self, node: str, folder: Path) -> tuple[Path, ...]:
        """The files with the received data."""
        return tuple(sorted(self._kept.path.rglob("*.arrow"))) if self._kept is not None else ()

    def kept_in(self, node: str, run: str, position: Json) -> str:
        """The folder in which a run with this position stores received data."""
        return place_of(self.origin, node, run) if position is None else str(position["kept"])

    def let_go(self, node: str, folder: Path, run: str, position: Json) -> Sequence[str]:
        """Release the data that a run has stored."""
        forget(folder, self.kept_in(node, run, position))
        return ()
