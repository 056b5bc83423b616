"""The join on equal keys where either side has one row at most per key, on whole batches.

The output of a record depends on two things: the other side's row, and whether its own side has one already.
The previous record of each side determines both, or the state if there is none, so each record is visited once.

Input, output: those of `engine.operators.join`. State: per key the row of either side, while it exists.
Source: Flink StreamingJoinOperator, StreamingSemiAntiJoinOperator, JoinRecordStateViews.JoinKeyContainsUniqueKey.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from engine.columnar.columns import flags
from engine.columnar.runs import Flags, Runs, last_place, shifted
from engine.contract.columnar_kernel import Advanced, Chunk, Layout, Longs, state_batch
from engine.contract.frames import GROUP
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
from engine.joins.sides import PORTS, JoinKind
from engine.model.timeline import Timeline


class UniquePartners(NamedTuple):
    """The rows of both sides before each record of a chunk, by number: records by index, then the rows of the state.

    has_own: its own side has a row. partner: the other side's row. is_void: it is ignored, as it retracts a row that
    does not exist.
    left, right: by key, the row after the last record.
    """

    accumulates: Flags
    is_right: Flags
    has_own: Flags
    partner: Longs
    is_void: Flags
    left: Longs
    right: Longs


def unique_partners(chunk: Chunk, kind: JoinKind) -> UniquePartners:
    """Find the rows of both sides for all records of a chunk."""
    records = chunk.records
    runs = Runs.of(records.groups)
    keys = records.groups[runs.starts]
    # NULL equals nothing: such a row never matches and is not kept.
    can_meet = runs.spread(can_match(chunk)[keys])
    accumulates = accumulating(records)
    brought = np.where(accumulates & can_meet, np.arange(len(records)), NOBODY)
    before, after, in_the_end = [], [], []
    for port in (0, 1):
        row = _kept(chunk, port)
        at_first = row[keys]
        last = last_place(runs, records.ports == port)
        rows = np.where(last >= 0, brought[last], runs.spread(at_first))
        before.append(shifted(runs, rows, at_first))
        after.append(rows)
        row[keys] = rows[runs.ends - 1]
        in_the_end.append(row)
    is_right = records.ports == 1
    has_own = np.where(is_right, before[1], before[0]) != NOBODY
    # A record does not change the other side: its row is the same before and after the record.
    partner = np.where(is_right, after[0], after[1])
    is_void = ~accumulates & ~has_own & can_meet & ~np.where(is_right, *map(kind.passes_unknown, (1, 0)))
    return UniquePartners(accumulates, is_right, has_own, partner, is_void, *in_the_end)


def _kept(chunk: Chunk, port: int) -> Longs:
    """By key, the number of a side's row in the state."""
    row_numbers = np.full(chunk.groups, NOBODY, dtype=np.int64)
    there = np.flatnonzero(flags(chunk.state.column(f"{PORTS[port]}_is_there")))
    row_numbers[chunk.state.column(GROUP).to_numpy()[there]] = len(chunk.records) + there
    return row_numbers


class UniqueJoin:
    """The base of both kernels: the state, and the output of records."""

    def __init__(self, kind: JoinKind, layout: Layout) -> None:
        self.kind = kind
        fields = []
        for port, side in enumerate(PORTS):
            fields.append(pa.field(f"{side}_is_there", pa.bool_()))
            fields += side_fields(layout, port)
        self._schema = pa.schema(fields)

    @property
    def state_schema(self) -> pa.Schema:
        """Of each side whether its row is there, and the row."""
        return self._schema

    def state(self, partners: UniquePartners, rows: NumberedRows) -> pa.RecordBatch:
        """The rows after the last record."""
        groups = np.flatnonzero((partners.left != NOBODY) | (partners.right != NOBODY))
        columns: list[pa.Array] = []
        for port, in_the_end in enumerate((partners.left[groups], partners.right[groups])):
            columns += [pa.array(in_the_end != NOBODY), *rows.take(port, in_the_end)]
        return state_batch(self._schema, groups, columns)


class UniquePairingJoin(UniqueJoin):
    """Inner, left, right and full join: pairs, and padding where a side is kept."""

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """Every record pairs with the row of the other side, whose padding is removed before it or added after it."""
        records, partners, rows = chunk.records, unique_partners(chunk, self.kind), NumberedRows(chunk)
        accumulates, is_right = partners.accumulates, partners.is_right
        keeps = np.where(is_right, self.kind.keeps_right, self.kind.keeps_left)
        keeps_other = np.where(is_right, self.kind.keeps_left, self.kind.keeps_right)
        is_met = partners.partner != NOBODY
        goes_out = ~partners.is_void & (is_met | keeps)
        pads_other = ~partners.is_void & is_met & keeps_other & ~(accumulates & partners.has_own)
        kinds = pair_kinds(self.kind, records.kinds, accumulates, keeps)
        own, other = np.flatnonzero(goes_out), np.flatnonzero(pads_other)
        # An added row follows the removal of its partner's padded row; a retracted row precedes its return.
        ordinals = np.concatenate(((pads_other & accumulates)[own], ~accumulates[other])).astype(np.int8)
        places = np.concatenate((own, other))
        mine = np.concatenate((own, np.full(len(other), NOBODY)))
        lefts = np.where(is_right[places], partners.partner[places], mine)
        rights = np.where(is_right[places], mine, partners.partner[places])
        out = emitted(
            records,
            places,
            ordinals,
            (kinds[own], turned(accumulates[other])),
            (*rows.take(0, lefts), *rows.take(1, rights)),
        )
        return Advanced(out, self.state(partners, rows))


class UniqueSemiAntiJoin(UniqueJoin):
    """Semi and anti join: left rows that have a partner, or that have none."""

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """The partner of a left row decides; adding or removing a right row affects the left row."""
        records, partners, rows = chunk.records, unique_partners(chunk, self.kind), NumberedRows(chunk)
        is_anti = self.kind is JoinKind.ANTI
        is_met = partners.partner != NOBODY
        turns = is_met & ~(partners.accumulates & partners.has_own)
        places = np.flatnonzero(~partners.is_void & np.where(partners.is_right, turns, is_met != is_anti))
        is_right = partners.is_right[places]
        kinds = records.kinds[places]
        if is_anti:
            kinds = np.where(is_right, turned(partners.accumulates[places]), kinds)
        row = np.where(is_right, partners.partner[places], places)
        out = emitted(records, places, 0, (kinds,), rows.take(0, row))
        return Advanced(out, self.state(partners, rows))
