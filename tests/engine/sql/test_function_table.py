"""The table of functions: every row has a sentence, and an example with the result that Flink 2.3 gives."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.expressions.analyzer import TypeRules
from engine.functions import FUNCTIONS, ROWS
from engine.functions.function import Function
from engine.functions.refused import ELSEWHERE, REFUSED
from engine.model.pipeline import Node
from engine.model.schema import Column, Schema
from engine.model.type_texts import spark_type
from engine.model.types import INT, Type
from engine.sql import pipeline_of, table_of
from tests.engine.sql.queries import projections

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Types that stand for several: a letter for the type of an argument, a word for a group of types.
TYPE = re.compile(r"(?!row)[a-z_0-9]+(<[a-z_,<>`:]*>)?")


ONE = table_of(Node(id="t", operator="rows", parameters={"columns": [{"name": "n", "type": "int"}]}), Path())


def with_null(row: Function) -> str | None:
    """The example with NULL in place of its first argument; None if that is left open."""
    value = r"((?:[A-Z]+ )?'[^']*'|[-\w.]+(?:\([^)]*\)|\[[^\]]*\])?)"
    call = rf"(?<=\b{row.name}[(\[])((?:HOUR,|DAY,|DOW FROM) )?{value}"
    changed, count = re.subn(call, r"\1CASE WHEN 1 = 0 THEN \2 END", row.example, count=1)
    assert count or not row.result or not row.parameters or not row.null, row.name
    return changed if count and row.result and row.null else None


def in_spark(expression: str, analyzer: TypeRules) -> tuple[str, Type]:
    """An expression of Flink SQL in Spark SQL, with its type."""
    pipeline = pipeline_of(f"SELECT {expression} AS x FROM t", [ONE], analyzer, Path())
    (written,) = [column.expression for each in projections(pipeline) for column in each.columns]
    return written, analyzer.type_of(written, Schema((Column("n", INT),)), "", "")


def test_a_row_tells_what_the_function_gives() -> None:
    for row in ROWS:
        assert re.fullmatch(r"[A-Ze].*\.", row.sentence), row.name
        assert row.name in row.example
        assert row.shown(row.name).startswith(f"{row.name}(")
        assert all(FUNCTIONS[name] is row for name in (row.name, *row.aliases))
        assert not {row.name, *row.aliases} & {*REFUSED, *ELSEWHERE}


@pytest.mark.slow
def test_every_example_gives_what_flink_gives(spark: SparkSession) -> None:
    analyzer = TypeRules()
    expected: list[tuple[str, str]] = []
    other_types: dict[str, Type] = {}
    for row in ROWS:
        expected.append((row.example, row.result))
        expected += [row.bad] if row.bad is not None else []
        if (null := with_null(row)) is not None:
            expected.append((null, row.null))
        _, type_ = in_spark(row.example, analyzer)
        promised = row.signature.rpartition("-> ")[2]
        if row.example.startswith(row.name) and TYPE.fullmatch(promised) and promised != "any":
            other_types |= {} if type_.is_held_as(spark_type(promised)) else {row.example: type_}
    assert other_types == {}
    texts = [in_spark(f"CAST({example} AS STRING)", analyzer)[0] for example, _ in expected]
    one = spark.range(1).selectExpr("1 AS n")
    (values,) = one.selectExpr(*(f"{text} AS x{at}" for at, text in enumerate(texts))).collect()
    given = {call: "NULL" if value is None else value for (call, _), value in zip(expected, values, strict=True)}
    assert given == {call: result or given[call] for call, result in expected}
    assert all(given[row.example] != "NULL" for row in ROWS if not row.result)
