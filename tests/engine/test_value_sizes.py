"""Steps that double a text end before it fills the memory, in previews and in runs."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from engine.contract import value_sizes
from engine.contract.frames import changelog_schema
from engine.errors import RunFailed
from engine.expressions.analyzer import TypeRules
from engine.local.preview import first_records
from engine.model.schema import Column, Schema
from engine.model.types import STRING
from engine.planner import plan
from engine.runtime.edges.edge_files import EdgeFiles
from engine.spark.failures import NodeFailed
from engine.spark.workspace import Workspace
from tests.engine.planning import pipeline_of, rows


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_sizes, "MOST_VALUE_BYTES", 1000)


def test_a_chain_of_steps_that_each_double_a_text_ends_in_a_preview(tmp_path: Path, spark: SparkSession) -> None:
    steps = [f"n{at}" for at in range(40)]
    doubled = ("project", {"columns": [{"name": "w", "expression": "w || w"}]})
    nodes = {"in": rows("w string", rows=[["a"]]), **dict.fromkeys(steps, doubled), "out": ("sink", {})}
    planned = plan(pipeline_of(" -> ".join(nodes), **nodes), TypeRules(), tmp_path)
    with pytest.raises(RunFailed, match="it makes a value of") as caught:
        first_records(planned, "out", lambda: spark, tmp_path)
    assert caught.value.node == "n9"


def test_a_record_of_an_edge_has_no_such_value(tmp_path: Path) -> None:
    schema = Schema((Column("w", STRING),))
    writer = EdgeFiles(Workspace(str(tmp_path)), "n", ("edges",), schema, ()).begin("a")
    for size in (900, 1001):
        texts = ["a" * size, *["b"] * 200, None]
        values = [list(range(202)), [b""] * 202, [0] * 202, texts]
        fields = zip(values, changelog_schema(schema), strict=True)
        batch = pa.RecordBatch.from_arrays(
            [pa.array(each, field.type) for each, field in fields], schema=changelog_schema(schema)
        )
        if size == 900:
            writer.write(batch)
            continue
        with pytest.raises(NodeFailed, match="it makes a value of"):
            writer.write(batch)
