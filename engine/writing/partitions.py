"""Rows by partition, as in Hive: a folder for each value of some columns, `day=2026-11-28`, whose files lack these.

`export` writes a Parquet file as a folder of such files.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from engine.errors import TargetError, unknown_name
from engine.reading.files.storage import is_uri
from engine.writing.allowed import require_folder
from engine.writing.folders import Folder

_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
_MOST: Final = 1000
_ROWS: Final = 500_000


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


def export(file: Path, place: str, partition_by: Sequence[str], node: str) -> int:
    """Write the rows of a Parquet file into a new folder, and return the number of files.

    Raises TargetError, Unreachable, and PipelineError for a place that may not be written to.
    """
    require_folder(place if is_uri(place) else Path(place).absolute(), node)
    folder = Folder(place.rstrip("/") if is_uri(place) else str(Path(place).absolute()), node)
    if folder.names("")[:1]:
        message = f"{folder.shown} has files already. Name a new folder."
        raise TargetError(message, node, "folder")
    files = 0
    with pq.ParquetFile(file) as parquet:
        for name in partition_by:
            if name not in parquet.schema_arrow.names:
                message = f"partition_by: {unknown_name('column', name, parquet.schema_arrow.names)}."
                raise TargetError(message, node, "partition_by")
        if len(set(partition_by)) == len(parquet.schema_arrow):
            message = "partition_by: no column is left for the files. Choose fewer."
            raise TargetError(message, node, "partition_by")
        for number, batch in enumerate(parquet.iter_batches(_ROWS)):
            for partition, rows in divided(pa.Table.from_batches([batch]), partition_by, node):
                folder.put(f"{folders_of(partition)}part-{number:05}.parquet", as_file(rows))
                files += 1
    return files


def _in_path(value: str | None) -> str:
    return _NULL if value is None else quote(value, safe="") or _NULL
