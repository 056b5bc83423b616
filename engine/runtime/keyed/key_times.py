"""The kernel's time for each key of a task: the slowest keys are kept.

These times are the only nondeterministic output of a run. They have files of their own, apart from the records.
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
    """A stopwatch that is read after each key. Reading and writing batches is not counted."""

    _since: int = 0
    _spent: int = 0
    # Entries are (ns, records, key), the fastest first.
    _slowest: list[tuple[int, int, str]] = field(default_factory=list)

    def start(self) -> None:
        """The kernel starts to work."""
        self._since = perf_counter_ns()

    def stop(self) -> None:
        """The kernel stops."""
        self._spent += perf_counter_ns() - self._since

    def close(self, key: Sequence[Any], records: int) -> None:
        """A key is done; the running watch continues with the next one."""
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
