"""What a task of a keyed step writes, in a file each: records, states, late records, fired windows, key times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from engine.columnar import Longs
from engine.frames import changelog_schema, fires_schema, key_times_schema, late_schema
from engine.runtime.reports import Report
from engine.runtime.workspace import PartFile, Workspace
from engine.schema import Schema

RECORDS: Final = "records"
STATES: Final = "states"
LATE: Final = "late"
FIRES: Final = "fires"
KEY_TIMES: Final = "key_times"


@dataclass(frozen=True)
class NodeFiles:
    """Where and what a keyed step writes in an epoch.

    ports: the names of its inputs. allowed: the kinds of its changelog mode. drops_retractions: where retraction is
    switched off, and only then, others are left out instead of being an error. states: their schema; None in a run's
    last epoch, which keeps none.
    """

    workspace: Workspace
    node: str
    epoch: int
    schema: Schema
    ports: tuple[str, ...]
    allowed: frozenset[int]
    states: pa.Schema | None
    drops_retractions: bool = False

    def begin(self, name: str) -> NodeWriter:
        """Begin with the files of a task."""
        return NodeWriter(self, name)


class NodeWriter:
    """Writes the files of one task."""

    def __init__(self, files: NodeFiles, name: str) -> None:
        self._files = files
        self.records_schema = changelog_schema(files.schema)
        schemas = {
            RECORDS: self.records_schema,
            LATE: late_schema(),
            FIRES: fires_schema(),
            KEY_TIMES: key_times_schema(),
            **({STATES: files.states} if files.states is not None else {}),
        }
        folder = ("steps", files.node, f"epoch={files.epoch}")
        self._parts = {
            what: PartFile(files.workspace.place(*folder, what, f"{name}.parquet"), schema)
            for what, schema in schemas.items()
        }
        self._fired: set[tuple[int, int, int]] = set()

    def records(self, seqs: Any, steps: pa.Array, kinds: Any, columns: Sequence[pa.Array]) -> None:
        """Write output records. Timestamps may be BIGINT microseconds."""
        kinds_now = np.asarray(kinds, dtype=np.int8)
        schema = self.records_schema
        arrays = [pa.array(seqs, pa.int64()), steps, pa.array(kinds_now)]
        arrays += [typed(column, field.type) for column, field in zip(columns, list(schema)[3:], strict=True)]
        batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
        found = set(np.unique(kinds_now).tolist())
        if not self._files.allowed.issuperset(found):
            if not self._files.drops_retractions:
                message = f"the kernel emitted kinds {found} where its changelog mode allows {self._files.allowed}"
                raise AssertionError(message)
            batch = batch.filter(pa.array(np.isin(kinds_now, list(self._files.allowed))))
        self._parts[RECORDS].write(batch)

    def states(self, batch: pa.RecordBatch) -> None:
        """Write what is kept of some keys."""
        if STATES in self._parts:
            self._parts[STATES].write(batch)

    @property
    def keeps_states(self) -> bool:
        """Whether there is a next epoch."""
        return STATES in self._parts

    def late(self, ports: Longs, columns: Sequence[pa.Array]) -> None:
        """Write late records. columns: those of `late_schema` from `seq` on. ports: the inputs of the records."""
        size = len(ports)
        names = pa.array(self._files.ports).take(pa.array(ports))
        node = pa.array([self._files.node]).take(pa.array(np.zeros(size, np.int64)))
        self._parts[LATE].write(pa.RecordBatch.from_arrays([node, names, *columns], schema=late_schema()))

    def fired(self, windows: Iterator[tuple[int, int, int]]) -> None:
        """Note windows that fired: the event, start and end in ms. One that comes again is noted once."""
        self._fired.update(windows)

    def key_times(self, keys: Sequence[tuple[int, int, str]]) -> None:
        """Write the slowest keys, as (ns, records, key)."""
        if not keys:
            return
        spent, records, texts = zip(*keys, strict=True)
        columns = [pa.array(texts), pa.array(spent, pa.int64()), pa.array(records, pa.int64())]
        self._parts[KEY_TIMES].write(pa.RecordBatch.from_arrays(columns, schema=key_times_schema()))

    def close(self) -> Iterator[Report]:
        """Complete all files, and report them."""
        if self._fired:
            columns = zip(*sorted(self._fired), strict=True)
            node = [self._files.node] * len(self._fired)
            arrays = [pa.array(node), *(pa.array(column, pa.int64()) for column in columns)]
            self._parts[FIRES].write(pa.RecordBatch.from_arrays(arrays, schema=fires_schema()))
        for what, part in self._parts.items():
            if part.close():
                yield {"what": what, "path": part.path, "rows": part.rows}


def typed(values: Any, type_: pa.DataType) -> pa.Array:
    """Values as a column of a type; timestamps may come as BIGINT microseconds."""
    if isinstance(values, pa.Array):
        return values if values.type == type_ else values.cast(type_)
    if pa.types.is_timestamp(type_):
        return pa.array(values, pa.int64()).cast(type_)
    return pa.array(values, type_)


def plain(column: pa.Array) -> pa.Array:
    """Timestamps as BIGINT microseconds: kernels calculate with integers and know no time zone."""
    return column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
