"""Files that only an engine sees: tasks list and read them, and the session returns pieces.

A header or a sample is a piece or two. A piece is cached as long as its file is unchanged, and a listing for some
seconds, so that the app's frequent planning causes one request.
"""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import IO, TYPE_CHECKING, Final

import pyarrow as pa

from engine.contract.sending import sent
from engine.errors import EngineUnavailable
from engine.reading.files.storage import FETCHED_BYTES, StoredFile, fetched_file, list_files, open_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from engine.spark.engines import Engine

_PIECES_KEPT: Final = 64
_LISTING_S: Final = 10.0
_ANSWER: Final = pa.schema([("answer", pa.binary()), ("error", pa.string())])
_ANSWER_DDL: Final = "answer BINARY, error STRING"


@dataclass(eq=False)
class EngineStorage:
    """An engine's view of its own disks and buckets. spark: opens its session; called on first use."""

    name: str
    spark: Callable[[], SparkSession]
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _pieces: OrderedDict[tuple[StoredFile, int], bytes] = field(default_factory=OrderedDict)
    _listings: dict[tuple[str, tuple[str, ...]], tuple[float, list[StoredFile]]] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The engine's name."""
        return f"the engine {self.name}"

    def find(self, path: str, endings: Collection[str]) -> Sequence[StoredFile]:
        """List files in a task. Raises OSError."""
        key = (path, tuple(sorted(endings)))
        with self._lock:
            listing = self._listings.get(key)
        if listing is not None and time.monotonic() - listing[0] < _LISTING_S:
            return listing[1]
        listed = json.loads(self._ask(partial(_listed, path, key[1])))
        files = [StoredFile(*fields) for fields in listed]
        with self._lock:
            self._listings[key] = (time.monotonic(), files)
        return files

    def open(self, file: StoredFile) -> IO[bytes]:
        """The file's bytes, fetched as they are read."""

        def read(start: int, size: int) -> bytes:
            number, inside = divmod(start, FETCHED_BYTES)
            return self.piece(file, number)[inside : inside + size]

        return fetched_file(file.size, read)

    def piece(self, file: StoredFile, number: int) -> bytes:
        """One piece of a megabyte. Raises OSError."""
        key = (file, number)
        with self._lock:
            if key in self._pieces:
                self._pieces.move_to_end(key)
                return self._pieces[key]
        read = self._ask(partial(_read, file.path, number * FETCHED_BYTES))
        with self._lock:
            self._pieces[key] = read
            while len(self._pieces) > _PIECES_KEPT:
                self._pieces.popitem(last=False)
        return read

    def _ask(self, work: Callable[[], bytes]) -> bytes:
        """The answer of a task. Raises OSError with the task's or the engine's reason."""
        from pyspark.errors import PySparkException

        def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for _ in batches:
                pass
            answer, error = None, None
            try:
                answer = work()
            except (OSError, pa.ArrowException) as raised:
                error = str(raised) or type(raised).__name__
            yield pa.RecordBatch.from_pydict({"answer": [answer], "error": [error]}, schema=_ANSWER)

        try:
            [row] = self.spark().range(0, 1, 1, 1).mapInArrow(sent(task), _ANSWER_DDL).collect()
        except EngineUnavailable as error:
            message = f"{self.title} could not look for it: {error}"
            raise OSError(message) from error
        except PySparkException as error:
            message = f"{self.title} could not look for it: {str(error).splitlines()[0][:300]}"
            raise OSError(message) from error
        if row.error is not None:
            raise OSError(row.error)
        return bytes(row.answer)


def storage_of(engine: Engine, spark: Callable[[], SparkSession]) -> EngineStorage | None:
    """The storage of an engine; None if the engine sees the files of this machine."""
    return EngineStorage(engine.name, spark) if engine.workspace else None


def _listed(path: str, endings: Collection[str]) -> bytes:
    return json.dumps(list_files(path, endings)).encode()


def _read(path: str, start: int) -> bytes:
    with open_file(path) as file:
        file.seek(start)
        return file.read(FETCHED_BYTES)
