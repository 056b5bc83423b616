"""The stage before an upsert sink that corrects changes arriving out of order for one key of the sink.

Several rows of the input can share the sink's key, and an update can move a row from key to key, so the -U
of the old row and the +U of the new one arrive separately. The stage keeps all current rows of a key in
order of arrival; the last one is the key's result.

Input: any changelog with -U. Output: [I,UA,D] per sink key. An added row is emitted. Removing a row that is
not the last emits nothing, removing the last emits the one before it as +U, or -D if none is left.
State: per sink key the current rows; two rows are the same if they agree in the input's upsert key, or in
the whole row if there is no key. With a state TTL they expire together.
Source: Flink SinkUpsertMaterializer.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.contract.kernel import Kernel, Key, Output
from engine.contract.state_in_words import Description, Names, state_table
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER
from engine.model.row import Row


class UpsertMaterializeKernel(Kernel):
    """The last of a key's rows is its result. upsert_key: the input's, as indexes into the row; () for all of it."""

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
            # A newer version of the same row keeps its place in the order.
            self.rows[place] = row
        out.emit(INSERT if first else UPDATE_AFTER, row)

    def _remove(self, row: Row, out: Output) -> None:
        place = self._place(row)
        if place is None:
            self.writes = False
            return
        was_last = place == len(self.rows) - 1
        del self.rows[place]
        if not self.rows:
            out.emit(DELETE, row)
        elif was_last:
            out.emit(UPDATE_AFTER, self.rows[-1])

    def _place(self, row: Row) -> int | None:
        wanted = self._identity(row)
        return next((at for at, kept_row in enumerate(self.rows) if self._identity(kept_row) == wanted), None)

    def _identity(self, row: Row) -> Row:
        return tuple(row[at] for at in self.upsert_key) if self.upsert_key else row
