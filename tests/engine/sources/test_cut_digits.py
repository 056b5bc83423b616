"""Digits beyond microseconds: cut off, counted by source and column, and told with the run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.contract.problems import Problems
from engine.model.pipeline import Node, Pipeline
from engine.model.schema import Column
from engine.model.types import TIMESTAMP_NTZ
from engine.reading.documents.json_scan import JsonReader
from engine.reading.servers.kept_messages import Keeping, Piece
from engine.reading.servers.message_rows import MessageReader
from engine.reading.typed.typed_rows import RowTypes
from engine.running import finished

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TIMES = ("2024-05-01 10:00:00.123456001", "2024-05-01 10:00:00.123456002", "2024-05-01 10:00:00.1234560", None, "none")
COLUMNS = [{"name": "id", "type": "BIGINT"}, {"name": "ts", "type": "TIMESTAMP(6)"}]
# Spark computes it: no kernel of Arrow does.
BY_SPARK = [{"name": "day", "expression": "DATE_FORMAT(ts, 'yyyy-MM-dd')"}]


def files(folder: Path) -> None:
    """The same times in a file of each format; a row without a time is one, and one is rejected."""
    rows = list(enumerate(TIMES, start=1))
    csv = [f"{at},{'' if time is None else time}" for at, time in rows]
    (folder / "in.csv").write_text("\n".join(["id,ts", *csv]) + "\n")
    (folder / "quoted.csv").write_text("\n".join(["id,ts", *(line.replace(",", ',"') + '"' for line in csv)]) + "\n")
    lines = [f'{{"id": {at}, "ts": {"null" if time is None else chr(34) + time + chr(34)}}}' for at, time in rows]
    (folder / "in.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "whole.jsonl").write_text("\n".join(lines[:4]) + "\n")
    nested = [line.replace('"ts": ', '"ts": [').replace("}", "]}") for line in lines]
    (folder / "nested.jsonl").write_text("\n".join(nested) + "\n")
    nanos = [None if time in (None, "none") else pa.scalar(1_714_557_600_123_456_000 + at) for at, time in rows]
    times = pa.array([None if nano is None else nano.as_py() for nano in nanos], pa.int64()).cast(pa.timestamp("ns"))
    pq.write_table(pa.table({"id": [at for at, _ in rows], "ts": times}), folder / "in.parquet")


ARRAY = [{"name": "id", "type": "BIGINT"}, {"name": "ts", "type": "ARRAY<TIMESTAMP(6)>"}]


@pytest.mark.parametrize(
    ("operator", "parameters", "cut", "rejected"),
    [
        ("csv", {"path": "in.csv", "types": {"ts": "TIMESTAMP(6)"}}, 2, 1),
        ("csv", {"path": "quoted.csv", "types": {"ts": "TIMESTAMP(6)"}}, 2, 1),
        ("csv", {"path": "in.csv", "types": {"ts": "TIMESTAMP(6)"}, "computed": BY_SPARK}, 2, 1),
        ("jsonl", {"path": "in.jsonl", "types": {"ts": "TIMESTAMP(6)"}}, 2, 1),
        ("jsonl", {"path": "whole.jsonl", "types": {"ts": "TIMESTAMP(6)"}}, 2, 0),
        ("jsonl", {"path": "nested.jsonl", "types": {"ts": "ARRAY<TIMESTAMP(6)>"}}, 2, 1),
        ("parquet", {"path": "in.parquet"}, 3, 0),
        ("rows", {"columns": COLUMNS, "rows": [list(row) for row in enumerate(TIMES)]}, 2, 1),
        ("rows", {"columns": ARRAY, "rows": [[at, [time]] for at, time in enumerate(TIMES)]}, 2, 1),
    ],
)
def test_values_that_lose_digits_are_counted(
    spark: SparkSession, tmp_path: Path, operator: str, parameters: dict[str, Any], cut: int, rejected: int
) -> None:
    files(tmp_path)
    pipeline = Pipeline(nodes=(Node(id="orders", operator=operator, parameters=parameters),))
    with finished(pipeline, spark, tmp_path) as run:
        problems = run.output.problems(spark)
    assert problems == Problems(rejected=rejected, cut=Counter({("orders", "ts"): cut}))


def test_keys_and_values_of_messages_are_counted(tmp_path: Path) -> None:
    rows = RowTypes((Column("ts", TIMESTAMP_NTZ),))
    keys = [f'{{"ts": "{time}"}}'.encode() for time in (TIMES[0], TIMES[2], TIMES[1], TIMES[1])]
    values = [f'{{"ts": "{time}"}}'.encode() for time in (TIMES[1], TIMES[0], TIMES[2], "none")]
    messages = pa.RecordBatch.from_pydict(
        {"key": keys, "value": values, "topic": ["orders"] * 4, "partition": [0] * 4, "offset": [0, 1, 2, 3]}
    )
    file, start, end = Keeping(tmp_path, "received").keep(messages)
    piece = Piece(str(tmp_path / file), "orders", start, end)
    columns = (Column("ts", TIMESTAMP_NTZ), Column("key_ts", TIMESTAMP_NTZ))
    (part,) = MessageReader(columns, JsonReader(rows), JsonReader(rows), key_prefix="key_")(piece)
    assert part.cut == {"ts": 2, "key_ts": 3}
    assert part.records.num_rows == 3


def test_a_run_tells_them() -> None:
    first, second = Counter({("orders", "ts"): 1}), Counter({("orders", "ts"): 1202, ("users", "ts"): 1})
    assert list((Problems(cut=first) + Problems(cut=second)).sentences()) == [
        "orders.ts: 1,203 values had digits beyond microseconds, which were cut off. Times that differ only in these "
        "are the same here.",
        "users.ts: 1 value had digits beyond microseconds, which were cut off. Times that differ only in these are "
        "the same here.",
    ]
