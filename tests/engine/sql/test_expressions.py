"""Expressions of Flink SQL: Spark's values equal Flink's, from `flink_answers.txt`."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy
import pytest

from engine.errors import StudioError
from engine.expressions.analyzer import TypeRules
from engine.model.pipeline import Node
from engine.model.schema import Schema
from engine.model.type_texts import spark_type, type_from
from engine.model.types import STRING, Type
from engine.sql import pipeline_of, table_of
from tests.engine.sql.queries import projections

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = {
    "i": "int",
    "j": "int",
    "z": "int",
    "ti": "tinyint",
    "si": "smallint",
    "b": "bigint",
    "big": "bigint",
    "d": "double",
    "fl": "float",
    "s": "string",
    "n": "string",
    "f": "boolean",
    "m": "decimal(10,2)",
    "p": "decimal(5,3)",
    "ts": "timestamp",
    "tn": "timestamp_ntz",
    "dt": "date",
    "tz": "timestamp_ntz",
    "t6": "timestamp(6)",
    "t0": "timestamp(0)",
}
NUMBERS = (7, -2, 0, 5, 300, 40, (1 << 63) - 1, 2.5, 1.25)
MOMENTS = (
    datetime(2024, 5, 17, 13, 45, 59, tzinfo=UTC),
    datetime(2024, 5, 17, 13, 45, 59, 123000),  # noqa: DTZ001 - a TIMESTAMP has no zone
    date(2024, 5, 17),
    datetime(1969, 12, 31, 23, 59, 59, 500000),  # noqa: DTZ001
    datetime(2024, 5, 17, 13, 45, 59, 123456),  # noqa: DTZ001
    datetime(2024, 5, 17, 13, 45, 59),  # noqa: DTZ001
)
ROW = (*NUMBERS, "Hello World", None, True, Decimal("12.50"), Decimal("1.234"), *MOMENTS)

LINES = (Path(__file__).parent / "flink_answers.txt").read_text().splitlines()
ANSWERS = [line for line in LINES if not line.startswith("#")]


@pytest.mark.slow
def test_expressions_have_the_types_and_values_that_flink_gives_them(spark: SparkSession) -> None:
    columns = [{"name": name, "type": type_} for name, type_ in COLUMNS.items()]
    table = table_of(Node(id="t", operator="rows", parameters={"columns": columns}), Path())
    analyzer = TypeRules()
    expected: dict[str, str] = dict(line.split("  =>  ") for line in ANSWERS)
    written: dict[str, str] = {}
    wrong = []
    for text in expected:
        try:
            made = pipeline_of(f"SELECT {text} AS v FROM t", [table], analyzer, Path())
        except StudioError as error:
            wrong.append(f"{text}: {error.sentence}")
            continue
        written[text] = projections(made)[0].columns[0].expression
    frame = spark.createDataFrame([ROW], ", ".join(f"{name} {type_from(type_)}" for name, type_ in COLUMNS.items()))
    chosen = frame.selectExpr(*(f"{expression} AS v{at}" for at, expression in enumerate(written.values())))
    types = [field.dataType.simpleString() for field in chosen.schema]
    for text, type_, value in zip(written, types, chosen.toArrow().to_pylist()[0].values(), strict=True):
        got = f"{_bare(type_)}  {_text(value, type_)}"
        if got != expected[text]:
            wrong.append(f"{text}: expected {expected[text]}, got {got} by {written[text]}")
    assert not wrong, "\n".join(wrong)


def _bare(type_: str) -> str:
    """A type without the precision that our types do not have."""
    return spark_type(type_).flink.replace("TIMESTAMP_LTZ(3)", "TIMESTAMP_LTZ").replace("TIMESTAMP(3)", "TIMESTAMP")


def _text(value: Any, type_: str) -> str:
    # Arrow widens a FLOAT to a DOUBLE; Flink prints the digits of a FLOAT.
    return str(numpy.float32(value)) if type_ == "float" else json.dumps(_plain(value), ensure_ascii=False)


def _plain(value: Any) -> Any:
    match value:
        case Decimal():
            return {"decimal": str(value)}
        case datetime():
            return {"timestamp": value.replace(tzinfo=None).isoformat(sep=" ")}
        case date():
            return {"date": value.isoformat()}
        case bytes():
            return {"bytes": value.hex()}
        case list():
            return [_plain(item) for item in value]
        case float() if value != value or abs(value) == float("inf"):
            return {"double": repr(value)}
        case _:
            return value


REFUSED = [
    ("SELECT CAST(i AS TIME) FROM t", "INT has no time of day. Cast a TIMESTAMP or a text to TIME."),
    ("SELECT (s - i) DAY TO SECOND FROM t", "an interval lies between two times, not between STRING and INT."),
    ("SELECT PARSE_JSON(s) FROM t", "PARSE_JSON makes a VARIANT, which no column here holds."),
    ("SELECT TYPEOF(s, i) FROM t", "TYPEOF takes an expression, and TRUE or FALSE"),
    ("SELECT UNIX_TIMESTAMP() FROM t", "UNIX_TIMESTAMP() tells the time of the machine"),
    ("SELECT s SIMILAR TO n FROM t", "SIMILAR TO takes a text as its pattern."),
    ("SELECT EXTRACT(FORTNIGHT FROM ts) FROM t", "unknown unit 'FORTNIGHT'. Available: YEAR, ISOYEAR,"),
    ("SELECT FLOOR(ts TO CENTURY) FROM t", "unknown unit 'CENTURY'. Available: YEAR, QUARTER,"),
    ("SELECT TO_TIMESTAMP_LTZ(b, b) FROM t", "the precision of TO_TIMESTAMP_LTZ is a number: 0 for seconds"),
]


class _ColumnTypes:
    def type_of(self, expression: str, schema: Schema, node: str, field: str) -> Type:
        found = [column.type for column in schema if expression == f"`{column.name}`"]
        return found[0] if found else STRING


@pytest.mark.parametrize(("sql", "sentence"), REFUSED)
def test_what_has_no_equal_in_spark_is_refused_with_its_place(sql: str, sentence: str) -> None:
    columns = [{"name": name, "type": type_} for name, type_ in COLUMNS.items()]
    table = table_of(Node(id="t", operator="rows", parameters={"columns": columns}), Path())
    with pytest.raises(StudioError) as caught:
        pipeline_of(sql, [table], _ColumnTypes(), Path())
    assert sentence in str(caught.value)
    assert str(caught.value).startswith("line 1, column ")
