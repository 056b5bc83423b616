"""Joins on equal keys, on whole batches. `engine.joins.pairs` tells the rule.

Input, output: those of `engine.operators.join`. State: the rows of both sides, each with its copies; if they expire,
also with its partners and the time at which it does.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from engine.columnar.binary_rows import sort_keys
from engine.columnar.columns import taken
from engine.columnar.runs import Runs, runs_of
from engine.contract.columnar_kernel import (
    OF_KEY,
    Advanced,
    Chunk,
    Entries,
    Layout,
    Lives,
    Longs,
    Met,
    Records,
    state_batch,
)
from engine.contract.frames import EXPIRES, GROUP, arrow_fields
from engine.joins.columnar_rows import NOBODY, NumberedRows, can_match, emitted, identities, side_fields
from engine.joins.pairs import Paired, paired
from engine.joins.sides import JoinKind, JoinSide
from engine.model.timeline import MAX_WATERMARK, Timeline

_AGING: Final = (("partners", pa.int64()), ("due", pa.int64()))


class PairingColumns:
    """All six kinds. ttls_ms: of both sides, 0 for none."""

    def __init__(
        self, kind: JoinKind, specs: tuple[JoinSide, JoinSide], ttls_ms: tuple[int, int], layout: Layout
    ) -> None:
        self.kind, self.specs, self.ttls_ms = kind, specs, ttls_ms
        self.expires = any(ttls_ms)
        sides = (*side_fields(layout, 0), *side_fields(layout, 1))
        aging = (*_AGING, *arrow_fields(EXPIRES)) if self.expires else ()
        self.state_schema = pa.schema([pa.field("port", pa.int8()), *sides, ("count", pa.int64()), *aging])

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """Every record pairs with the rows of the other side that are there."""
        records, state, kind = chunk.records, chunk.state, self.kind
        state_size, rows, nothing = len(state), NumberedRows(chunk), np.zeros(0, np.int64)
        groups = np.concatenate((state.column(GROUP).to_numpy(), records.groups))
        ports = np.concatenate((state.column("port").to_numpy(), records.ports)).astype(np.int64)
        same, order, numbers = self._numbered(rows, groups, ports, state_size)
        partners, dues = (state.column(name).to_numpy() if self.expires else nothing for name, _ in _AGING)
        ignores = [not self.expires and not kind.passes_unknown(port) for port in (0, 1)]
        pairs = Paired(
            *paired(
                groups,
                ports,
                same,
                order,
                can_match(chunk).astype(np.int64),
                state.column("count").to_numpy(),
                partners,
                dues,
                records.kinds.astype(np.int64),
                nothing if records.now is None else records.now,
                np.array(self.ttls_ms, np.int64),
                np.array([kind.keeps_left, kind.keeps_right], np.int64),
                np.array([kind.keeps_left or kind.is_left_only, kind.keeps_right], np.int64),
                np.array([spec.unique_key is not None for spec in self.specs], np.int64),
                np.array(ignores, np.int64),
                numbers,
                int(kind.is_left_only),
                int(kind is JoinKind.ANTI),
                int(kind is JoinKind.INNER),
            )
        )
        lefts, rights = (_of_rows(side_rows, state_size, len(records)) for side_rows in (pairs.lefts, pairs.rights))
        columns = rows.take(0, lefts) if kind.is_left_only else (*rows.take(0, lefts), *rows.take(1, rights))
        ordinals = runs_of(pairs.causes).ordinals
        out = emitted(records, pairs.causes - state_size, ordinals, pairs.kinds.astype(np.int8), columns)
        lives = self._lives(pairs, ports, order[:state_size], state, records) if self.expires else None
        return Advanced(out, self._state(rows, pairs, groups, ports, state_size, len(records)), lives=lives)

    def _numbered(self, rows: NumberedRows, groups: Longs, ports: Longs, kept: int) -> tuple[Longs, Longs, int]:
        """Of each row, a number that is the same for what is one row of a side, and its place in the order.

        And how many such numbers there are.
        """
        same, order = np.arange(len(groups)), np.arange(len(groups))
        numbers = len(groups)
        for port, spec in enumerate(self.specs):
            own = np.flatnonzero(ports == port)
            # A row that is the only one of its key is known, and needs no order.
            own = own[np.bincount(groups[own])[groups[own]] > 1] if len(own) else own
            if spec.unique_key == ():
                same[own] = numbers + groups[own]
                numbers += int(groups.max(initial=-1)) + 1
                continue
            wanted = range(len(spec.types)) if spec.unique_key is None else spec.unique_key
            columns = rows.take(port, _of_rows(own, kept, len(groups) - kept), wanted)
            values, codes = np.unique(identities(groups[own], columns), return_inverse=True)
            same[own] = numbers + codes
            numbers += len(values)
            if self.kind.is_left_only and port:
                continue
            # Only a record of the other side visits them in order.
            meets = np.zeros(int(groups.max(initial=0)) + 1, np.bool_)
            meets[groups[kept:][ports[kept:] != port]] = True
            met = np.flatnonzero(meets[groups[own]])
            if keys := sort_keys(taken(columns, met), [spec.types[at] for at in wanted]):
                order[own[met][np.lexsort(keys[::-1])]] = own[met]
        return same, order, numbers

    def _state(
        self, rows: NumberedRows, found: Paired, groups: Longs, ports: Longs, kept: int, size: int
    ) -> pa.RecordBatch:
        """The rows that are left, of a key those of the left side first."""
        left = found.current[found.left]
        sides: list[pa.Array] = []
        for port in (0, 1):
            sides += rows.take(port, np.where(ports[left] == port, _of_rows(left, kept, size), NOBODY))
        own = [found.counts[found.left]]
        if self.expires:
            runs, dues = Runs.of(groups[left]), found.dues[found.left]
            # The state of a key is freed as a whole, once the last of its rows has expired.
            last = runs.spread(np.maximum.reduceat(dues, runs.starts)) if len(left) else dues
            own += [found.partners[found.left], dues, last]
        columns = (pa.array(ports[left].astype(np.int8)), *sides, *map(pa.array, own))
        return state_batch(self.state_schema, groups[left], columns)

    def _lives(self, found: Paired, ports: Longs, places: Longs, state: pa.RecordBatch, records: Records) -> Lives:
        """The rows of both sides and the keys, and what records have met that had expired. places: of the state."""
        state_size, of_lives = len(places), ports[found.current[found.lives]]
        of_rows = (of_lives, found.firsts[found.lives], found.ends[found.lives], found.dues[found.lives])
        keys = np.full(len(found.key_groups), OF_KEY)
        both = zip(of_rows, (keys, found.key_firsts, found.key_ends, found.key_dues), strict=True)
        kinds, firsts, ends, dues = (np.concatenate(parts) for parts in both)
        held = Entries(kinds, firsts - state_size, np.where(ends < 0, -1, ends - state_size), dues)
        of_rows_kept = state.column(GROUP).to_numpy()
        starts = Runs.of(of_rows_kept).starts
        of_keys = found.firsts[places] - state_size
        first_time = np.full(state_size, MAX_WATERMARK)
        if len(records):
            assert records.now is not None, "a run with a state TTL has a clock"
            first = np.minimum(of_keys, len(records) - 1)
            comes = (of_keys < len(records)) & (records.groups[first] == of_rows_kept)
            first_time[comes] = records.now[first[comes]]
        first_time = np.concatenate((first_time, first_time[starts]))
        kinds = np.concatenate((ports[:state_size], np.full(len(starts), OF_KEY)))
        firsts = np.concatenate((of_keys, of_keys[starts]))
        dues = np.concatenate((state.column("due").to_numpy(), state.column(EXPIRES).to_numpy()[starts]))
        # What had expired by then went at its time, as an earlier chunk told.
        there = np.flatnonzero(dues > first_time)
        had = Entries(kinds[there], firsts[there], there * 0 - 1, dues[there])
        return Lives(held, had, self._met(found, state_size), self.ttls_ms)

    def _met(self, found: Paired, kept: int) -> Met:
        """The expired entries by record and side, those that were written together as one."""
        order = np.lexsort((found.met_dues, found.met_sides, found.met_causes))
        causes, sides, dues = (column[order] for column in (found.met_causes, found.met_sides, found.met_dues))
        runs = runs_of(causes, sides, dues)
        return Met(causes[runs.starts] - kept, sides[runs.starts], runs.lengths, dues[runs.starts])


def _of_rows(numbers: Longs, kept: int, size: int) -> Longs:
    """The numbers of `NumberedRows`, where records come first, for those of the rule; -1 stays."""
    return np.where(numbers < 0, NOBODY, np.where(numbers < kept, numbers + size, numbers - kept))
