"""The rank range, and the effect of an insertion or a removal on the rows below it.

inserted at rank 2        removed from rank 2
1  a        1  a          1  a        1  a
2  b  -U    2  x  +U      2  x  -U    2  b  +U
3  c  -U    3  b  +U      3  b  -U    3  c  +U
            4  c  +I      4  c  -D
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from engine.contract.expiry import Ages
from engine.contract.kernel import Entries, Kernel, Output
from engine.contract.state_in_words import Description, Names, state_table
from engine.model.changelog import INSERT, UPDATE_AFTER, UPDATE_BEFORE
from engine.model.row import Row, identity
from engine.model.timeline import MAX_WATERMARK
from engine.ranking.sort_keys import SortColumn, sort_key_of

_END: Final = "rank end"


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


class TopNKernel(Kernel):
    """The base of the strategies: the range, the order, and the emission of ranks.

    ttl_ms: of its entries; 0 if nothing expires. A rank end that comes from a column is an entry of its own, which no
    later row refreshes. State: rows in order, the rank end, and with a TTL when each entry was written.
    """

    def __init__(self, ranks: Ranks, order: Sequence[SortColumn], ttl_ms: int = 0) -> None:
        self.ranks = ranks
        self.ttl_ms = ttl_ms
        self.ages: Ages | None = None
        self.order = tuple(order)
        self.sort_key = sort_key_of(order)
        self.is_numbered = ranks.is_numbered
        self.end = 0

    def rows_of(self, state: Any | None) -> Any:
        """Begin a partition with its state. Returns its rows, as `state_of` was given them; [] for a new one."""
        rows, end, *written = state or ([], None)
        self.end = self.ranks.end if self.ranks.end is not None else -1 if end is None else end
        self.ages = Ages(self.ttl_ms, written[0] if written else {}) if self.ttl_ms else None
        return rows

    def read_end(self, row: Row) -> None:
        """Set a rank end that comes from a column by the first row of a partition; later rows do not change it."""
        if self.end < 0 and self.ranks.end_place is not None:
            self.end = max(row[self.ranks.end_place] or 0, 0)
            self.wrote(_END)

    def state_of(self, rows: Any) -> Any | None:
        """The state: the rows, the rank end if it comes from a column, and the ages of the entries."""
        end = self.end if self.ranks.end is None and self.end >= 0 else None
        if not rows and end is None:
            return None
        return (rows, end) if self.ages is None else (rows, end, self.ages.written)

    def forget_expired(self, out: Output) -> None:
        """Forget the entries that have expired."""
        if self.ages is not None:
            self.now_ms = out.now_ms
            for entry in self.ages.forgotten(out):
                if entry == _END:
                    self.end = -1
                else:
                    self.forget(entry)

    def forget(self, entry: Any) -> None:
        """An entry has expired: remove it."""
        raise AssertionError(entry)

    def wrote(self, entry: Any) -> None:
        """An entry was written."""
        if self.ages is not None:
            self.ages.wrote(entry, self.now_ms)

    def removed(self, entry: Any) -> None:
        """An entry was removed."""
        if self.ages is not None:
            self.ages.forget(entry)

    def entries(self) -> Entries:
        """The entries one by one where they expire, else the rows of a partition as one."""
        return super().entries() if self.ages is None else tuple(self.ages.each(0))

    @property
    def expires_ms(self) -> int:
        """When the last entry expires."""
        return MAX_WATERMARK if self.ages is None else self.ages.last_ms

    def sort_entry(self, row: Row) -> Any:
        """The entry of the rows that share a row's sort key: plain values, for the state."""
        return identity(tuple([row[item.place] for item in self.order]))

    @abstractmethod
    def ranked(self) -> Iterable[tuple[int, Row]]:
        """The kept rows in order, each with its rank."""

    def describe(self, names: Names) -> Description:
        """The rows in order."""
        return rows_by_rank(self.ranks.start, self.end, self.order, self.ranked(), names)

    def put(self, kind: int, row: Row, rank: int, out: Output) -> None:
        """Emit a row at a rank, if that is within the range."""
        if self.ranks.start <= rank <= self.end:
            out.emit(kind, (*row, rank) if self.ranks.with_rank else row)

    def replace(self, old: Row, new: Row, rank: int, out: Output) -> None:
        """Emit the replacement of a rank's row."""
        if self.ranks.update_before:
            self.put(UPDATE_BEFORE, old, rank, out)
        self.put(UPDATE_AFTER, new, rank, out)

    def shift_down(self, rank: int, rows: Sequence[Row], out: Output) -> None:
        """A row was inserted at or above `rank`. rows: those now at `rank` and below, to one past the end."""
        for place, row in enumerate(rows[: self.end - rank + 1]):
            if place + 1 < len(rows):
                self.replace(rows[place + 1], row, rank + place, out)
            else:
                self.put(INSERT, row, rank + place, out)


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
