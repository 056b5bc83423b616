"""State that expires: when an entry goes is told once, here, for all kernels.

An entry (a value, a row of a join's side) lives for the state TTL after its last write, by the run's recorded clock.
Reading does not refresh it, and once it has expired it is never read again: a kernel forgets what has expired before it
looks at its state. So the clock at a record decides, and neither the end of an epoch nor the number of tasks.

Source: Flink StateTtlConfig (OnCreateAndWrite, NeverReturnExpired), TtlUtils.expired, StateConfigUtil.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from enum import Enum
from functools import partial
from typing import Any, Final

from engine.contract.columnar_kernel import Columnar
from engine.contract.explanation import NO_STATE
from engine.contract.kernel import Kernel, Key, Output
from engine.contract.state_in_words import Description, Names
from engine.model.durations import duration
from engine.model.row import Row
from engine.model.timeline import MIN_WATERMARK

RECORD_BY_RECORD: Final = Columnar(None, "record by record: its state expires, entry by entry")
_VALUE: Final = ()


class Expiry(Enum):
    """What frees the state of an operator, in words for a plan where a state TTL is set."""

    BY_TTL = "each entry goes {ttl} after its last write"
    BY_WATERMARK = "it goes with the watermark, whatever the state TTL"
    NEVER = "the state TTL does not free it here"

    def of(self, state: str, ttl_ms: int) -> str:
        """The state of an operator in words, with what frees it. ttl_ms: 0 if nothing expires."""
        return f"{state}; {self.value.format(ttl=duration(ttl_ms))}" if ttl_ms and state != NO_STATE else state


class Ages:
    """The time in ms at which each entry of a state was last written, the oldest first."""

    def __init__(self, ttl_ms: int, written: Iterable[tuple[Hashable, int]] = ()) -> None:
        self._ttl_ms = ttl_ms
        self._written = dict(written)

    def wrote(self, entry: Hashable, now_ms: int) -> None:
        """Note that an entry is written now. The clock never goes back, so it is the youngest."""
        self._written.pop(entry, None)
        self._written[entry] = now_ms

    def forget(self, entry: Hashable) -> None:
        """Note that an entry was removed."""
        self._written.pop(entry, None)

    def expired(self, now_ms: int) -> list[Hashable]:
        """Forget the entries that have expired, and return them, the oldest first."""
        gone = []
        for entry, written_ms in self._written.items():
            if written_ms == MIN_WATERMARK != now_ms:
                self._begin(now_ms)
                break
            if written_ms + self._ttl_ms > now_ms:
                break
            gone.append(entry)
        for entry in gone:
            del self._written[entry]
        return gone

    def _begin(self, now_ms: int) -> None:
        """Entries older than the clock's first time count from the record that first finds them under a clock."""
        self._written = {entry: max(written_ms, now_ms) for entry, written_ms in self._written.items()}

    @property
    def written(self) -> list[tuple[Hashable, int]]:
        """The entries with their times, to be saved."""
        return list(self._written.items())


class Expiring(Kernel):
    """A kernel whose whole state is one entry: once it has expired, the key is new. State: (that of the kernel, ages).

    A kernel that leaves its state unwritten at a record says so by `writes`.
    """

    def __init__(self, kernel: Callable[[], Kernel], ttl_ms: int) -> None:
        self._kernel = kernel()
        self._ttl_ms = ttl_ms

    def start(self, key: Key, state: tuple[Any, list[tuple[Hashable, int]]] | None) -> None:
        """Begin with the state, expired or not: only a record has a clock."""
        value, written = state or (None, ())
        self._key = key
        self._ages = Ages(self._ttl_ms, written)
        self._kernel.start(key, value)

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Forget an expired state, then process the record."""
        self._before(out.now_ms)
        self._kernel.on_record(kind, row, out)
        self._after(out.now_ms)

    def on_timer(self, time_ms: int, name: Any, out: Output) -> None:
        """The same for a timer."""
        self._before(out.now_ms)
        self._kernel.on_timer(time_ms, name, out)
        self._after(out.now_ms)

    def on_bundle(self, out: Output) -> None:
        """The same for the end of a bundle."""
        self._before(out.now_ms)
        self._kernel.on_bundle(out)
        self._after(out.now_ms)

    def _before(self, now_ms: int) -> None:
        if self._ages.expired(now_ms):
            self._kernel.start(self._key, None)
        self._kernel.writes = True

    def _after(self, now_ms: int) -> None:
        if self._kernel.writes:
            self._ages.wrote(_VALUE, now_ms)

    def finish(self) -> tuple[Any, list[tuple[Hashable, int]]] | None:
        """The state of the kernel, and its age."""
        value = self._kernel.finish()
        return None if value is None else (value, self._ages.written)

    def describe(self, names: Names) -> Description:
        """The state of the kernel."""
        return self._kernel.describe(names)


def expiring(kernel: Callable[[], Kernel], ttl_ms: int) -> Callable[[], Kernel]:
    """A kernel with one entry of state that expires; the kernel itself without a TTL."""
    return partial(Expiring, kernel, ttl_ms) if ttl_ms else kernel
