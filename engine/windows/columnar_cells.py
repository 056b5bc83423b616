"""Cells: the rows of one key that count in the same windows, and the windows that cells are merged into.

    first   the end of the rows' first window; earlier windows were closed when the rows arrived
    last    the end of their last window; between the two, a window ends every slide

    TUMBLE     one window: first = last
    HOP        a row at 9 is in the windows 10, 12, .. 18; if 10 was closed when the row arrived, in 12, .. 18
    CUMULATE   last is the end of the longest window: a row in one window is in all that end later
    attached   one window, whose start is kept too

The state of a key between epochs is its cells, without the windows that have fired.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from engine.columnar.runs import Flags, Runs, in_order, running_least
from engine.contract.columnar_kernel import Longs
from engine.windows.columnar_parts import WindowParts


@dataclass(frozen=True)
class Cells:
    """Columns with one element per cell. starts: the start of the window, if its end does not determine it.

    origins: the first row, as an index into the positions of a chunk's state and records. parts: see `WindowParts`.
    """

    groups: Longs
    firsts: Longs
    lasts: Longs
    starts: Longs | None
    origins: Longs
    parts: tuple[Longs, ...]

    def __len__(self) -> int:
        return len(self.groups)

    def at(self, places: Longs | Flags | slice) -> Cells:
        """The cells at these places."""
        return Cells(
            self.groups[places],
            self.firsts[places],
            self.lasts[places],
            None if self.starts is None else self.starts[places],
            self.origins[places],
            tuple(part[places] for part in self.parts),
        )

    def below(self, other: Cells) -> Cells:
        """The other cells, then these."""
        if not len(other):
            return self
        starts = None
        if self.starts is not None and other.starts is not None:
            starts = np.concatenate((other.starts, self.starts))
        return Cells(
            np.concatenate((other.groups, self.groups)),
            np.concatenate((other.firsts, self.firsts)),
            np.concatenate((other.lasts, self.lasts)),
            starts,
            np.concatenate((other.origins, self.origins)),
            tuple(np.concatenate(both) for both in zip(other.parts, self.parts, strict=True)),
        )

    def merged(self, parts: WindowParts, slide_ms: int) -> Cells:
        """The cells of a group with the same windows merged into one, sorted by group, last and first."""
        if self.starts is not None:
            order, runs = in_order(self.groups, self.lasts, self.starts)
        else:
            order, runs = in_order(self.groups, self.lasts // slide_ms, (self.firsts - self.lasts) // slide_ms)
        return (self if order is None else self.at(order)).reduced(parts, runs)

    def reduced(self, parts: WindowParts, runs: Runs) -> Cells:
        """One cell per run of cells."""
        if len(runs) == len(self):
            return self
        first_cells = replace(self, parts=()).at(runs.starts)
        origins = np.minimum.reduceat(self.origins, runs.starts)
        return replace(first_cells, origins=origins, parts=parts.merged(self.parts, runs))

    def running(self, parts: WindowParts) -> Cells:
        """Each cell merged with the previous ones of the same last; cells are sorted by group, last and first."""
        _, runs = in_order(self.groups, self.lasts)
        if len(runs) == len(self):
            return self
        # A later cell of a group may have the earlier origin.
        origins = running_least(runs, self.origins)
        return replace(self, origins=origins, parts=parts.running(self.parts, runs))
