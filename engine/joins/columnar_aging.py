"""Joins on equal keys whose rows expire, on whole batches. `engine.joins.aging_pairs` tells the rule.

Input, output: those of `engine.operators.join`. State: the rows of both sides, each with its copies, its partners and
the time at which it expires.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from engine.columnar.binary_rows import sort_keys
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
from engine.joins.aging_pairs import Paired, paired
from engine.joins.columnar_lives import identities
from engine.joins.columnar_rows import NOBODY, NumberedRows, can_match, emitted, side_fields
from engine.joins.sides import JoinKind, JoinSide
from engine.model.timeline import MAX_WATERMARK, Timeline

_OWN: Final = (("count", pa.int64()), ("partners", pa.int64()), ("due", pa.int64()))


class AgingJoin:
    """All six kinds. ttls_ms: of both sides, 0 for none."""

    def __init__(
        self, kind: JoinKind, specs: tuple[JoinSide, JoinSide], ttls_ms: tuple[int, int], layout: Layout
    ) -> None:
        self.kind, self.specs, self.ttls_ms = kind, specs, ttls_ms
        sides = (*side_fields(layout, 0), *side_fields(layout, 1))
        self.state_schema = pa.schema([pa.field("port", pa.int8()), *sides, *_OWN, *arrow_fields(EXPIRES)])

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """Every record pairs with the rows of the other side that have not expired."""
        records, state, kind = chunk.records, chunk.state, self.kind
        assert records.now is not None, "a run with a state TTL has a clock"
        kept, rows = len(state), NumberedRows(chunk)
        groups = np.concatenate((state.column(GROUP).to_numpy(), records.groups))
        ports = np.concatenate((state.column("port").to_numpy(), records.ports)).astype(np.int64)
        same, order = self._numbered(rows, groups, ports, kept)
        counts, kept_partners, dues = (state.column(name).to_numpy() for name, _ in _OWN)
        keeps = np.array([kind.keeps_left, kind.keeps_right], np.int64)
        found = Paired(
            *paired(
                groups,
                ports,
                same,
                order,
                can_match(chunk).astype(np.int64),
                counts,
                kept_partners,
                dues,
                records.kinds.astype(np.int64),
                records.now,
                np.array(self.ttls_ms, np.int64),
                keeps,
                np.array([kind.keeps_left or kind.is_left_only, kind.keeps_right], np.int64),
                np.array([spec.unique_key is not None for spec in self.specs], np.int64),
                int(kind.is_left_only),
                int(kind is JoinKind.ANTI),
                int(kind is JoinKind.INNER),
            )
        )
        lefts, rights = (_of_rows(numbers, kept, len(records)) for numbers in (found.lefts, found.rights))
        columns = rows.take(0, lefts) if kind.is_left_only else (*rows.take(0, lefts), *rows.take(1, rights))
        ordinals = runs_of(found.causes).ordinals
        out = emitted(records, found.causes - kept, ordinals, (found.kinds.astype(np.int8),), columns)
        after = self._state(rows, found, groups, ports, kept, len(records))
        return Advanced(out, after, lives=self._lives(found, ports, state, kept, records))

    def _numbered(self, rows: NumberedRows, groups: Longs, ports: Longs, kept: int) -> tuple[Longs, Longs]:
        """Of each row, a number from 0 that is the same for what is one row of a side, and its place in the order."""
        same, order = np.zeros(len(groups), np.int64), np.zeros(len(groups), np.int64)
        before = 0
        for port, spec in enumerate(self.specs):
            own = np.flatnonzero(ports == port)
            wanted = range(len(spec.types)) if spec.unique_key is None else spec.unique_key
            columns = rows.take(port, _of_rows(own, kept, len(groups) - kept), wanted)
            values, numbers = np.unique(identities(groups[own], columns), return_inverse=True)
            same[own] = before + numbers
            before += len(values)
            keys = sort_keys(columns, [spec.types[at] for at in wanted])
            places = np.lexsort((np.arange(len(own)), *reversed(keys)))
            order[own[places]] = np.arange(len(own))
        return same, order

    def _state(
        self, rows: NumberedRows, found: Paired, groups: Longs, ports: Longs, kept: int, size: int
    ) -> pa.RecordBatch:
        """The rows that are left, of a key those of the left side first."""
        left = found.left
        sides: list[pa.Array] = []
        for port in (0, 1):
            numbers = np.where(ports[left] == port, _of_rows(found.current[left], kept, size), NOBODY)
            sides += rows.take(port, numbers)
        runs = Runs.of(groups[left])
        dues = found.dues[left]
        # The state of a key is freed as a whole, once the last of its rows has expired.
        last = runs.spread(np.maximum.reduceat(dues, runs.starts)) if len(left) else dues
        own = (found.counts[left], found.partners[left], dues, last)
        return state_batch(
            self.state_schema,
            groups[left],
            (pa.array(ports[left].astype(np.int8)), *sides, *map(pa.array, own)),
        )

    def _lives(self, found: Paired, ports: Longs, state: pa.RecordBatch, kept: int, records: Records) -> Lives:
        """The rows of both sides and the keys, and what records have met that had expired."""
        of_rows = (ports[found.lives], found.firsts[found.lives], found.ends[found.lives], found.dues[found.lives])
        keys = np.full(len(found.key_groups), OF_KEY)
        both = zip(of_rows, (keys, found.key_firsts, found.key_ends, found.key_dues), strict=True)
        kinds, firsts, ends, dues = (np.concatenate(each) for each in both)
        held = Entries(kinds, firsts - kept, np.where(ends < 0, -1, ends - kept), dues)
        of_rows_kept = state.column(GROUP).to_numpy()
        starts = Runs.of(of_rows_kept).starts
        of_keys = found.firsts[:kept] - kept
        first_time = np.full(kept, MAX_WATERMARK)
        if len(records):
            assert records.now is not None, "a run with a state TTL has a clock"
            first = np.minimum(of_keys, len(records) - 1)
            comes = (of_keys < len(records)) & (records.groups[first] == of_rows_kept)
            first_time[comes] = records.now[first[comes]]
        first_time = np.concatenate((first_time, first_time[starts]))
        kinds = np.concatenate((ports[:kept], np.full(len(starts), OF_KEY)))
        firsts = np.concatenate((of_keys, of_keys[starts]))
        dues = np.concatenate((state.column("due").to_numpy(), state.column(EXPIRES).to_numpy()[starts]))
        # What had expired by then went at its time, as an earlier chunk told.
        there = np.flatnonzero(dues > first_time)
        had = Entries(kinds[there], firsts[there], there * 0 - 1, dues[there])
        return Lives(held, had, self._met(found, kept), self.ttls_ms)

    def _met(self, found: Paired, kept: int) -> Met:
        """The expired entries by record and side, those that were written together as one."""
        order = np.lexsort((found.met_dues, found.met_sides, found.met_causes))
        causes, sides, dues = (each[order] for each in (found.met_causes, found.met_sides, found.met_dues))
        runs = runs_of(causes, sides, dues)
        return Met(causes[runs.starts] - kept, sides[runs.starts], runs.lengths, dues[runs.starts])


def _of_rows(numbers: Longs, kept: int, size: int) -> Longs:
    """The numbers of `NumberedRows`, where records come first, for those of the rule; -1 stays."""
    return np.where(numbers < 0, NOBODY, np.where(numbers < kept, numbers + size, numbers - kept))
