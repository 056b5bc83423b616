"""Casts of texts equal Spark's: every type over every odd text, in one job."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pytest

from engine.model.type_texts import spark_type
from engine.reading.typed.casts import cast_texts

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

PLAIN: Final = (
    "string",
    "binary",
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "float",
    "double",
    "boolean",
    "date",
    "timestamp",
    "timestamp_ntz",
    "decimal(10,2)",
    "decimal(5,0)",
    "decimal(38,0)",
    "decimal(38,38)",
    "decimal(20,10)",
    "decimal(3,3)",
)
# Without array<timestamp_ntz>: Spark fails on a text that is not such an array.
NESTED: Final = (
    "array<bigint>",
    "array<int>",
    "array<smallint>",
    "array<tinyint>",
    "array<string>",
    "array<double>",
    "array<float>",
    "array<boolean>",
    "array<date>",
    "array<timestamp>",
    "array<decimal(5,2)>",
    "array<array<bigint>>",
    "array<binary>",
    "map<string,int>",
    "map<string,string>",
    "map<string,double>",
    "map<string,bigint>",
    "map<string,boolean>",
    "map<string,array<bigint>>",
)
FIRST_DAY, LAST_DAY = -719_162, 2_932_896
FIRST_US, LAST_US = -62_135_596_800_000_000, 253_402_300_799_999_999


def is_beyond_the_years(text: str, type_: str, spark: Any, ours: Any) -> bool:
    """Only the years 1 to 9999 are supported, which Python, Arrow and DuckDB all can represent."""
    low, high = (FIRST_DAY, LAST_DAY) if type_ == "date" else (FIRST_US, LAST_US)
    return type_ in ("date", "timestamp", "timestamp_ntz") and ours is None and not low <= spark <= high


def is_of_an_old_region(text: str, type_: str, spark: Any, ours: Any) -> bool:
    """Time zones that only Java has."""
    return "SystemV/" in text and ours is None


def is_followed(text: str, type_: str, spark: Any, ours: Any) -> bool:
    """Spark ignores any text after the first JSON value."""
    return type_ in NESTED and ours is None and text[-1] in "x]}" and not is_json(text)


def has_single_quotes(text: str, type_: str, spark: Any, ours: Any) -> bool:
    """Spark accepts single quotes, which are not valid JSON."""
    return type_ in NESTED and ours is None and "'" in text


def is_a_number_as_written(text: str, type_: str, spark: Any, ours: Any) -> bool:
    """Spark converts a number to a text like Java, through a double: 1e3 to 1000.0, 1.10 to 1.1, -0 to 0."""
    if spark is None:
        return False
    if text == "[-0]":
        return type_ in ("array<string>", "array<double>", "array<float>")
    return type_ == "array<string>" and len(spark) == len(ours) and "".join(ours) in text.replace(" ", "")


def has_a_key_twice(text: str, type_: str, spark: Any, ours: Any) -> bool:
    """Spark keeps both entries of the key, an invalid map; here the last one wins."""
    return type_.startswith("map<") and spark is not None and len(spark) > len(ours)


def is_an_instant_in_a_list(text: str, type_: str, spark: Any, ours: Any) -> Any:
    """In a list, Spark reads a number as seconds (in a column, as ms, as intended), and a text "1" as a date."""
    return type_ in ("array<timestamp>", "array<date>") and re.fullmatch(
        r'\s*\[("? *[0-9]+ *"?(, ?|null)*)+\]\s*', text
    )


def is_a_number_in_a_text(text: str, type_: str, spark: Any, ours: Any) -> bool:
    """Flink reads the number in a text, and the truth value. Source: Flink JsonToRowDataConverters."""
    return type_ in NESTED and spark is None and ours is not None and '"' in text


EXCEPTIONS: Final[tuple[Callable[[str, str, Any, Any], Any], ...]] = (
    is_beyond_the_years,
    is_of_an_old_region,
    has_single_quotes,
    is_a_number_in_a_text,
    is_followed,
    is_a_number_as_written,
    has_a_key_twice,
    is_an_instant_in_a_list,
)


def odd_texts() -> list[str]:
    """The odd texts, each once, some with various blanks around them."""
    odd = json.loads((Path(__file__).parent / "odd_texts.json").read_text(encoding="utf-8"))
    day, hour = "2024-05-01", "2024-05-01 10:00:00"
    times = [f"{day}{between}{time}" for between in " T" for time in odd["hours"]]
    times += [f"{start}{zone}" for start in (hour, f"{day}T10:00:00.5", f"{day}T10:00") for zone in odd["zones"]]
    times += [f"{start}{zone}" for start in (day, f"{day}T", f"{day} 10") for zone in odd["zones"][:14]]
    plain = ["1", "-1", "1.5", "true", day, hour, f"{day}T10:00:00.5", f"{hour}Z", f"{hour} UTC", "1e3", "NaN", "inf"]
    plain += ["1d", "2024", "2024-05", "1714557600000", "12345678901234567890", f"{day}T10", "1.235"]
    blanks = " \t\n\r\x00\x1f\x7f\u00a0\u2003\u3000\x85\x1c\x0b\u200b\ufeff"
    around = [f"{one}{text}{two}" for text in plain for b in blanks for one, two in ((b, ""), ("", b), (b, b))]
    return list(dict.fromkeys([*chain(*odd.values()), *times, "", "x", "é", "null", *blanks, *around]))


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def written(text: Column, type_: str) -> Column:
    """Spark's value of a text: a cast. A timestamp must start with a date; a number as timestamp is epoch ms."""
    from pyspark.sql import functions as F

    if type_ in ("timestamp", "timestamp_ntz"):
        from_ms = F.timestamp_micros(F.try_multiply(text.try_cast("bigint"), F.lit(1000)))
        with_date = F.when(text.rlike(r"^\s*[0-9]{4}-"), text.try_cast("timestamp"))
        return F.coalesce(with_date, from_ms).cast(type_)
    return F.from_json(text, type_) if type_ in NESTED else text.try_cast(type_)


