"""A Parquet file as a folder of files, one folder for each value."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.errors import RunCancelled, TargetError
from engine.writing import partitions

ROWS = 700_000


@pytest.fixture
def file(tmp_path: Path) -> Path:
    numbers = pa.array(range(ROWS))
    table = pa.table({"k": pa.array(["a", "b"] * (ROWS // 2)), "v": numbers, "half": pa.array([0.5] * ROWS)})
    pq.write_table(table, tmp_path / "whole.parquet")
    return tmp_path / "whole.parquet"


def test_how_far_it_is_is_told_and_nothing_is_lost(file: Path, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    assert partitions.export(file, tmp_path / "out", ["k"], lambda *rows: told.append(rows)) == 4
    assert [rows for rows, _ in told] == [250_000, 500_000, 600_000, ROWS]
    assert {total for _, total in told} == {ROWS}
    read = pq.read_table(tmp_path / "out" / "k=a")
    assert read.column("v").to_pylist() == list(range(0, ROWS, 2))


def test_what_is_cancelled_leaves_no_file_so_that_the_folder_can_be_named_again(file: Path, tmp_path: Path) -> None:
    def cancel(rows: int, total: int) -> None:
        if rows > ROWS // 2:
            raise RunCancelled

    with pytest.raises(RunCancelled):
        partitions.export(file, tmp_path / "out", ["k"], cancel)
    assert [each for each in (tmp_path / "out").rglob("*") if each.is_file()] == []
    assert partitions.export(file, tmp_path / "out", []) == 2


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (["half"], "folders are named by whole numbers, texts, dates and truth values, and half has others"),
        (["v"], "there are rows for 500,000 partitions, and 1,000 are the most"),
        (["w"], "partition_by: unknown column 'w'"),
    ],
)
def test_columns_that_name_no_folders_are_told(file: Path, tmp_path: Path, names: list[str], sentence: str) -> None:
    with pytest.raises(TargetError, match=sentence):
        partitions.export(file, tmp_path / "out", names)
