"""The join on equal keys where a side may have many rows per key, on whole batches.

Each row of a side exists from one record to another, so it pairs with one range of the other side's records. All pairs
of these ranges are sorted by record, and within a record by the rows' bytes in Flink's RocksDB.

Input, output: those of `engine.operators.join`. State: the rows of both sides by key, with all their copies.
Source: Flink StreamingJoinOperator, StreamingSemiAntiJoinOperator, JoinRecordStateViews.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from engine.columnar.binary_rows import hides_digits, sort_keys
from engine.columnar.runs import Flags, Runs
from engine.contract.columnar_kernel import Advanced, Chunk, Layout, Longs, state_batch
from engine.contract.frames import GROUP
from engine.joins.columnar_lives import Lives, identities, lives, lives_of_inserts
from engine.joins.columnar_rows import (
    NOBODY,
    NumberedRows,
    accumulating,
    can_match,
    emitted,
    pair_kinds,
    side_fields,
    turned,
)
from engine.joins.sides import JoinKind, JoinSide
from engine.model.timeline import Timeline


class Side(NamedTuple):
    """The rows of one side. rows: by number. since, until: the first place where each row is present, and the first
    where it is absent again.

    groups: the key of each. entries: those that are the same row, in order of arrival. stays: which are there in the
    end.
    """

    rows: Longs
    groups: Longs
    since: Longs
    until: Longs
    entries: Longs
    stays: Flags


class Pairs(NamedTuple):
    """Records and the rows that they pair with, in order. ordinals: from 0 for every record."""

    places: Longs
    rows: Longs
    ordinals: Longs


class ManyPartners:
    """The rows of both sides when a record arrives. is_void: it is ignored, as it retracts a row that does
    not exist.

    turns: it adds its side's first row, or removes the last one. met: the number of rows on the other side.
    """

    def __init__(self, chunk: Chunk, rows: NumberedRows, specs: tuple[JoinSide, JoinSide], kind: JoinKind) -> None:
        self.chunk, self.rows, self.specs, self.kind = chunk, rows, specs, kind
        records = chunk.records
        self.accumulates = accumulating(records)
        self.is_right = records.ports == 1
        self.is_void = np.zeros(len(records), np.bool_)
        sizes = np.bincount(records.groups, minlength=chunk.groups)
        self._ends = np.cumsum(sizes)
        self._starts = self._ends - sizes
        self._can_match = can_match(chunk)
        self.sides = self._side(0), self._side(1)
        left, right = (self._count(side) for side in self.sides)
        self.met = np.where(self.is_right, left, right)
        own = np.where(self.is_right, right, left)
        self.turns = ~self.is_void & (own == np.where(self.accumulates, 0, 1)) & (self.met > 0)

    def _side(self, port: int) -> Side:
        chunk, size = self.chunk, len(self.chunk.records)
        # The rows of the state come before all records of their key.
        kept = np.flatnonzero(chunk.state.column("port").to_numpy() == port)
        brought = np.flatnonzero((chunk.records.ports == port) & self._can_match[chunk.records.groups])
        numbers = np.concatenate((kept + size, brought))
        groups = np.concatenate((chunk.state.column(GROUP).to_numpy()[kept], chunk.records.groups[brought]))
        adds = np.concatenate((np.ones(len(kept), np.bool_), self.accumulates[brought]))
        side_lives = self._lives(port, numbers, groups, adds)
        if not self.kind.passes_unknown(port):
            self.is_void[numbers[side_lives.voids]] = True
        groups, rows = groups[side_lives.rows], numbers[side_lives.rows]
        stays = side_lives.ends == NOBODY
        since = np.where(rows < size, rows + 1, self._starts[groups])
        until = np.where(stays, self._ends[groups], numbers[side_lives.ends] + 1)
        return Side(rows, groups, since, until, side_lives.entries, stays)

    def _lives(self, port: int, numbers: Longs, groups: Longs, adds: Flags) -> Lives:
        unique_key, types = self.specs[port].unique_key, self.specs[port].types
        if unique_key is None and adds.all() and not hides_digits(types):
            return lives_of_inserts(len(numbers))
        wanted = range(len(types)) if unique_key is None else unique_key
        columns = self.rows.take(port, numbers, wanted)
        return lives(identities(groups, columns), adds, is_unique=unique_key is not None)

    def _count(self, side: Side) -> Longs:
        """The number of rows of a side when each record arrives."""
        size = len(self.chunk.records)
        changes = np.bincount(side.since, minlength=size + 1) - np.bincount(side.until, minlength=size + 1)
        return np.cumsum(changes)[:size]

    def pairs(self, port: int, is_wanted: Flags) -> Pairs:
        """The wanted records of a side with the rows of the other side that they pair with."""
        side = self.sides[1 - port]
        wanted = is_wanted & (self.is_right == bool(port))
        places = np.flatnonzero(wanted)
        before = np.concatenate((np.zeros(1, np.int64), np.cumsum(wanted)))
        firsts = before[side.since]
        counts = before[side.until] - firsts
        meets = np.flatnonzero(counts)
        rows, firsts, counts = side.rows[meets], firsts[meets], counts[meets]
        is_crowded = bool((self.met[places] > 1).any())
        if is_crowded:
            order = self._order(1 - port, rows, side.entries[meets])
            rows, firsts, counts = rows[order], firsts[order], counts[order]
        stretch = Runs(np.cumsum(counts) - counts, int(counts.sum()))
        met_by = stretch.spread(firsts) + stretch.ordinals
        row = stretch.numbers
        if is_crowded:
            # Sorting by one combined number is many times faster than a lexicographic sort.
            bits = np.int64(max(1, len(rows)).bit_length())
            whole = np.sort(met_by << bits | row)
            met_by, row = whole >> bits, whole & ((1 << bits) - 1)
            return Pairs(places[met_by], rows[row], Runs.of(met_by).ordinals)
        return Pairs(places[met_by], rows[row], np.zeros(len(row), np.int64))

    def _order(self, port: int, numbers: Longs, entries: Longs) -> Longs:
        """The order in which a record pairs with the rows of a key."""
        unique_key, types = self.specs[port].unique_key, self.specs[port].types
        wanted = range(len(types)) if unique_key is None else unique_key
        keys = sort_keys(self.rows.take(port, numbers, wanted), [types[at] for at in wanted])
        return np.lexsort((entries, *reversed(keys)))


class ManyJoin:
    """The base of both kernels: the state, and the pairs of rows."""

    def __init__(self, kind: JoinKind, specs: tuple[JoinSide, JoinSide], layout: Layout) -> None:
        self.kind = kind
        self.specs = specs
        fields = [pa.field("port", pa.int8()), *side_fields(layout, 0), *side_fields(layout, 1)]
        self._schema = pa.schema(fields)

    @property
    def state_schema(self) -> pa.Schema:
        """The side of a row, and the columns of both sides; those of the other one are NULL."""
        return self._schema

    def state(self, partners: ManyPartners) -> pa.RecordBatch:
        """The rows left after the last record, in order of arrival."""
        kept = []
        for side in partners.sides:
            stays = np.flatnonzero(side.stays)
            kept.append(stays[np.lexsort((side.entries[stays], side.groups[stays]))])
        groups = np.concatenate([side.groups[rows] for side, rows in zip(partners.sides, kept, strict=True)])
        ports = np.repeat(np.arange(2, dtype=np.int8), list(map(len, kept)))
        by_group = np.argsort(groups, kind="stable")
        columns: list[pa.Array] = [pa.array(ports[by_group])]
        for port, (side, rows) in enumerate(zip(partners.sides, kept, strict=True)):
            numbers = np.full(len(groups), NOBODY, np.int64)
            numbers[ports == port] = side.rows[rows]
            columns += partners.rows.take(port, numbers[by_group])
        return state_batch(self._schema, groups[by_group], columns)


class ManyPairingJoin(ManyJoin):
    """Inner, left, right and full join: pairs, and padding where a side is kept."""

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """Every record pairs with the rows of the other side; their padding is removed before it, or added after it."""
        records, partners = chunk.records, ManyPartners(chunk, NumberedRows(chunk), self.specs, self.kind)
        is_right, accumulates = partners.is_right, partners.accumulates
        keeps = np.where(is_right, self.kind.keeps_right, self.kind.keeps_left)
        pads_other = partners.turns & np.where(is_right, self.kind.keeps_left, self.kind.keeps_right)
        kinds = pair_kinds(self.kind, records.kinds, accumulates, keeps)
        alone = np.flatnonzero(~partners.is_void & keeps & (partners.met == 0))
        left, right = (partners.pairs(port, ~partners.is_void) for port in (0, 1))
        pairs = Pairs(*(np.concatenate(both) for both in zip(left, right, strict=True)))
        padded = np.flatnonzero(pads_other[pairs.places])
        ordinals = np.where(pads_other[pairs.places], 2 * pairs.ordinals, pairs.ordinals)
        padding = ordinals[padded] + ~accumulates[pairs.places[padded]]
        ordinals[padded] += accumulates[pairs.places[padded]]
        places = np.concatenate((alone, pairs.places, pairs.places[padded]))
        mine = np.concatenate((alone, pairs.places, np.full(len(padded), NOBODY)))
        theirs = np.concatenate((np.full(len(alone), NOBODY), pairs.rows, pairs.rows[padded]))
        lefts = np.where(is_right[places], theirs, mine)
        rights = np.where(is_right[places], mine, theirs)
        out = emitted(
            records,
            places,
            np.concatenate((np.zeros(len(alone), np.int64), ordinals, padding)),
            (kinds[alone], kinds[pairs.places], turned(accumulates[pairs.places[padded]])),
            (*partners.rows.take(0, lefts), *partners.rows.take(1, rights)),
        )
        return Advanced(out, self.state(partners))


class ManySemiAntiJoin(ManyJoin):
    """Semi and anti join: left rows that have a partner, or that have none."""

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """The partners of a left row decide; the first right row, or the end of the last, affects all left rows."""
        records, partners = chunk.records, ManyPartners(chunk, NumberedRows(chunk), self.specs, self.kind)
        is_anti = self.kind is JoinKind.ANTI
        own = np.flatnonzero(~partners.is_void & ~partners.is_right & ((partners.met > 0) != is_anti))
        pairs = partners.pairs(1, partners.turns)
        kinds = turned(partners.accumulates[pairs.places]) if is_anti else records.kinds[pairs.places]
        out = emitted(
            records,
            np.concatenate((own, pairs.places)),
            np.concatenate((np.zeros(len(own), np.int64), pairs.ordinals)),
            (records.kinds[own], kinds),
            partners.rows.take(0, np.concatenate((own, pairs.rows))),
        )
        return Advanced(out, self.state(partners))
