"""How long the kernel was at work for each key of a task: the slowest are kept.

The one thing of a run that is not the same every time. It stands in files of its own, away from the records.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any, Final

KEPT: Final = 20


@dataclass
class KeyTimes:
    """A stopwatch that is read at the end of every key. What reading and writing batches takes is not a key's."""

    _since: int = 0
    _spent: int = 0
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
        if len(self._slowest) < KEPT:
            heapq.heappush(self._slowest, (spent, records, _text(key)))
        elif spent > self._slowest[0][0]:
            heapq.heapreplace(self._slowest, (spent, records, _text(key)))

    @property
    def slowest(self) -> list[tuple[int, int, str]]:
        """The slowest keys, as (ns, records, key)."""
        return sorted(self._slowest, reverse=True)


def _text(key: Sequence[Any]) -> str:
    return json.dumps(key, default=str, ensure_ascii=False)
