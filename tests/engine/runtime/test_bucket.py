"""A bucket compared with a sort of tuples: grouped by key, in order of position, state first, slices of whole keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.columnar.positions import by_position
from engine.contract.columnar_kernel import NEVER
from engine.contract.frames import ENDS, KIND, SEQ, STEP, arrow_fields, key_name, value_name
from engine.model.schema import Schema
from engine.runtime.edges.edge_files import EdgeFiles
from engine.runtime.keyed.bucket import Slice, load
from engine.runtime.keyed.inputs import Gathered, Shape, Share
from engine.runtime.keyed.node_files import NodeFiles
from engine.runtime.keyed.states import StateFile, StateStore
from engine.spark.workspace import Workspace

SHAPE = Shape(
    (key_name(0), key_name(1)),
    ((value_name(0, 0),),),
    pa.schema(
        [
            *arrow_fields(SEQ, STEP, KIND),
            pa.field(key_name(0), pa.int64()),
            pa.field(key_name(1), pa.string()),
            pa.field(value_name(0, 0), pa.int64()),
        ]
    ),
)
KERNEL = pa.schema([("value", pa.int64())])
KEY = st.tuples(st.one_of(st.none(), st.integers(0, 3)), st.sampled_from(["", "x", "yy"]))
POSITION = st.tuples(st.integers(1, 30), st.binary(max_size=3))
RECORDS = st.dictionaries(POSITION, KEY, max_size=30)


@dataclass(frozen=True)
class Given:
    """A piece of a step's input."""

    rows: pa.RecordBatch

    def batches(self, workspace: Workspace, shape: Shape, share: Share | None = None) -> Iterator[pa.RecordBatch]:
        for rows in (self.rows.slice(0, 3), self.rows.slice(3)):
            keys = [rows.column(name) for name in shape.keys]
            yield rows if share is None else rows.filter(share.of(keys, rows.num_rows))


