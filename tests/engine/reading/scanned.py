"""Random text files, and the comparison of what a scan makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import strategies as st

from engine.contract.scan import ReadPart
from engine.model.schema import Column, TimeUnit
from engine.model.type_texts import spark_type
from engine.model.types import BIGINT, STRING
from engine.reading.files.input_files import local_file
from engine.reading.files.text_files import TextPart, blocks_of, parts_of
from engine.reading.typed.typed_rows import RowTypes


@st.composite
def row_types(draw: st.DrawFn, types: str, units: Sequence[TimeUnit]) -> RowTypes:
    """Columns c0, c1, ... of these types, perhaps with an event time `ts` and a kind `op` among them."""
    drawn = draw(st.lists(st.sampled_from(types.split()), min_size=1, max_size=4))
    columns = [Column(f"c{at}", spark_type(type_)) for at, type_ in enumerate(drawn)]
    if draw(st.booleans()):
        time = Column("ts", BIGINT, time=draw(st.sampled_from(units)))
        columns.insert(draw(st.integers(0, len(columns))), time)
    has_kind = draw(st.booleans())
    if has_kind:
        columns.insert(draw(st.integers(0, len(columns))), Column("op", STRING))
    return RowTypes(tuple(columns), "op" if has_kind else None)


@st.composite
def file_of(draw: st.DrawFn, lines: Sequence[str], pieces: Sequence[bytes]) -> bytes:
    """These lines as a file, perhaps with one of the pieces somewhere in it."""
    end = draw(st.sampled_from(("\n", "\n", "\r\n", "\r")))
    data = end.join(lines).encode() + (end.encode() if draw(st.booleans()) else b"")
    if pieces and draw(st.booleans()):
        at = draw(st.integers(0, len(data)))
        data = data[:at] + draw(st.sampled_from(pieces)) + data[at:]
    return data


def assert_the_same_however_cut(
    scan: ModuleType, reader: Callable[[TextPart], Iterator[ReadPart]], data: bytes, part_size: int, block_size: int
) -> None:
    """A file has the same rows as a whole, and in parts and blocks of any size. scan: the reader's module."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "in.txt"
        path.write_bytes(data)
        whole = [found for part in parts_of([local_file(path, path.name)]) for found in reader(part)]
        patch.setattr(scan, "blocks_of", lambda *given: blocks_of(*given, size=block_size))
        cut = parts_of([local_file(path, path.name)], size=part_size)
        assert shown([found for part in cut for found in reader(part)]) == shown(whole)


def shown(parts: list[ReadPart]) -> tuple[list[str], list[Any]]:
    """Records with their lines, and the rejected rows."""
    records = []
    for part in parts:
        rows = zip(part.lines, batch_rows(part.records), strict=True)
        records += [f"{part.lines_before() + line} {row}" for line, row in rows]
    return records, sorted(row for part in parts for row in part.rejected)


def batch_rows(batch: pa.RecordBatch) -> list[Any]:
    """The rows; times as numbers, since Python cannot represent all of them."""
    arrays = [array.cast(pa.int64()) if pa.types.is_timestamp(array.type) else array for array in batch.columns]
    return list(zip(*(array.to_pylist() for array in arrays), strict=True))
