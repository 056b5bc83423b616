"""The origins of records refer to existing columns, on both sides."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.contract.operator import Operator
from engine.examples import examples
from engine.expressions.analyzer import TypeRules
from engine.planner import plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("name", examples())
def test_origins_name_columns_of_the_input_and_the_output(name: str, spark: SparkSession) -> None:
    planned = plan(examples()[name], TypeRules(), Path())
    for node in planned.nodes:
        if not isinstance(node.operator, Operator):
            continue
        inputs = [given.schema.names for given in node.inputs]
        origins = node.operator.origins(inputs, node.schema.names)
        assert len(origins) == len(inputs)
        for given, origin in zip(inputs, origins, strict=True):
            if origin is not None:
                assert {mine for mine, _ in origin.columns} <= set(given)
                assert {theirs for _, theirs in origin.columns} | set(origin.window or ()) <= set(node.schema.names)
