"""The states of keys between epochs, compared with a dictionary: any changes, buckets, merges."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.contract.columnar_kernel import NEVER
from engine.contract.frames import key_name
from engine.model.schema import Schema
from engine.runtime.edges.edge_files import EdgeFiles
from engine.runtime.keyed import node_files
from engine.runtime.keyed.hashing import bucket_of, hashes_of
from engine.runtime.keyed.node_files import MERGED, STATES, NodeFiles
from engine.runtime.keyed.states import MERGED as MANY
from engine.runtime.keyed.states import StateFile, StateStore
from engine.spark.workspace import Workspace

KEY = pa.field(key_name(0), pa.string())
KERNEL = pa.schema([("value", pa.int64())])
KEYS = st.one_of(st.none(), st.sampled_from(["a", "b", "c", "dd", "eee"]))
# An epoch's state of a key: some rows, each with the time of its timer; without rows, the key has no state any more.
SAID = st.lists(st.tuples(st.integers(0, 9), st.one_of(st.none(), st.integers(0, 50))), max_size=3)
EPOCH = st.tuples(st.dictionaries(KEYS, SAID, max_size=4), st.sampled_from([1, 3, 3, 3]))

Said = dict[str | None, list[tuple[int, int | None]]]


class States:
    """The states of a step, written epoch by epoch as the tasks of a run write them."""

    def __init__(self, folder: str) -> None:
        self.workspace = Workspace(folder)
        self.files: tuple[StateFile, ...] = ()
        self.epochs = count()

    @property
    def store(self) -> StateStore:
        return StateStore(self.workspace, self.files, (KEY,), KERNEL)

    def write(self, said: Said, buckets: int) -> None:
        epoch, store = next(self.epochs), self.store
        edge = EdgeFiles(self.workspace, "n", ("edges",), Schema(()))
        files = NodeFiles(edge, epoch, ("in",), frozenset(), store.arrow)
        for bucket in range(buckets):
            writer = files.begin(f"{epoch}-{bucket}", bucket)
            mine = {key: rows for key, rows in said.items() if bucket_of_key(key, buckets) == bucket}
            keys = pa.array(list(mine), pa.string())
            rows = [(at, value, due) for at, held in enumerate(mine.values()) for value, due in held]
            places = np.array([at for at, _, _ in rows], np.int64)
            due = np.array([NEVER if due is None else due for _, _, due in rows], np.int64)
            writer.states([keys], places, [pa.array([value for _, value, _ in rows], pa.int64())], due)
            writer.empty_states([keys], np.array([at for at, held in enumerate(mine.values()) if not held], np.int64))
            writer.merge(store, buckets)
            for report in writer.close():
                if report["what"] == STATES:
                    self.files += (StateFile(report["path"], epoch, bucket, buckets, report["rows"]),)
                if report["what"] == MERGED:
                    self.files = tuple(file for file in self.files if file.path not in report["merged"])
                    if report["path"]:
                        merged = StateFile(report["path"], report["epoch"], bucket, buckets, report["rows"])
                        self.files += (merged,)

    def read(self, keys: Sequence[str | None], until_ms: int | None, buckets: int) -> Said:
        found: Said = {}
        for bucket in range(buckets):
            wanted = [key for key in keys if bucket_of_key(key, buckets) == bucket]
            hashes = np.unique(hashes_of([pa.array(wanted, pa.string())], len(wanted)))
            kept = self.store.read(bucket, buckets, hashes, until_ms)
            for key, is_empty, row in zip(
                kept.keys[0].to_pylist(), kept.is_empty.tolist(), kept.rows.column(0).to_pylist(), strict=True
            ):
                held = found.setdefault(key, [])
                if not is_empty:
                    held.append((row, None))
        return found


def bucket_of_key(key: str | None, buckets: int) -> int:
    return int(bucket_of(hashes_of([pa.array([key], pa.string())], 1), buckets)[0])


def values(said: Any) -> list[int]:
    return [value for value, _ in said]


@settings(max_examples=60, deadline=None)
@given(st.lists(EPOCH, max_size=20), st.sets(KEYS), st.one_of(st.none(), st.integers(0, 50)), st.sampled_from([1, 3]))
def test_what_was_said_last_of_a_key_is_what_is_read(
    epochs: list[tuple[Said, int]], wanted: set[str | None], until_ms: int | None, buckets: int
) -> None:
    with TemporaryDirectory() as folder:
        states, known = States(folder), Said()
        for said, of_buckets in epochs:
            states.write(said, of_buckets)
            known |= said
        read = states.read(sorted(wanted, key=str), until_ms, buckets)
    horizon = -1 if until_ms is None else until_ms
    is_due = {key for key, rows in known.items() if any(due is not None and due <= horizon for _, due in rows)}
    for key in wanted | is_due:
        assert values(read.get(key, [])) == values(known.get(key, []))
    for key in read:
        assert values(read[key]) == values(known[key])


def test_a_state_that_every_epoch_rewrites_has_few_files(tmp_path: Path) -> None:
    states = States(str(tmp_path))
    for epoch in range(MANY * MANY * MANY):
        states.write({"a": [(epoch, None)], "b": [(epoch, None)] if epoch % 2 else []}, 1)
        assert len(states.files) <= 2 * MANY
    last = MANY * MANY * MANY - 1
    assert states.read(["a", "b"], None, 1) == {"a": [(last, None)], "b": [(last, None)] if last % 2 else []}


def test_a_row_that_no_epoch_replaces_is_rewritten_few_times(tmp_path: Path) -> None:
    states = States(str(tmp_path))
    rewritten, epochs = 0, MANY * MANY * MANY
    for epoch in range(epochs):
        before = {file.path for file in states.files}
        states.write({f"key {epoch}": [(epoch, None)]}, 1)
        rewritten += sum(file.rows for file in states.files if file.path not in before) - 1
    assert len(states.files) <= 3 * MANY
    assert rewritten <= 3 * epochs


def test_keys_with_one_hash_are_written_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A loop writes the state of all keys that it was given; a later file with their hash is then all there is of them.
    monkeypatch.setattr(node_files, "hashes_of", lambda columns, size: np.full(size, 7, np.uint64))
    states = States(str(tmp_path))
    states.write({"a": [(1, None)], "b": [(2, None)]}, 1)
    states.write({"a": [(3, None)], "b": [(2, None)]}, 1)
    kept = states.store.read(0, 1, np.array([7], np.uint64), None)
    assert dict(zip(kept.keys[0].to_pylist(), kept.rows.column(0).to_pylist(), strict=True)) == {"a": 3, "b": 2}


def test_epochs_of_other_buckets_keep_no_files_from_becoming_one(tmp_path: Path) -> None:
    # A delayed epoch has more records, and so more buckets. Without the merge, every file would remain and be read.
    states = States(str(tmp_path))
    for epoch in range(4 * MANY):
        states.write({"a": [(epoch, None)], "b": [(epoch % 3, None)]}, 3 if epoch % 5 == 2 else 1)
    assert len({file.epoch for file in states.files}) <= 2 * MANY
    assert states.read(["a", "b"], None, 1) == {"a": [(4 * MANY - 1, None)], "b": [((4 * MANY - 1) % 3, None)]}


def test_a_file_of_the_keys_that_are_wanted_is_all_that_is_looked_at(tmp_path: Path) -> None:
    states = States(str(tmp_path))
    states.write({"a": [(1, 7)], "b": [(2, 9)], "c": [(3, None)]}, 1)
    assert states.read([], 6, 1) == {}
    assert states.read([], 7, 1) == {"a": [(1, None)]}
    assert states.read(["c"], 7, 1) == {"a": [(1, None)], "c": [(3, None)]}
    assert states.read([], None, 1) == {}
    # The end of a source is a watermark that reaches all timers, but not keys without one.
    assert states.read([], NEVER, 1) == {"a": [(1, None)], "b": [(2, None)]}


def test_what_fired_in_an_epoch_is_not_there_again(tmp_path: Path) -> None:
    states = States(str(tmp_path))
    states.write({"a": [(1, 5)]}, 1)
    states.write({"a": [(2, None)]}, 1)
    assert states.read([], 10, 1) == {"a": [(2, None)]}
