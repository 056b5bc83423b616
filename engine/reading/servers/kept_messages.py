"""Messages as received, stored beside the database: a replay reads from here what a run took.

    received/orders-5f3a9c1e/0.arrow      messages that a run took of `orders`, in pieces; one file per attempt
    piece                                 [file, start, end]: bytes of a file that form a complete Arrow stream

External sources forget: messages expire, topics are compacted, a replication slot advances. To make recorded runs
replayable, an epoch names pieces, not positions in the source. Pieces are on disk before their epoch is decided.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import weakref
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from engine.contract.live import Decision
from engine.contract.stream import Json
from engine.reading.files.received import FOLDER, sync_folder
from engine.scratch import hold, kept_scratch

if TYPE_CHECKING:
    import pyarrow as pa

_FILE_BYTES: Final = 256 << 20
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_LABEL: Final = 60


class Piece(NamedTuple):
    """Messages in a file. name: of their origin."""

    path: str
    name: str
    start: int
    end: int


def place_of(origin: str, node: str, run: str) -> str:
    """The folder in which a run stores the messages of a source, relative to the store's folder."""
    digest = hashlib.sha256(f"{run} {node}".encode()).hexdigest()[:12]
    return f"{FOLDER}/{_UNSAFE.sub('_', origin)[:_LABEL]}-{digest}"


class Keeping:
    """Writes messages to new files in a folder. place: relative to `folder`."""

    def __init__(self, folder: Path, place: str) -> None:
        self._folder = folder
        self._place = place
        self._file = ""
        self._size = 0

    def keep(self, messages: pa.RecordBatch) -> Json:
        """Write messages, and return their piece. Raises OSError."""
        import pyarrow as pa

        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, messages.schema) as writer:
            writer.write_batch(messages)
        written = sink.getvalue()
        if not self._file or self._size >= _FILE_BYTES:
            self._begin()
        start = self._size
        with (self._folder / self._file).open("ab") as file:
            # A failed attempt may have left bytes after the last piece.
            file.truncate(start)
            file.write(written)
            file.flush()
            os.fsync(file.fileno())
        self._size += written.size
        return [self._file, start, self._size]

    def _begin(self) -> None:
        place = self._folder / self._place
        is_new = not place.exists()
        place.mkdir(parents=True, exist_ok=True)
        taken = [int(file.stem) for file in place.glob("*.arrow") if file.stem.isdecimal()]
        self._file, self._size = f"{self._place}/{max(taken, default=-1) + 1}.arrow", 0
        (self._folder / self._file).touch(exist_ok=False)
        sync_folder(place)
        if is_new:
            sync_folder(place.parent)
            sync_folder(self._folder)


class ForNow:
    """A temporary folder for the messages of a bounded run; it is deleted with this object."""

    def __init__(self) -> None:
        self.path = kept_scratch("messages")
        weakref.finalize(self, _remove, self.path, hold(self.path))


def _remove(folder: Path, held: int | None) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if held is not None:
        os.close(held)


def pieces_of(what: Sequence[Json], folder: Path, name: str) -> tuple[Piece, ...]:
    """The pieces that an epoch names."""
    return tuple(Piece(str(folder / file), name, start, end) for file, start, end in what)


def messages_in(piece: Piece) -> pa.RecordBatch:
    """The messages of a piece. Raises OSError."""
    import pyarrow as pa

    with open(piece.path, "rb") as file:
        file.seek(piece.start)
        with pa.ipc.open_stream(file.read(piece.end - piece.start)) as reader:
            return reader.read_next_batch()


def cut_out(part: Any, folder: Path) -> Any:
    """A part of a source; a piece becomes a file of its own if the rest of its file is not needed."""
    if not isinstance(part, Piece):
        return part
    path = folder / f"{Path(part.path).stem}-{part.start}.arrow"
    with open(part.path, "rb") as file:
        file.seek(part.start)
        path.write_bytes(file.read(part.end - part.start))
    return part._replace(path=str(path), start=0, end=part.end - part.start)


def forget_older(folder: Path, decisions: Iterable[str]) -> None:
    """Remove the files that precede all pieces of these epochs. decisions: of the epochs, as text.

    If no epoch took messages of a source, its files are unknown, and stay.
    """
    first: dict[Path, int] = {}
    for decision in decisions:
        for what in Decision.from_json(decision).took.values() if decision else ():
            for file in _files_of(what):
                first[file.parent] = min(int(file.stem), first.get(file.parent, int(file.stem)))
    for place, number in first.items():
        for file in (folder / place).glob("*.arrow"):
            if file.stem.isdecimal() and int(file.stem) < number:
                file.unlink(missing_ok=True)


def _files_of(what: Json) -> Iterator[Path]:
    """The message files that an epoch names; decisions of other sources have other forms."""
    for piece in what if isinstance(what, list) else ():
        match piece:
            case [str(name), int(), int()] if name.startswith(f"{FOLDER}/") and ".." not in name:
                file = Path(name)
                if file.suffix == ".arrow" and file.stem.isdecimal():
                    yield file


def forget(folder: Path, place: str) -> None:
    """Remove the messages that a run stored."""
    if place.startswith(f"{FOLDER}/") and ".." not in place:
        shutil.rmtree(folder / place, ignore_errors=True)
