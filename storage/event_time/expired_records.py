"""The records that met expired state: what had expired of their key, when it was last written, and when it went."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Final

from storage.database.connection import Row
from storage.database.edge_records import values_at
from storage.database.run_tables import EXPIRED
from storage.library.of_all_runs import OfAllRuns
from storage.library.stored_run import StoredRun
from storage.model import Paged, Values
from storage.wanted import SortOrder

EXPIRED_ORDERS: Final = {"event": "seq", "entries": "entries", "written": "written_ms", "gone": "now_ms - expired_ms"}
"""The sort orders, each with its column."""


@dataclass(frozen=True)
class ExpiredRecord:
    """A record that came after entries of its key had expired at an operator. columns, values: of the record.

    kinds: what they were. written_ms, expired_ms: when the oldest of them was last written, and when it went. now_ms:
    the recorded clock at the record.
    """

    node: str
    port: str
    seq: int
    step: bytes
    kinds: str
    entries: int
    written_ms: int
    expired_ms: int
    now_ms: int
    columns: tuple[str, ...] = ()
    values: Values = ()


class ExpiredRecords(OfAllRuns):
    """The records of all runs that met expired state. Raises UnknownRun."""

    def page(
        self,
        run_id: int,
        *,
        node: str | None = None,
        seq: int | None = None,
        order: SortOrder | None = None,
        offset: int = 0,
        limit: int = 100,
    ) -> Paged[ExpiredRecord]:
        """A line for each record and operator, in order of events unless `order` is set. seq: only of this event."""
        run = self._runs.stored(run_id)
        if not run.is_begun or not self._database.has_table(run.tables.schema, EXPIRED):
            return Paged((), 0, offset)
        wanted = {"node": node, "seq": seq}
        where = " AND ".join([f"{name} = ${name}" for name, value in wanted.items() if value is not None] or ["true"])
        values = {name: value for name, value in wanted.items() if value is not None}
        rows_of = f"FROM {run.tables.expired} WHERE {where}"
        total = self._database.count(rows_of, values)
        sort = order.sql(EXPIRED_ORDERS) if order else ""
        rows = self._database.rows(f"SELECT * {rows_of} {sort} LIMIT {int(limit)} OFFSET {int(offset)}", values)
        return Paged(self._with_values(run, rows), total, offset)

    def _with_values(self, run: StoredRun, rows: list[Row]) -> tuple[ExpiredRecord, ...]:
        """The records with their values. One query per edge."""
        places: dict[tuple[str, str], list[tuple[int, bytes]]] = defaultdict(list)
        for node, port, seq, step, *_ in rows:
            places[node, port].append((seq, step))
        input_values: dict[tuple[str, str, int, bytes], tuple[tuple[str, ...], Values]] = {}
        for (node, port), positions in places.items():
            for own, edge in run.input_edges(node):
                if own == port:
                    contents = values_at(self._database, edge, positions)
                    input_values |= {(node, port, *at): (edge.names, values) for at, values in contents.items()}
        records = (ExpiredRecord(*row) for row in rows)
        none: tuple[tuple[str, ...], Values] = ((), ())
        return tuple(
            replace(record, columns=columns, values=values)
            for record in records
            for columns, values in [input_values.get((record.node, record.port, record.seq, record.step), none)]
        )
