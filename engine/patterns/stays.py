"""How long the entries of MATCH_RECOGNIZE are there: rows that wait, matches that are not over, and their rows."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from engine.contract.columnar_kernel import BEFORE, STAYS, Chunk, Longs, Stays
from engine.contract.frames import GROUP

HOLDS: Final = ("waiting rows", "rows of matches", "matches")
_KINDS: Final = np.array([1, -1, 2, 2, -1, 0])
"""Which of these a row of the state is, by role; below 0 for none."""


def kinds_of(state: pa.RecordBatch) -> Longs:
    """Which each row of a state is. The match without rows is none."""
    kinds: Longs = _KINDS[state.column("role").to_numpy()]
    is_empty = (kinds == 2) & (state.column("three").to_numpy() < 0)
    return np.where(is_empty, -1, kinds)


def stays_of(
    chunk: Chunk,
    seqs: Longs,
    fire_seqs: Longs,
    taken: tuple[Longs, Longs],
    waiting: Longs,
    spans: Longs,
    sample: pa.RecordBatch,
) -> Stays:
    """The entries of a chunk. seqs: the events of its rows. fire_seqs: of the firings.

    taken: the rows that were processed and the firing of each. waiting: those that are still to be. spans: the columns
    of `engine.patterns.in_time.SPAN`.
    """
    groups = np.concatenate((chunk.state.column(GROUP).to_numpy(), chunk.records.groups))
    # -1 finds the last one.
    begins, ends = np.append(fire_seqs, BEFORE), np.append(fire_seqs, STAYS)
    is_new = taken[1] >= 0
    rows = np.concatenate((taken[0][is_new], waiting))
    until = np.concatenate((taken[1][is_new], np.full(len(waiting), -1)))
    of_spans, roles, firsts, lasts = spans
    return Stays(
        np.concatenate((groups[rows], of_spans)),
        np.concatenate((np.zeros(len(rows), np.int64), _KINDS[roles])),
        np.concatenate((np.where(rows < len(chunk.state), BEFORE, seqs[rows]), begins[firsts])),
        ends[np.concatenate((until, lasts))],
        sample,
    )
