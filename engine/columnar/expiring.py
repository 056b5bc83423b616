"""State that expires, on whole batches: where the state of a key is one entry, an expired key is a new key.

    clock      0  1  2      9  10       the TTL is 5
    records    r  r  r      r  r        of one key
    lives      |------      |----       for the kernel, each is a key of its own

The plain telling is `engine.contract.expiry.Expiring`. A record that does not write the state does not refresh it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.columnar.columns import row_of_groups, taken
from engine.columnar.rules import rule
from engine.columnar.runs import Flags, Runs
from engine.contract.columnar_kernel import (
    OF_KEY,
    Advanced,
    Chunk,
    Columnar,
    ColumnarKernel,
    Entries,
    InShortChunks,
    Layout,
    Lives,
    Longs,
    Met,
    Records,
    ToldOnce,
    state_batch,
)
from engine.contract.frames import EXPIRES, GROUP, arrow_fields
from engine.contract.state_in_words import Description, Names
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK, Timeline


@runtime_checkable
class KeepsBest(ColumnarKernel, Protocol):
    """A kernel that writes its state only at a record that beats the kept one: of a higher rank, or of an equal one."""

    ties_win: bool

    def ranks(self, records: Records, state: pa.RecordBatch) -> tuple[Longs, Longs]:
        """The ranks of the records, and of the state's rows."""


class ExpiringColumns:
    """A kernel whose rows of a key are one entry, which it writes at every record unless it keeps the best one.

    State: the rows, and when they expire, as `Expiring.expires_ms` has it.
    """

    def __init__(self, layout: Layout, make: Callable[[Layout], ColumnarKernel], ttl_ms: int) -> None:
        self._kernel = make(layout)
        self._ttl_ms = ttl_ms
        self.state_schema = pa.schema([*self._kernel.state_schema, *arrow_fields(EXPIRES)])

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """Pass the lives of all keys to the kernel, and keep the state of the last one of each."""
        records, now = chunk.records, chunk.records.now
        assert now is not None, "a run with a state TTL has a clock"
        expires: Longs = chunk.state.column(EXPIRES).to_numpy()
        held = chunk.state.drop_columns([EXPIRES])
        runs = Runs.of(records.groups)
        row_of_run = row_of_groups(chunk.state, chunk.groups)[records.groups[runs.starts]]
        is_known = row_of_run >= 0
        run_expires = np.full(len(runs), MAX_WATERMARK)
        run_expires[is_known] = expires[row_of_run[is_known]]
        ranks, state_ranks, ties_win = self._ranks(records, held)
        best = np.zeros(len(runs), np.int64)
        best[is_known] = state_ranks[row_of_run[is_known]]
        of_runs = runs.starts, runs.ends, is_known.astype(np.int64), run_expires, best
        gone, expires_before, expires_after = expiries(*of_runs, ranks, now, self._expires(now), int(ties_win))
        has_expired = gone > 0
        begins = has_expired.copy()
        begins[runs.starts] = True
        lives = Runs.starting(begins)
        of_life = records.groups[lives.starts]
        first_of_run = lives.numbers[runs.starts] if len(runs) else np.zeros(0, np.int64)
        goes_on = is_known & ~has_expired[runs.starts]

        # The lives that the rows of the state go on in; -1 for none.
        life_of_group = np.full(chunk.groups, -1, np.int64)
        life_of_group[of_life[first_of_run[goes_on]]] = first_of_run[goes_on]
        life_of_row = life_of_group[held.column(GROUP).to_numpy()]
        rows = np.flatnonzero(life_of_row >= 0)
        carried = state_batch(self._kernel.state_schema, life_of_row[rows], taken(held.columns[1:], rows))
        of_lives = replace(records, groups=lives.numbers if len(lives) else records.groups)
        keys = taken(chunk.keys, of_life)
        advanced = self._kernel.advance(Chunk(keys, len(lives), of_lives, carried, chunk.goes_on), timeline)

        has = np.zeros(len(lives), np.bool_)
        has[advanced.state.column(GROUP).to_numpy()] = True
        last = expires_after[lives.ends - 1]
        had = np.full(len(lives), MIN_WATERMARK)
        had[first_of_run[goes_on]] = run_expires[goes_on]
        # What was there before a life that begins because it had expired.
        was_there = np.zeros(len(lives), np.bool_)
        was_there[1:] = has[:-1]
        was_there[first_of_run] = is_known
        met = np.flatnonzero(has_expired[lives.starts] & was_there)
        places = lives.starts[met]
        told = self._told(lives, has, last, had, Met(places, places * 0, places * 0 + 1, expires_before[places]))
        return replace(advanced, state=self._kept(chunk, runs, lives, of_life, last, advanced.state), lives=told)

    @property
    def most_rows(self) -> int | None:
        """As many records as the kernel takes at once."""
        return self._kernel.most_rows if isinstance(self._kernel, InShortChunks) else None

    def describe(self, state: pa.RecordBatch, names: Names) -> Description:
        """The state of a kernel that is the only telling of its rule."""
        assert isinstance(self._kernel, ToldOnce)
        return self._kernel.describe(state.drop_columns([EXPIRES]), names)

    def _told(self, lives: Runs, has: Flags, last: Longs, had: Longs, met: Met) -> Lives:
        """The one entry of each life, which is all that its key has. had: when that expires with which it begins."""

        def entries(those: Longs, expires_ms: Longs) -> Entries:
            kinds, twice = np.repeat([0, OF_KEY], len(those)), np.concatenate((those, those))
            return Entries(kinds, lives.starts[twice], twice * 0 - 1, expires_ms[twice])

        held, inherited = np.flatnonzero(has), np.flatnonzero(had != MIN_WATERMARK)
        return Lives(entries(held, last), entries(inherited, had), met, (self._ttl_ms,))

    def _ranks(self, records: Records, held: pa.RecordBatch) -> tuple[Longs, Longs, bool]:
        """The ranks of the records and of the kept rows, and whether a record of an equal one writes."""
        if isinstance(self._kernel, KeepsBest):
            return *self._kernel.ranks(records, held), self._kernel.ties_win
        return np.zeros(len(records), np.int64), np.zeros(held.num_rows, np.int64), True

    def _expires(self, now: Longs) -> Longs:
        """When what is written now expires; before the clock's first time it has no age."""
        expires: Longs = np.where(now == MIN_WATERMARK, MAX_WATERMARK, now + self._ttl_ms)
        return expires

    def _kept(
        self, chunk: Chunk, runs: Runs, lives: Runs, of_life: Longs, last: Longs, state: pa.RecordBatch
    ) -> pa.RecordBatch:
        """The state of each key's last life, and of keys without records as it was."""
        rows_of = state.column(GROUP).to_numpy()
        is_last = np.zeros(len(lives), np.bool_)
        is_last[lives.numbers[runs.ends - 1] if len(runs) else runs.ends] = True
        rows = np.flatnonzero(is_last[rows_of])
        own = [*taken(state.columns[1:], rows), pa.array(last[rows_of[rows]])]
        groups = of_life[rows_of[rows]]
        touched = np.zeros(chunk.groups, np.bool_)
        touched[of_life] = True
        others = np.flatnonzero(~touched[chunk.state.column(GROUP).to_numpy()])
        if not len(others):
            return state_batch(self.state_schema, groups, own)
        groups = np.concatenate((groups, chunk.state.column(GROUP).to_numpy()[others]))
        order = np.argsort(groups, kind="stable")
        stay = taken(chunk.state.columns[1:], others)
        columns = [pa.concat_arrays(both) for both in zip(own, stay, strict=True)]
        return state_batch(self.state_schema, groups[order], taken(columns, order))


