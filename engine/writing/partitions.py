"""Rows by partition, as in Hive: a folder for each value of some columns, `day=2026-11-28`, whose files lack these.

`export` writes a Parquet file as a folder of such files.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from engine.contract.target import Unreachable
from engine.errors import TargetError, unknown_name
from engine.writing.folders import Folder, require_place

_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
_MOST: Final = 1000
_ROWS: Final = 500_000
_NAMES_FOLDERS: Final = (pa.types.is_integer, pa.types.is_string, pa.types.is_date, pa.types.is_boolean)


def divided(content: pa.Table, partition_by: Sequence[str], node: str) -> list[tuple[dict[str, str | None], pa.Table]]:
    """The rows by partition, in order; a partition's values as texts. Raises TargetError for too many partitions."""
    if not len(content):
        return []
    if not partition_by:
        return [({}, content)]
    texts = [content.column(name).cast(pa.string()).combine_chunks() for name in partition_by]
    values = pa.StructArray.from_arrays(texts, names=list(partition_by))
    numbers: dict[tuple[str | None, ...], int] = {}
    places = np.fromiter(
        (numbers.setdefault(tuple(value.values()), len(numbers)) for value in values.to_pylist()),
        dtype=np.int64,
        count=len(values),
    )
    if len(numbers) > _MOST:
        message = (
            f"partition_by: there are rows for {len(numbers):,} partitions, and {_MOST:,} are the most that are "
            "written. Choose columns with fewer values."
        )
        raise TargetError(message, node, "partition_by")
    rest = content.drop_columns(list(partition_by))
    return [
        (dict(zip(partition_by, value, strict=True)), rest.filter(pa.array(places == number)))
        for value, number in numbers.items()
    ]


def folders_of(partition: dict[str, str | None]) -> str:
    """The folders of a partition, with a slash at the end; none for that without columns."""
    return "".join(f"{quote(key, safe='')}={_in_path(value)}/" for key, value in partition.items())


def as_file(rows: pa.Table) -> pa.Buffer:
    """A Parquet file."""
    buffer = pa.BufferOutputStream()
    pq.write_table(rows, buffer, compression="zstd")
    return buffer.getvalue()


def export(
    file: Path, place: Path | str, partition_by: Sequence[str], on_rows: Callable[[int, int], None] = lambda *_: None
) -> int:
    """Write the rows of a Parquet file into a new folder, and return the number of files.

    on_rows: is called with the numbers of rows that are written, and of all. After an error, also one of it, no file
    is left. Raises TargetError, Unreachable, and PipelineError for a place that may not be written to.
    """
    require_place(place, "")
    folder = Folder(str(place), "")
    if folder.names("")[:1]:
        message = f"{folder.shown} has files already. Name a new folder."
        raise TargetError(message, "", "folder")
    written: list[str] = []
    with pq.ParquetFile(file) as parquet:
        _require_columns(partition_by, parquet.schema_arrow)
        done, total = 0, parquet.metadata.num_rows
        try:
            for number, batch in enumerate(parquet.iter_batches(_ROWS)):
                for partition, rows in divided(pa.Table.from_batches([batch]), partition_by, ""):
                    written.append(f"{folders_of(partition)}part-{number:05}.parquet")
                    folder.put(written[-1], as_file(rows))
                    done += len(rows)
                    on_rows(done, total)
        except BaseException:
            with contextlib.suppress(TargetError, Unreachable):
                folder.remove(written)
            raise
    return len(written)


def _require_columns(partition_by: Sequence[str], schema: pa.Schema) -> None:
    for name in partition_by:
        if name not in schema.names:
            message = f"partition_by: {unknown_name('column', name, schema.names)}."
            raise TargetError(message, "", "partition_by")
        type_ = schema.field(name).type
        if not any(is_kind(type_) for is_kind in _NAMES_FOLDERS):
            message = (
                f"partition_by: folders are named by whole numbers, texts, dates and truth values, and {name} has "
                "others. Choose another column."
            )
            raise TargetError(message, "", "partition_by")
    if len(set(partition_by)) == len(schema):
        message = "partition_by: no column is left for the files. Choose fewer."
        raise TargetError(message, "", "partition_by")


def _in_path(value: str | None) -> str:
    return _NULL if value is None else quote(value, safe="") or _NULL
