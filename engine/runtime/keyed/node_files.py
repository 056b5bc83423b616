"""The files of a task of a keyed step, one of each: records, states, late and expired records, windows, key times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from engine.columnar.positions import by_position
from engine.columnar.runs import distinct
from engine.contract.columnar_kernel import NEVER, Fired, Longs
from engine.contract.frames import POSITION, expired_schema, fires_schema, key_times_schema, late_schema
from engine.runtime.edges.edge_files import EdgeFiles
from engine.runtime.keyed.hashing import hashes_of
from engine.runtime.keyed.local_times import LocalTimes
from engine.runtime.keyed.states import StateStore
from engine.runtime.reports import Report
from engine.spark.workspace import PartFile

STATES: Final = "states"
MERGED: Final = "merged"
LATE: Final = "late"
FIRES: Final = "fires"
KEY_TIMES: Final = "key_times"
EXPIRED: Final = "expired"

_MAPPED: Final = (STATES, MERGED)
# HASH, DUE and IS_EMPTY precede a state's key.
_HEAD: Final = 3


@dataclass(frozen=True)
class NodeFiles:
    """The output files of a keyed step in an epoch.

    edge: its records. ports: the names of its inputs. allowed: the kinds of its changelog mode. drops_retractions:
    only if retraction is switched off: other kinds are dropped instead of being an error. states: their schema; None in
    a run's last epoch, which keeps none. local: if the step's times are local ones.
    """

    edge: EdgeFiles
    epoch: int
    ports: tuple[str, ...]
    allowed: frozenset[int]
    states: pa.Schema | None
    drops_retractions: bool = False
    local: LocalTimes | None = None

    def begin(self, name: str, bucket: int) -> NodeWriter:
        """Begin the files of a task, which has the keys of one bucket."""
        return NodeWriter(self, name, bucket)


class NodeWriter:
    """Writes the files of one task."""

    def __init__(self, files: NodeFiles, name: str, bucket: int) -> None:
        self._files = files
        self._name = name
        self._bucket = bucket
        self._merged: list[Report] = []
        self._records = files.edge.begin(name)
        schemas = {
            LATE: late_schema(),
            FIRES: fires_schema(),
            KEY_TIMES: key_times_schema(),
            EXPIRED: expired_schema(),
            **({STATES: files.states} if files.states is not None else {}),
        }
        self._parts = {
            what: PartFile(self._place(what), schema, is_mapped=what in _MAPPED) for what, schema in schemas.items()
        }
        self._fired: list[Fired] = []

    def records(self, seqs: Any, steps: pa.Array, kinds: Any, columns: Sequence[pa.Array]) -> None:
        """Write output records. Timestamps may be BIGINT microseconds."""
        kinds_now = np.asarray(kinds, dtype=np.int8)
        if self._files.local is not None:
            columns = self._files.local.outputs(columns)
        schema = self._records.schema
        arrays = [pa.array(seqs, pa.int64()), steps, pa.array(kinds_now)]
        arrays += [typed(column, type_) for column, type_ in zip(columns, self.record_types, strict=True)]
        batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
        emitted_kinds = set(np.flatnonzero(np.bincount(kinds_now)).tolist())
        if not self._files.allowed.issuperset(emitted_kinds):
            if not self._files.drops_retractions:
                message = (
                    f"the kernel emitted kinds {emitted_kinds} where its changelog mode allows {self._files.allowed}"
                )
                raise AssertionError(message)
            batch = batch.filter(pa.array(np.isin(kinds_now, list(self._files.allowed))))
        # The store sorts what is in order piece by piece in half of the time.
        order = by_position(batch)
        self._records.write(batch if order is None else batch.take(pa.array(order)))

    @property
    def record_types(self) -> Sequence[pa.DataType]:
        """The types of the output columns."""
        return list(self._records.schema.types)[len(POSITION) :]

    @property
    def keeps_states(self) -> bool:
        """Whether there is a next epoch."""
        return STATES in self._parts

    def states(
        self, keys: Sequence[pa.Array], places: Longs, columns: Sequence[pa.Array], due_ms: Longs | None
    ) -> None:
        """Write the state of keys, any number of rows each. places: of each row's key. due_ms: of its next timer."""
        due = np.full(len(places), NEVER) if due_ms is None else due_ms
        self._states(keys, places, due, columns, is_empty=False)

    def empty_states(self, keys: Sequence[pa.Array], places: Longs) -> None:
        """Write that keys have no state any more."""
        assert self._files.states is not None
        held = len(self._files.states) - len(keys) - _HEAD
        columns = [pa.nulls(len(places), field.type) for field in list(self._files.states)[-held:]] if held else []
        self._states(keys, places, np.full(len(places), NEVER), columns, is_empty=True)

    def _states(
        self, keys: Sequence[pa.Array], places: Longs, due_ms: Longs, columns: Sequence[pa.Array], *, is_empty: bool
    ) -> None:
        schema, size = self._files.states, len(places)
        if schema is None or not size:
            return
        own = [key.take(pa.array(places)) for key in keys]
        hashes = hashes_of(own, size).view(np.int64)
        head = [pa.array(hashes), pa.array(due_ms), pa.array(np.full(size, is_empty))]
        assert len(head) == _HEAD
        arrays = [typed(array, field.type) for array, field in zip([*head, *own, *columns], schema, strict=True)]
        self._parts[STATES].write(pa.RecordBatch.from_arrays(arrays, schema=schema))

    def merge(self, states: StateStore, buckets: int, now_ms: int | None = None) -> None:
        """Merge files of the step's state into one, if there are many. now_ms: the recorded clock after the epoch."""
        files = states.to_merge() if self.keeps_states else ()
        if not files:
            return
        part = PartFile(self._place(MERGED), states.arrow, is_mapped=True)
        part.write_all(states.merged(files, self._bucket, buckets, now_ms))
        self._merged.append(
            {
                "what": MERGED,
                "path": part.path if part.close() else None,
                "rows": part.rows,
                "epoch": files[-1].epoch,
                "bucket": self._bucket,
                "merged": [file.path for file in files],
            }
        )

    def late(self, ports: Longs, columns: Sequence[pa.Array]) -> None:
        """Write late records. columns: those of `late_schema` from `seq` on. ports: the inputs of the records."""
        if self._files.local is not None:
            columns = self._files.local.lates(columns)
        self._parts[LATE].write(self._of_ports(ports, columns, late_schema()))

    def expired(self, ports: Longs, columns: Sequence[pa.Array]) -> None:
        """Write what records have met that had expired. columns: those of `expired_schema` from `seq` on."""
        self._parts[EXPIRED].write(self._of_ports(ports, columns, expired_schema()))

    def fired(self, windows: Fired) -> None:
        """Note windows that fired. Many keys have the same ones, which are noted once."""
        once = Fired(*distinct(*windows))
        self._fired.append(once if self._files.local is None else self._files.local.fired(once))

    def key_times(self, keys: Sequence[tuple[int, int, str]]) -> None:
        """Write the slowest keys, as (ns, records, key)."""
        if not keys:
            return
        spent, records, texts = zip(*keys, strict=True)
        columns = [pa.array(texts), pa.array(spent, pa.int64()), pa.array(records, pa.int64())]
        self._parts[KEY_TIMES].write(pa.RecordBatch.from_arrays(columns, schema=key_times_schema()))

    def close(self) -> Iterator[Report]:
        """Complete all files, and report them."""
        yield from self._records.close()
        if self._fired:
            columns = distinct(*map(np.concatenate, zip(*self._fired, strict=True)))
            node = pa.array([self._files.edge.node] * len(columns[0]), pa.string())
            arrays = [node, *map(pa.array, columns)]
            self._parts[FIRES].write(pa.RecordBatch.from_arrays(arrays, schema=fires_schema()))
        for what, part in self._parts.items():
            if part.close():
                yield {"what": what, "path": part.path, "rows": part.rows, "bucket": self._bucket}
        yield from self._merged

    def _of_ports(self, ports: Longs, columns: Sequence[pa.Array], schema: pa.Schema) -> pa.RecordBatch:
        """Entries of a ledger, with the node and the names of its inputs."""
        names = pa.array(self._files.ports).take(pa.array(ports))
        node = pa.array([self._files.edge.node]).take(pa.array(np.zeros(len(ports), np.int64)))
        return pa.RecordBatch.from_arrays([node, names, *columns], schema=schema)

    def _place(self, what: str) -> str:
        edge, ending = self._files.edge, "arrow" if what in _MAPPED else "parquet"
        folder = ("steps", edge.node, f"epoch={self._files.epoch}", what)
        return edge.workspace.place(*folder, f"{self._name}.{ending}")


def typed(values: Any, type_: pa.DataType) -> pa.Array:
    """Values as a column of a type; timestamps may be BIGINT microseconds."""
    if isinstance(values, pa.Array):
        return values if values.type == type_ else values.cast(type_)
    if pa.types.is_timestamp(type_):
        return pa.array(values, pa.int64()).cast(type_)
    return pa.array(values, type_)
