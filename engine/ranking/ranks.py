"""The rank range, and the effect of an insertion or a removal on the rows below it.

inserted at rank 2        removed from rank 2
1  a        1  a          1  a        1  a
2  b  -U    2  x  +U      2  x  -U    2  b  +U
3  c  -U    3  b  +U      3  b  -U    3  c  +U
            4  c  +I      4  c  -D
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.contract.state_in_words import Description, Names, state_table
from engine.model.row import Row
from engine.ranking.sort_keys import SortColumn


@dataclass(frozen=True)
class Ranks:
    """The emitted ranks, with or without their numbers.

    end: the last rank; None if the first row of a partition sets it, in its column end_place.
    """

    start: int
    end: int | None
    end_place: int | None = None
    with_rank: bool = False
    update_before: bool = True

    @property
    def is_numbered(self) -> bool:
        """Whether each shifted rank is a separate update.

        Without the number in the output, only the row that enters and the row that leaves matter; an offset
        requires the numbers nevertheless. With a range of a single rank, every row has the same number.
        """
        return (self.with_rank and self.start != self.end) or self.start > 1

    @property
    def is_top_1(self) -> bool:
        """Whether only the first rank is kept."""
        return self.start == 1 and self.end == 1


def rows_by_rank(
    start: int, end: int, order: Sequence[SortColumn], ranked: Iterable[tuple[int, Row]], names: Names
) -> Description:
    """The rows in order, each with its rank, whether that is emitted, and its sort key."""
    columns = names.columns()
    titles = ", ".join(f"{columns[item.place]}{' descending' if item.descending else ''}" for item in order)
    rows = [
        (
            rank,
            start <= rank <= end,
            ", ".join(str(names.inputs[0][item.place].show(row[item.place])) for item in order),
            *names.show(row),
        )
        for rank, row in ranked
    ]
    note = f"Ranks {start} to {end} are the output; the others are kept to move up."
    shown = ("rank", "in the output", f"sort key: {titles}" if titles else "sort key", *columns)
    return (state_table("Rows by rank", shown, rows, note),) if rows else ()