def plain(values: pa.Array) -> list[Any]:
    """The values as Python objects; times as numbers, since Python cannot represent all of them."""
    type_ = values.type
    if pa.types.is_list(type_) and pa.types.is_temporal(type_.value_type):
        values = values.cast(pa.list_(number_of(type_.value_type)))
    elif pa.types.is_temporal(type_):
        values = values.cast(number_of(type_))
    found: list[Any] = values.to_pylist()
    return found


def number_of(type_: pa.DataType) -> pa.DataType:
    return pa.int32() if pa.types.is_date(type_) else pa.int64()


def is_same(one: Any, other: Any) -> bool:
    return one == other if isinstance(one, Decimal) else repr(one) == repr(other)


@pytest.mark.slow
def test_every_text_becomes_what_spark_makes_of_it(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    texts = odd_texts()
    types = [*PLAIN, *NESTED]
    frame = spark.createDataFrame(pa.table({"text": texts}))
    columns = [written(F.col("text"), type_).alias(type_) for type_ in types]
    table = frame.select("text", *columns).toArrow().combine_chunks()
    held = table.column("text").combine_chunks()
    assert held.to_pylist() == texts
    used, wrong = set(), []
    for type_ in types:
        ours = plain(cast_texts(held, spark_type(type_)))
        theirs = plain(table.column(type_).combine_chunks())
        for text, one, other in zip(texts, theirs, ours, strict=True):
            if not is_same(one, other):
                reason = next((each for each in EXCEPTIONS if each(text, type_, one, other)), None)
                used.add(reason)
                wrong += [f"{text!r} as {type_}: {one!r} on Spark, {other!r} here"] if reason is None else []
    assert wrong == []
    assert used == set(EXCEPTIONS)
