"""State that expires: when an entry goes is told once, here, for all kernels.

An entry (a value, a row of a join's side) lives for the state TTL after its last write, by the run's recorded clock.
Reading does not refresh it, and once it has expired it is never read again: a kernel forgets what has expired before it
looks at its state. So the clock at a record decides, and neither the end of an epoch nor the number of tasks.

Source: Flink StateTtlConfig (OnCreateAndWrite, NeverReturnExpired), TtlUtils.expired, StateConfigUtil.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from functools import partial
from typing import Any, Final

from engine.contract.columnar_kernel import Columnar
from engine.contract.expired import Expired
from engine.contract.explanation import NO_STATE
from engine.contract.kernel import Entries, Kernel, Key, Output
from engine.contract.state_in_words import Description, Names
from engine.model.durations import duration
from engine.model.row import Row
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK

RECORD_BY_RECORD: Final = Columnar(None, "record by record: its state expires, entry by entry")
_VALUE: Final = ()


class Expiry(Enum):
    """What frees the state of an operator, in words for a plan where a state TTL is set."""

    BY_TTL = "each entry goes {ttl}"
    BY_ARRIVAL = "each entry goes {ttl}, by the arrival columns of the sources"
    BY_WATERMARK = "it goes with the watermark, whatever the state TTL"
    NEVER = "the state TTL does not free it here"
    NO_CLOCK = "each entry goes {ttl} in a live run; no source has an event time, so in a bounded run nothing frees it"

    def of(self, state: str, ttls_ms: Sequence[int]) -> str:
        """The state of an operator in words, with what frees it. ttls_ms: its TTL, or that of each side; 0 for none."""
        if not any(ttls_ms) or state == NO_STATE:
            return state
        words = [f"{duration(ttl_ms)} after its last write" if ttl_ms else "never" for ttl_ms in ttls_ms]
        ttl = words[0] if len(set(words)) == 1 else f"{words[0]} on the left, {words[1]} on the right"
        return f"{state}; {self.value.format(ttl=ttl)}"


class Ages:
    """The time in ms at which each entry of a state was last written, the oldest first: `written`, which it updates."""

    def __init__(self, ttl_ms: int, written: dict[Any, int]) -> None:
        self._ttl_ms = ttl_ms
        self.written = written

    def wrote(self, entry: Any, now_ms: int) -> None:
        """Note that an entry is written now. The clock never goes back, so it is the youngest."""
        self.written.pop(entry, None)
        self.written[entry] = now_ms

    def forget(self, entry: Any) -> None:
        """Note that an entry was removed."""
        self.written.pop(entry, None)

    def expired(self, now_ms: int) -> list[Any]:
        """Forget the entries that have expired, and return them, the oldest first."""
        gone = []
        for entry, written_ms in self.written.items():
            if written_ms == MIN_WATERMARK != now_ms:
                self._begin(now_ms)
                break
            if written_ms + self._ttl_ms > now_ms:
                break
            gone.append(entry)
        for entry in gone:
            del self.written[entry]
        return gone

    def forgotten(self, out: Output, kind: int = 0) -> list[Any]:
        """The same by the clock of a record, which has met them: that is noted. kind: of the entries."""
        now_ms = out.now_ms
        met: dict[int, int] = {}
        for written_ms in self.written.values():
            if written_ms == MIN_WATERMARK or written_ms + self._ttl_ms > now_ms:
                break
            met[written_ms] = met.get(written_ms, 0) + 1
        for written_ms, entries in met.items():
            went_ms = written_ms + self._ttl_ms
            out.expired.append(Expired(out.port, out.seq, out.step, kind, entries, written_ms, went_ms, now_ms))
        return self.expired(now_ms)

    def each(self, kind: int) -> Iterator[tuple[int, int, int]]:
        """The entries of the state one by one, as a kernel tells them (`Kernel.entries`)."""
        for written_ms in self.written.values():
            yield kind, MAX_WATERMARK if written_ms == MIN_WATERMARK else written_ms + self._ttl_ms, 1

    @property
    def last_ms(self) -> int:
        """The time at which the youngest entry expires; MAX_WATERMARK if it has no time yet, or there is none."""
        youngest_ms = next(reversed(self.written.values()), MIN_WATERMARK)
        return MAX_WATERMARK if youngest_ms == MIN_WATERMARK else youngest_ms + self._ttl_ms

    def _begin(self, now_ms: int) -> None:
        """Entries older than the clock's first time count from the record that first finds them under a clock."""
        self.written.update({entry: max(written_ms, now_ms) for entry, written_ms in self.written.items()})


