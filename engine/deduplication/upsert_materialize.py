"""The stage before an upsert sink that puts right what arrives out of order for one key of the sink.

Several rows of the input can share the sink's key, and an update moves a row from key to key, so the -U
of the old row and the +U of the new one are delivered apart from each other. The stage keeps all rows of a
key that are there, in order of arrival, and lets the last one stand.

Input: any changelog with -U. Output: [I,UA,D] per sink key: the last row that is there; nothing where a row
goes that was not the last; the one before it, as +U, where the last goes; -D of the last where none is left.
State: per sink key the rows that are there; two rows are the same where the input's upsert key is, or else
the whole row.
Source: Flink SinkUpsertMaterializer.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.contract.described import Description, Names, state_table
from engine.contract.kernel import Kernel, Key, Output, Row
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER


class UpsertMaterializeKernel(Kernel):
    """Let the last of a key's rows stand. upsert_key: the input's, as places in the row; () for all of it."""

    def __init__(self, upsert_key: Sequence[int]) -> None:
        self.upsert_key = tuple(upsert_key)
        self.rows: list[Row] = []

    def start(self, key: Key, state: list[Row] | None) -> None:
        """Begin with the rows that are there."""
        self.rows = state or []

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Add a row, or take one out."""
        if kind in (INSERT, UPDATE_AFTER):
            self._add(row, out)
        else:
            self._remove(row, out)

    def finish(self) -> list[Row] | None:
        """The rows that are there."""
        return self.rows or None

    def describe(self, names: Names) -> Description:
        """The rows that are there, in order of arrival."""
        note = "The last of them is the row in the sink."
        return (
            (state_table("Rows of this key", names.columns(), map(names.show, self.rows), note),) if self.rows else ()
        )

    def _add(self, row: Row, out: Output) -> None:
        first = not self.rows
        place = self._place(row) if self.upsert_key else None
        if place is None:
            self.rows.append(row)
        else:
            # The same row in a newer state: it keeps its place, and its turn to stand again.
            self.rows[place] = row
        out.emit(INSERT if first else UPDATE_AFTER, row)

    def _remove(self, row: Row, out: Output) -> None:
        place = self._place(row)
        if place is None:
            return
        was_last = place == len(self.rows) - 1
        del self.rows[place]
        if not self.rows:
            out.emit(DELETE, row)
        elif was_last:
            out.emit(UPDATE_AFTER, self.rows[-1])

    def _place(self, row: Row) -> int | None:
        wanted = self._identity(row)
        return next((at for at, kept in enumerate(self.rows) if self._identity(kept) == wanted), None)

    def _identity(self, row: Row) -> Row:
        return tuple(row[at] for at in self.upsert_key) if self.upsert_key else row
