"""The rule of changelog normalisation: the completion of upserts with the rows that they replace.

After each record the key has either that record's row or none, so the previous record determines the replaced row.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from engine.columnar import paths
from engine.columnar.columns import flags, joined, row_of_groups, rows_of, same_rows, taken
from engine.columnar.runs import Runs, shifted
from engine.contract.columnar_kernel import Advanced, Chunk, Emitted, Kinds, Layout, Longs, Records, state_batch
from engine.contract.state_in_words import Description, Names, kept_row
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from engine.model.timeline import Timeline

_NOTHING = -1


class ChangelogNormalizeColumns:
    """Replaces the rows of keys, or deletes them. Values: the output's columns, then whether the condition holds.

    State: the last row.
    """

    ties_win = True

    def __init__(self, layout: Layout, *, update_before: bool, repeat: bool) -> None:
        self._update_before = update_before
        self._repeat = repeat
        self.state_schema = pa.schema([(f"v{at}", type_) for at, type_ in enumerate(layout.values[0][:-1])])

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """Compare every record with the previous one of its key; -U carries no new information."""
        records, state = chunk.records, chunk.state
        *values, is_wanted = records.values[0]
        # A row has a number: that of a record is its place, those of the state stand behind.
        rows = joined(values, state.columns[1:]) if len(state) else tuple(values)
        row_of_group = row_of_groups(state, chunk.groups)
        row_of_group[row_of_group >= 0] += len(records)

        places = np.flatnonzero(records.kinds != UPDATE_BEFORE)
        runs = Runs.of(records.groups[places])
        keys = records.groups[places][runs.starts]
        puts = (records.kinds[places] != DELETE) & flags(is_wanted)[places]
        left = np.where(puts, places, _NOTHING)
        before = shifted(runs, left, row_of_group[keys])
        row_of_group[keys] = left[runs.ends - 1]

        updates = puts & (before != _NOTHING)
        if not self._repeat:
            updated = np.flatnonzero(updates)
            old, new = taken(rows, before[updated]), taken(rows, places[updated])
            updates[updated] = ~same_rows(old, new, len(updated))
        comes = np.flatnonzero(updates | (puts & (before == _NOTHING)))
        goes = np.flatnonzero((~puts & (before != _NOTHING)) | (updates & self._update_before))
        is_update = updates[comes]
        out = np.concatenate((places[comes], places[goes]))
        kinds: Kinds = np.concatenate(
            (np.where(is_update, UPDATE_AFTER, INSERT), np.where(puts[goes], UPDATE_BEFORE, DELETE))
        ).astype(np.int8)
        # The row that an update takes back goes out ahead of it.
        ordinals = np.concatenate((is_update & self._update_before, np.zeros(len(goes), np.bool_))).astype(np.int8)
        emitted = Emitted(
            records.seqs[out],
            paths.extended(paths.taken(records.steps, out), ordinals),
            kinds,
            taken(rows, np.concatenate((places[comes], before[goes]))),
        )
        held_groups = np.flatnonzero(row_of_group != _NOTHING)
        return Advanced(emitted, state_batch(self.state_schema, held_groups, taken(rows, row_of_group[held_groups])))

    def describe(self, state: pa.RecordBatch, names: Names) -> Description:
        """The last row."""
        return tuple(table for row in rows_of(state) for table in kept_row("Row of this key", names, row))

    def ranks(self, records: Records, state: pa.RecordBatch) -> tuple[Longs, Longs]:
        """All are equal but -U, which writes nothing."""
        return np.where(records.kinds == UPDATE_BEFORE, np.int64(-1), np.int64(0)), np.zeros(len(state), np.int64)
