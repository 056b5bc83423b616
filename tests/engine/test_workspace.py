"""Files of a run hold what was written, under any names."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.spark.workspace import PartFile, Workspace


def test_a_file_has_columns_of_any_name_and_type(tmp_path: Path) -> None:
    """A column `a.b` has the name that Parquet gives to the part b of a row a."""
    columns = {
        "a.b": pa.array([1, None, -(1 << 63)]),
        "a": pa.array([{"b": "x"}, None, {"b": None}]),
        'we`ird "': pa.array([1, 2, (1 << 63) - 1]),
        "int": pa.array([-(1 << 31), 0, None], pa.int32()),
        "date": pa.array([date(1, 1, 1), None, date(9999, 12, 31)]),
        "time": pa.array([datetime(2024, 1, 1, tzinfo=UTC), None, None], pa.timestamp("us", "UTC")),
        "text": pa.array(["", None, "é"]),
        "small": pa.array([-1, None, 1], pa.int8()),
        "list": pa.array([[1, 2], None, []], pa.list_(pa.int64())),
    }
    rows = pa.RecordBatch.from_pydict(columns)
    part = PartFile(str(tmp_path / "part.parquet"), rows.schema)
    part.write(rows)
    assert part.close()
    (read,) = Workspace(str(tmp_path)).read(part.path, rows.schema.names)
    assert read.to_pylist() == rows.to_pylist()


def test_row_groups_of_a_file_fill_those_of_duckdb(tmp_path: Path) -> None:
    """DuckDB keeps 122,880 rows together. What does not fill them, its next checkpoint writes again."""
    part = PartFile(str(tmp_path / "part.parquet"), pa.schema([("n", pa.int64())]))
    at = 0
    for size in (200_000, 200_000, 350_000, 1):
        part.write(pa.RecordBatch.from_arrays([pa.array(range(at, at + size))], names=["n"]))
        at += size
    assert part.close()
    written = pq.ParquetFile(part.path)
    sizes = [written.metadata.row_group(group).num_rows for group in range(written.num_row_groups)]
    assert sizes == [245_760, 245_760, 245_760, at - 3 * 245_760]
    assert part.rows == at
    assert written.read().column("n").to_pylist() == list(range(at))


def test_a_workspace_in_memory_reads_what_was_written_until_it_is_removed() -> None:
    ours, theirs = Workspace.in_memory(), Workspace.in_memory()
    table = pa.table({"a": [1, 2], "b": ["x", "y"]})
    for workspace in (ours, theirs):
        workspace.write(workspace.place("edges", "n.parquet"), table)
    part = PartFile(ours.place("edges", "m.parquet"), table.schema)
    part.write_all(table.to_batches())
    assert part.close()
    assert not PartFile(ours.place("edges", "nothing.parquet"), table.schema).close()
    for path in (part.path, ours.place("edges", "n.parquet")):
        assert [batch.to_pydict() for batch in ours.read(path, ["b", "c"])] == [{"b": ["x", "y"]}]
    ours.remove()
    with pytest.raises(KeyError):
        list(ours.read(part.path, ["a"]))
    assert list(theirs.read(theirs.place("edges", "n.parquet"), ["a", "b"])) == table.to_batches()
