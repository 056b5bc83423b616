"""Top N of an insert-only input on whole batches.

Its specification: `engine.operators.topn`, AppendOnlyTopN and FastTop1 over insert-only rows. Each row that enters the
best rows determines the output; columns are gathered once at the end, by row index.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa

from engine.columnar import columns as columns_of
from engine.columnar import paths
from engine.columnar.runs import Runs
from engine.contract.columnar_kernel import Advanced, Chunk, Columnar, Emitted, Kinds, Layout, Longs, state_batch
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, ChangelogMode
from engine.ranking.columnar_best_rows import BestRows, Entered
from engine.ranking.columnar_order_keys import order_keys
from engine.ranking.sort_keys import SortColumn

if TYPE_CHECKING:
    from engine.ranking.ranks import Ranks

# The maximum number of ranks of all groups held at once: 128 MB.
_ROOM: Final = 1 << 23


# Each change of the best rows is processed as a whole, whichever part of it is emitted.
_MOST_RANKS: Final = 100


def columnar_topn(ranks: Ranks, order: Sequence[SortColumn], mode: ChangelogMode) -> Columnar:
    """The planner's choice of kernel for AppendFast and UpdateFast. mode: the input's."""
    if not mode.is_insert_only:
        reason = "rows of its input are replaced by better ones"
    elif ranks.end is None:
        reason = "each partition has its own last rank"
    elif ranks.end > _MOST_RANKS:
        reason = f"it keeps more than {_MOST_RANKS} rows of a partition"
    else:
        rows = "row" if ranks.end == 1 else f"{ranks.end} rows"
        return Columnar(partial(TopNColumns, ranks, tuple(order)), f"columnar: the best {rows} of an insert-only input")
    return Columnar(None, f"record by record: {reason}")


class _Changes(NamedTuple):
    """Output records: the record that caused each, the ordinal below it, the kind, the emitted row and its rank."""

    causes: Longs
    ordinals: Longs
    kinds: Kinds
    rows: Longs
    ranks: Longs


class TopNColumns:
    """The kernel. State: the best rows of a group, each with its rank."""

    def __init__(self, ranks: Ranks, order: Sequence[SortColumn], layout: Layout) -> None:
        assert ranks.end is not None
        self._layout = layout
        self._ranks = ranks
        self._end = ranks.end
        self._order = tuple(order)
        # With a single rank, each replacement is an update, as if the rank were numbered.
        self._is_numbered = ranks.is_numbered or ranks.is_top_1

    @property
    def state_schema(self) -> pa.Schema:
        """The columns of the rows, and the rank."""
        (values,) = self._layout.values
        fields = [pa.field(f"value_{at}", type_) for at, type_ in enumerate(values)]
        return pa.schema([*fields, pa.field("rank", pa.int64(), nullable=False)])

    def advance(self, chunk: Chunk, timeline: object) -> Advanced:
        """Insert the records into the kept rows."""
        records, state = chunk.records, chunk.state
        (values,) = records.values
        kept = state.num_rows
        rows = columns_of.joined(state.columns[1:-1], values) if kept else values
        keys = order_keys([rows[item.place] for item in self._order], self._order, kept + len(records))
        held, ranks = state.column(0).to_numpy(), state.column(state.num_columns - 1).to_numpy()
        changes: list[_Changes] = []
        groups_left, rows_left = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for low in range(0, chunk.groups, max(1, _ROOM // self._end)):
            high = min(chunk.groups, low + max(1, _ROOM // self._end))
            best = BestRows(self._end, high - low)
            known = slice(*np.searchsorted(held, [low, high]))
            places = np.arange(known.start, known.stop)
            best.keys[ranks[known] - 1, held[known] - low] = keys[places]
            best.rows[ranks[known] - 1, held[known] - low] = places
            start, end = np.searchsorted(records.groups, [low, high]).tolist()
            new = np.arange(kept + start, kept + end)
            for entered in best.take(records.groups[start:end] - low, keys[new], new):
                changes.append(self._numbered(entered) if self._is_numbered else self._unnumbered(entered))
            group, rank = np.nonzero(best.rows.T >= 0)
            groups_left.append(group + low)
            rows_left.append(best.rows[rank, group])
        return Advanced(
            self._emitted(changes, chunk, rows, kept),
            self._state(np.concatenate(groups_left), np.concatenate(rows_left), rows),
        )

    def _unnumbered(self, entered: Entered) -> _Changes:
        """-D for the row that falls out, +I for the one that enters."""
        fallen = entered.after[-1]
        full = fallen >= 0
        gone, came = int(full.sum()), len(fallen)
        return _Changes(
            np.concatenate((entered.rows[full], entered.rows)),
            np.concatenate((np.zeros(gone, np.int64), full)),
            np.repeat(np.array([DELETE, INSERT], np.int8), [gone, came]),
            np.concatenate((fallen[full], entered.rows)),
            np.zeros(gone + came, np.int64),
        )

    def _numbered(self, entered: Entered) -> _Changes:
        """-U/+U for each rank whose row changes, +I for a new last one."""
        first = np.maximum(entered.places, self._ranks.start - 1)
        changed = (np.arange(self._end)[:, np.newaxis] >= first) & (entered.after[:-1] >= 0)
        place, column = np.nonzero(changed)
        now, before = entered.after[place, column], entered.after[place + 1, column]
        replaced = before >= 0
        causes, ranks = entered.rows[column], place + 1
        below = place - first[column]
        after = _Changes(
            causes,
            2 * below + replaced if self._ranks.update_before else below,
            np.where(replaced, np.int8(UPDATE_AFTER), np.int8(INSERT)),
            now,
            ranks,
        )
        if not self._ranks.update_before:
            return after
        old = _Changes(
            causes[replaced],
            2 * below[replaced],
            np.full(int(replaced.sum()), UPDATE_BEFORE, np.int8),
            before[replaced],
            ranks[replaced],
        )
        return _joined([old, after])

    def _emitted(self, changes: Sequence[_Changes], chunk: Chunk, rows: Sequence[pa.Array], kept: int) -> Emitted:
        all_ = _joined(changes)
        causes = all_.causes - kept
        columns = columns_of.taken(rows, all_.rows)
        if self._ranks.with_rank:
            columns = (*columns, pa.array(all_.ranks))
        steps = paths.extended(paths.taken(chunk.records.steps, causes), all_.ordinals)
        return Emitted(chunk.records.seqs[causes], steps, all_.kinds, columns)

    def _state(self, groups: Longs, places: Longs, rows: Sequence[pa.Array]) -> pa.RecordBatch:
        ranks = Runs.of(groups).ordinals + 1
        return state_batch(self.state_schema, groups, [*columns_of.taken(rows, places), pa.array(ranks)])


def _joined(changes: Sequence[_Changes]) -> _Changes:
    if not changes:
        none = np.zeros(0, np.int64)
        return _Changes(none, none, np.zeros(0, np.int8), none, none)
    if len(changes) == 1:
        return changes[0]
    return _Changes(*(np.concatenate(same) for same in zip(*changes, strict=True)))