@rule
def expiries(
    starts: Longs,
    ends: Longs,
    known: Longs,
    known_until: Longs,
    best: Longs,
    ranks: Longs,
    now: Longs,
    until: Longs,
    ties_win: int,
) -> tuple[Longs, Longs, Longs]:
    """Whether each record finds an expired entry, when the entry that it finds expires, and the one that it leaves.

    starts, ends: of each key's records. known: whether it has an entry, of this rank (best), which expires at
    known_until. now, until: the clock at each record, and when expires what it writes.
    """
    gone, before, after = list(range(0)), list(range(0)), list(range(0))
    for run in range(len(starts)):
        has, expires, top = known[run] > 0, known_until[run], best[run]
        for at in range(starts[run], ends[run]):
            # An entry without an age gets it from the first record that finds it under a clock.
            expires = min(expires, until[at])
            has_expired = has and expires <= now[at]
            gone.append(1 if has_expired else 0)
            before.append(expires)
            if has_expired or not has or ranks[at] > top or (ranks[at] == top and ties_win > 0):
                has, expires, top = True, until[at], ranks[at]
            after.append(expires)
    return np.array(gone, np.int64), np.array(before, np.int64), np.array(after, np.int64)


def expired_of(lives: Lives, records: Records) -> tuple[Longs, list[pa.Array]]:
    """What records have met that had expired: their ports, and columns of `expired_schema` from `seq` on."""
    assert records.now is not None, "what expires has a clock"
    places, kinds, entries, expired_ms = lives.met
    steps = records.steps.take(pa.array(places))
    if len(records.values) > 1:
        # The path of a record ends with its port here.
        steps = pc.binary_slice(steps, 0, -1)
    written_ms = expired_ms - np.array(lives.ttls_ms, np.int64)[kinds]
    numbers = kinds, entries, written_ms, expired_ms, records.now[places]
    return records.ports[places].astype(np.int64), [pa.array(records.seqs[places]), steps, *map(pa.array, numbers)]


def expiring_columns(columnar: Columnar, ttl_ms: int) -> Columnar:
    """The choice of a kernel whose state expires as a whole; the choice itself without a TTL."""
    make = columnar.make
    if not ttl_ms or make is None:
        return columnar
    return Columnar(partial(ExpiringColumns, make=make, ttl_ms=ttl_ms), columnar.why)