def rows_of(records: list[tuple[Any, Any]]) -> pa.RecordBatch:
    columns = [
        [position[0] for position, _ in records],
        [position[1] for position, _ in records],
        [0] * len(records),
        [key[0] for _, key in records],
        [key[1] for _, key in records],
        list(range(len(records))),
    ]
    arrays = [pa.array(values, field.type) for values, field in zip(columns, SHAPE.rows, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SHAPE.rows)


def states_of(folder: str, kept: dict[Any, int]) -> StateStore:
    """The states of a previous epoch. kept: the number of state rows per key."""
    workspace = Workspace(folder)
    store = StateStore(workspace, (), SHAPE.key_fields, KERNEL)
    edge = EdgeFiles(workspace, "n", ("edges",), Schema(()))
    writer = NodeFiles(edge, 0, ("in",), frozenset(), store.arrow).begin("0", 0)
    keys = [pa.array([key[at] for key in kept], field.type) for at, field in enumerate(SHAPE.key_fields)]
    counts = np.array(list(kept.values()), np.int64)
    places = np.repeat(np.arange(len(counts)), counts)
    writer.states(keys, places, [pa.array(places * 0)], np.full(len(places), NEVER))
    writer.empty_states(keys, np.flatnonzero(counts == 0))
    files = tuple(StateFile(report["path"], 0, 0, 1, report["rows"]) for report in writer.close())
    return StateStore(workspace, files, SHAPE.key_fields, KERNEL)


def keys_of(part: Slice) -> list[Any]:
    return list(zip(*(key.to_pylist() for key in part.keys), strict=True))


@settings(max_examples=150, deadline=None)
@given(RECORDS, st.dictionaries(KEY, st.integers(0, 5), max_size=6), st.integers(1, 9), st.randoms(), st.integers(1, 3))
def test_a_bucket_is_its_records_by_key_and_position(
    records: dict[Any, Any], kept: dict[Any, int], size: int, random: Any, buckets: int
) -> None:
    shuffled = list(records.items())
    random.shuffle(shuffled)
    found: dict[Any, list[Any]] = {}
    with TemporaryDirectory() as folder:
        states = states_of(folder, kept)
        gathered = Gathered(Workspace(folder), SHAPE, ((Given(rows_of(shuffled)),),) * buckets, is_spread=buckets == 1)
        for bucket in range(buckets):
            previous: Slice | None = None
            for part in load(gathered, bucket, states, None).slices(size):
                keys = keys_of(part)
                assert part.rows.num_rows <= size
                assert not part.is_rest or (previous is not None and previous.goes_on and keys_of(previous) == keys)
                assert part.goes_on is False or part.size == 1
                rows = zip(*(part.rows.column(name).to_pylist() for name in SHAPE.rows.names), strict=True)
                for group, row in zip(part.groups.tolist(), rows, strict=True):
                    seq, step, _, *key, place = row
                    assert tuple(key) == keys[group] == shuffled[place][1]
                    found.setdefault(keys[group], []).append((seq, step))
                if not part.is_rest:
                    of_keys = {at: kept[key] for at, key in enumerate(keys) if key in kept}
                    groups = part.state.column(0).to_pylist()
                    assert set(part.had_state.tolist()) == set(of_keys)
                    assert groups == sorted(groups)
                    assert {at: groups.count(at) for at in of_keys} == of_keys
                else:
                    assert not part.state.num_rows
                previous = part
    expected: dict[Any, list[Any]] = {}
    for position, key in sorted(records.items(), key=lambda item: item[0]):
        expected.setdefault(key, []).append(position)
    assert {key: positions for key, positions in found.items() if positions} == expected


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(KEY, st.integers(1, 4)), min_size=1, max_size=30), st.integers(1, 6))
def test_bundles_are_not_cut(bundles: list[tuple[Any, int]], size: int) -> None:
    records = [(key, number) for number, (key, count) in enumerate(bundles) for _ in range(count)]
    rows = rows_of([((seq, b""), key) for seq, (key, _) in enumerate(records, 1)])
    ends = [pa.array([number for _, number in records]), pa.array([b""] * len(rows)), pa.array([0] * len(rows))]
    schema = pa.schema([*SHAPE.rows, *arrow_fields(*ENDS)])
    bundled = pa.RecordBatch.from_arrays([*rows.columns, *ends], schema=schema)
    with TemporaryDirectory() as folder:
        given_rows = Gathered(Workspace(folder), replace(SHAPE, rows=schema), ((Given(bundled),),), is_spread=True)
        parts = list(load(given_rows, 0, states_of(folder, {}), None).slices(size))
    numbers = [part.rows.column(ENDS[0]).to_pylist() for part in parts]
    assert sorted(number for part in numbers for number in part) == [number for _, number in records]
    assert all(set(one).isdisjoint(other) for at, one in enumerate(numbers) for other in numbers[:at])


PATH = st.one_of(st.binary(max_size=3), st.lists(st.sampled_from([0, 1, 255]), max_size=20).map(bytes))


@settings(max_examples=100)
@given(st.lists(st.tuples(st.sampled_from([1, 2, 3, 1 << 40, 1 << 62]), PATH), max_size=30), st.integers(0, 2))
def test_positions_are_ordered_as_tuples_are(positions: list[tuple[int, bytes]], skipped: int) -> None:
    columns = [
        pa.array(list(part), type_)
        for part, type_ in zip(zip(*positions, strict=True), (pa.int64(), pa.binary()), strict=False)
    ]
    columns = columns or [pa.array([], pa.int64()), pa.array([], pa.binary())]
    records = pa.RecordBatch.from_arrays(columns, names=[SEQ, STEP])
    order = by_position(records[skipped:])
    assert order is None or not (order == np.arange(len(order))).all()
    places = np.arange(max(len(positions) - skipped, 0)) if order is None else order
    assert [positions[skipped + place] for place in places.tolist()] == sorted(positions[skipped:])
