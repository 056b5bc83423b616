"""The kernel of sessions whose rows are emitted unchanged once the session has ended.

Rows: the event time in ms, then the row's columns.
Source: Flink UnalignedWindowTableFunctionOperator.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from engine.columnar.columns import taken
from engine.contract.columnar_kernel import Advanced, Chunk
from engine.contract.state_in_words import Description, Names, instant, state_table
from engine.model.timeline import Timeline
from engine.windows.columnar_rows import WaitingRows, WindowRowsColumns


class SessionRowsKernel(WindowRowsColumns):
    """Emits the rows of a session when it ends, in order of arrival. State: the rows of open sessions."""

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """Sort the rows into their sessions; emit those of the sessions that end."""
        rows = WaitingRows(self.ends, chunk, timeline)
        entries, sessions, origins = rows.by_window(np.arange(len(rows.ports)))
        origins = sessions.spread(origins)
        leaving = np.flatnonzero(entries.fires)
        out = entries.at(leaving)
        columns = [*taken(rows.columns[0], out.rows), *self.bounds(out.starts, out.ends)]
        ordinals = sessions.ordinals[leaving]
        emitted = rows.emitted(self.layout.rank, out.ends, origins[leaving], ordinals, columns, out.rows)
        # In order of arrival, whatever their session: sessions may merge.
        staying = np.flatnonzero(~entries.fires)
        staying = staying[np.lexsort((entries.rows[staying], entries.groups[staying]))]
        state = rows.state(self.state_schema, entries.at(staying), origins[staying])
        stays = rows.stays(self.state_schema, entries)
        return Advanced(emitted, state, rows.lates, rows.fired(entries, sessions), stays=stays)

    def describe(self, state: pa.RecordBatch, names: Names) -> Description:
        """The rows of open sessions."""
        rows = [(instant(start), instant(end), *names.show(row, skip=1)) for start, end, row in self.waiting(state)]
        columns = ("session start", "session end", *names.columns(skip=1))
        return (state_table("Rows of open sessions", columns, rows),) if rows else ()
