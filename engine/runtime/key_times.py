"""How long the kernel was at work for each key of a task: the slowest are kept, as a small Parquet file.

The one thing of a run that is not the same every time. It stands in a file of its own, away from the records.
"""

from __future__ import annotations

import heapq
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from time import perf_counter_ns
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

_KEPT: Final = 20
_SCHEMA: Final = pa.schema([("key", pa.string()), ("ns", pa.int64()), ("records", pa.int64())])


@dataclass
class KeyTimes:
    """A stopwatch that is read at the end of every key. What reading and writing batches takes is not a key's."""

    _since: int = 0
    _spent: int = 0
    _first: str | None = None
    # As (ns, records, key), the quickest of them first.
    _slowest: list[tuple[int, int, str]] = field(default_factory=list)

    def start(self) -> None:
        """The kernel is at work from now on."""
        self._since = perf_counter_ns()

    def stop(self) -> None:
        """Something else is."""
        self._spent += perf_counter_ns() - self._since

    def close(self, key: Sequence[Any], records: int) -> None:
        """A key is done; the watch is running and goes on for the next one."""
        now = perf_counter_ns()
        spent, self._since, self._spent = self._spent + now - self._since, now, 0
        if self._first is None:
            self._first = _text(key)
        if len(self._slowest) < _KEPT:
            heapq.heappush(self._slowest, (spent, records, _text(key)))
        elif spent > self._slowest[0][0]:
            heapq.heapreplace(self._slowest, (spent, records, _text(key)))

    def write(self, folder: Path) -> None:
        """Keep them. A task that Spark repeats writes the same file again: no two tasks begin with the same key."""
        if self._first is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        name = sha256(self._first.encode()).hexdigest()[:32]
        found = [{"key": key, "ns": spent, "records": records} for spent, records, key in self._slowest]
        written = folder / f".{name}.{os.getpid()}"
        pq.write_table(pa.Table.from_pylist(found, _SCHEMA), written)
        written.replace(folder / f"{name}.parquet")


def _text(key: Sequence[Any]) -> str:
    return json.dumps(key, default=str, ensure_ascii=False)
