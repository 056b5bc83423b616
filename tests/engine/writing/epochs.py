"""Epochs of records as a writer gets them, written as text: `+I a 1`."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from engine.contract.frames import changelog_schema
from engine.contract.target import SinkMode, Writing
from engine.model.changelog import SYMBOLS
from engine.model.schema import Column, Schema
from engine.model.types import BIGINT, STRING

SCHEMA = Schema((Column("k", STRING), Column("v", BIGINT)))


def writing(folder: Path, mode: SinkMode, run: str = "run", node: str = "out") -> Writing:
    """A sink of rows by key k."""
    return Writing(node, run, SCHEMA, mode, ("k",) if mode is SinkMode.UPSERT else (), folder)


def epoch(first_seq: int, *records: str) -> pa.Table:
    """An event for each record."""
    parts = [record.split() for record in records]
    columns = [
        [first_seq + at for at in range(len(parts))],
        [b""] * len(parts),
        [SYMBOLS.index(kind) for kind, *_ in parts],
        [None if key == "NULL" else key for _, key, *_ in parts],
        [None if value == "NULL" else int(value) for *_, value in parts],
    ]
    schema = changelog_schema(SCHEMA)
    return pa.table([pa.array(each, field.type) for each, field in zip(columns, schema, strict=True)], schema=schema)
