"""The first parsed rows of a source, and the rejected ones, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from engine.contract.scan import Rejected
from engine.contract.source import Source
from engine.local.read_parts import read_parts
from engine.model.schema import Schema
from engine.reading.typed.computed import computation_of

LOOKED_AT: Final = 1000


@dataclass(frozen=True)
class Parsed:
    """Parsed rows.

    rows: the first ones, with `columns`. rejected: among the first `looked_at` rows, or all of them if it `is_whole`.
    left_out: columns that need Spark.
    """

    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    rejected: Sequence[Rejected]
    looked_at: int
    is_whole: bool
    left_out: tuple[str, ...] = ()


def parsed_rows(source: Source, schema: Schema, node: str, folder: Path, rows: int = 10) -> Parsed | None:
    """The first rows of a source that workers read; None for any other source. Raises SourceError.

    schema: the source's output, including computed columns if they are known.
    """
    scan = source.scan(node, folder)
    if scan is None:
        return None
    compute = computation_of(source, schema, node, folder)
    names = schema.names if compute is not None else source.derive(node, folder).schema.names
    first_rows: list[Sequence[Any]] = []
    rejected: list[Rejected] = []
    looked_at = 0
    is_whole = True
    parts = iter(read_parts(scan, node))
    for part in parts:
        given = part if compute is None else compute(part)
        wanted = given.records.slice(0, rows - len(first_rows)).select(list(names))
        first_rows += zip(*(column.to_pylist() for column in wanted.columns), strict=True)
        looked_at += part.records.num_rows + len(part.rejected)
        rejected += given.rejected
        if looked_at >= LOOKED_AT:
            is_whole = next(parts, None) is None
            break
    return Parsed(
        names, first_rows, rejected, looked_at, is_whole, tuple(name for name in schema.names if name not in names)
    )
