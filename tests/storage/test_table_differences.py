"""The tables of two runs beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from storage import Store
from storage.changelogs.table_differences import DifferentRow
from tests.storage.written_runs import Epoch, Event, columns, edge, plan, recorded

COUNTED = columns(cnt="bigint", freq="bigint")
LEFT: Sequence[Event] = [
    (1, b"\0", "+I", (1, 2)),
    (2, b"\0", "-U", (1, 2)),
    (2, b"\1", "+U", (1, 1)),
    (3, b"\0", "+I", (2, 1)),
]
RIGHT: Sequence[Event] = [
    (1, b"\0", "+I", (1, 2)),
    (3, b"\0", "+I", (2, 1)),
    (4, b"\0", "+I", (None, 7)),
]


def run_of(store: Store, folder: Path, records: Sequence[Event], key: Sequence[str]) -> int:
    folder.mkdir(exist_ok=True)
    return recorded(store, folder, plan(edge("out", COUNTED, "[I,UB,UA,D]", key)), Epoch(records={"out": records}))


@pytest.mark.parametrize("key", [["cnt"], []])
def test_a_table_is_the_same_as_itself(store: Store, tmp_path: Path, key: list[str]) -> None:
    one, other = (run_of(store, tmp_path / name, LEFT, key) for name in ("one", "other"))
    found = store.table_differences.between(one, other, "out")
    assert found.is_same
    assert (found.left, found.right, found.equal) == (2, 2, 2)


def test_by_key_a_row_stands_beside_what_the_other_table_says(store: Store, tmp_path: Path) -> None:
    one, other = (run_of(store, tmp_path / name, rows, ["cnt"]) for name, rows in (("one", LEFT), ("other", RIGHT)))
    found = store.table_differences.between(one, other, "out")
    assert (found.left, found.right, found.equal, found.different) == (2, 3, 1, 2)
    assert found.rows == (DifferentRow((1, 1), (1, 2)), DifferentRow(None, (None, 7)))


def test_without_a_key_whole_rows_are_counted(store: Store, tmp_path: Path) -> None:
    twice = [*LEFT, (5, b"\0", "+I", (2, 1))]
    one, other = (run_of(store, tmp_path / name, rows, []) for name, rows in (("one", LEFT), ("other", twice)))
    found = store.table_differences.between(one, other, "out")
    assert (found.equal, found.different) == (2, 1)
    assert found.rows == (DifferentRow(None, (2, 1)),)