class Expiring(Kernel):
    """A kernel whose whole state is one entry: once it has expired, the key is new. State: (that of the kernel, ages).

    A kernel that leaves its state unwritten at a record says so by `writes`, and one that may not lose it by `stays`.
    """

    def __init__(self, kernel: Callable[[], Kernel], ttl_ms: int) -> None:
        self._kernel = kernel()
        self._ttl_ms = ttl_ms

    def start(self, key: Key, state: tuple[Any, dict[Any, int]] | None) -> None:
        """Begin with the state, expired or not: only a record has a clock."""
        value, written = state or (None, {})
        self._key = key
        self._written_ms = written.get(_VALUE)
        self._kernel.start(key, value)

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Forget an expired state, then process the record."""
        self._before(out)
        self._kernel.on_record(kind, row, out)
        self._after(out)

    def on_timer(self, time_ms: int, name: Any, out: Output) -> None:
        """The same for a timer."""
        self._before(out)
        self._kernel.on_timer(time_ms, name, out)
        self._after(out)

    def on_bundle(self, out: Output) -> None:
        """The same for the end of a bundle."""
        self._before(out)
        self._kernel.on_bundle(out)
        self._after(out)

    def _before(self, out: Output) -> None:
        """As `Ages.forgotten`, for one entry."""
        now_ms, written_ms = out.now_ms, self._written_ms
        if written_ms == MIN_WATERMARK:
            self._written_ms = now_ms
        elif written_ms is not None and self._kernel.stays:
            lifetimes = max(0, now_ms - written_ms) // self._ttl_ms
            self._written_ms = written_ms + lifetimes * self._ttl_ms
        elif written_ms is not None and written_ms + self._ttl_ms <= now_ms:
            if self._kernel.finish() is not None:
                went_ms = written_ms + self._ttl_ms
                out.expired.append(Expired(out.port, out.seq, out.step, 0, 1, written_ms, went_ms, now_ms))
            self._written_ms = None
            self._kernel.start(self._key, None)
        self._kernel.writes = True

    def _after(self, out: Output) -> None:
        if self._kernel.writes:
            self._written_ms = out.now_ms

    @property
    def expires_ms(self) -> int:
        """When the state expires."""
        written_ms = self._written_ms
        if written_ms is None or written_ms == MIN_WATERMARK or self._kernel.stays:
            return MAX_WATERMARK
        return written_ms + self._ttl_ms

    def entries(self) -> Entries:
        """The entries of the kernel, which go together if not before."""
        last_ms = self.expires_ms
        return [
            (kind, expires_ms if expires_ms < last_ms else last_ms, number)
            for kind, expires_ms, number in self._kernel.entries()
        ]

    def finish(self) -> tuple[Any, dict[Any, int]] | None:
        """The state of the kernel, and its age."""
        value = self._kernel.finish()
        return None if value is None else (value, {} if self._written_ms is None else {_VALUE: self._written_ms})

    def describe(self, names: Names) -> Description:
        """The state of the kernel."""
        return self._kernel.describe(names)


def expiring(kernel: Callable[[], Kernel], ttl_ms: int) -> Callable[[], Kernel]:
    """A kernel with one entry of state that expires; the kernel itself without a TTL."""
    return partial(Expiring, kernel, ttl_ms) if ttl_ms else kernel
