"""Avro: what a reader has of a writer's values, and schemas and bytes of strangers."""

from __future__ import annotations

import json
from datetime import date, datetime, time
from decimal import Decimal
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.model.schema import Column
from engine.model.type_texts import type_from
from engine.reading.avro.formats import avro_reader
from engine.reading.avro.schemas import BadSchema, Undecodable, decoder, schema_of
from engine.reading.avro.types import NoAvro, record_of, type_of
from tests.engine.sources.schema_registry import encoded, framed

COLOUR = {"type": "enum", "name": "Colour", "symbols": ["RED", "BLUE"]}
POINT = {"type": "record", "name": "Point", "fields": [{"name": "x", "type": "int"}, {"name": "y", "type": "int"}]}
at = datetime.fromisoformat
MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
MICROS = {"type": "long", "logicalType": "timestamp-micros"}
TIME_OF_DAY = {"type": "int", "logicalType": "time-millis"}
CENTS = {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}


def of_one(type_: Any) -> dict[str, Any]:
    """A record with a field `c` of this type."""
    return {"type": "record", "name": "Written", "fields": [{"name": "c", "type": type_}]}


def read(written: Any, value: Any, type_: str, required: bool = False, legacy: bool = True, given_: Any = None) -> Any:
    """A value that was written in this schema, as one of a column's type, or the reason why it is rejected."""
    columns = (Column("c", type_from(type_)),)
    schema = written if isinstance(written, dict) and written.get("name") == "R" else of_one(written)
    reader = avro_reader(
        "avro-confluent",
        columns,
        ["c"] if required else [],
        None,
        legacy=legacy,
        given=json.dumps(given_) if given_ else "",
    )
    message = framed(7, schema, value if schema is written else {"c": value})
    found = reader.of_messages([message], {7: [json.dumps(schema)]})
    return found.reasons[0] if found.reasons else found.records.column("c").to_pylist()[0]


@pytest.mark.parametrize(
    ("written", "value", "type_", "expected"),
    [
        ("boolean", True, "BOOLEAN", True),
        ("int", 5, "INT", 5),
        ("int", -5, "BIGINT", -5),
        ("int", 5, "DOUBLE", 5.0),
        ("long", 5, "FLOAT", 5.0),
        ("float", 0.5, "DOUBLE", 0.5),
        ("int", 300, "TINYINT", 44),
        ("int", -40_000, "SMALLINT", 25_536),
        ("string", "ä", "STRING", "ä"),
        ("string", "ä", "BYTES", b"\xc3\xa4"),
        ("bytes", b"ab\xff", "STRING", "ab\ufffd"),
        ({"type": "string", "logicalType": "uuid"}, "5d7c6c4e-0000-4000-8000-000000000000", "STRING", None),
        (["null", "string"], None, "STRING", None),
        (["null", "int"], 3, "BIGINT", 3),
        (["string", "long"], 3, "BIGINT", 3),
        (["string", "long"], "x", "BIGINT", "column 'c': it was written as string, not as long"),
        ("long", 5, "INT", "column 'c': it was written as long, not as int"),
        ("double", 5.0, "FLOAT", "column 'c': it was written as double, not as float"),
        (COLOUR, "RED", "STRING", "column 'c': it was written as enum Colour, not as string"),
        (MILLIS, 1_700_000_000_123, "TIMESTAMP(3)", at("2023-11-14 22:13:20.123")),
        (MILLIS, -1, "TIMESTAMP(3)", at("1969-12-31 23:59:59.999")),
        ("long", 1000, "TIMESTAMP(3)", at("1970-01-01 00:00:01")),
        (MILLIS, 1 << 60, "TIMESTAMP(3)", "column 'c': the time is before the year 1 or after the year 9999"),
        (
            MICROS,
            5,
            "TIMESTAMP(3)",
            "column 'c': it was written as timestamp-micros, which Flink takes for millis here. Declare it BIGINT, or "
            "with as many digits",
        ),
        (MICROS, 5, "BIGINT", 5),
        ({"type": "int", "logicalType": "date"}, 19_723, "DATE", date(2024, 1, 1)),
        (TIME_OF_DAY, 3_723_004, "TIME(3)", time(1, 2, 3, 4000)),
        (TIME_OF_DAY, 90_000_000, "TIME(3)", "column 'c': the time is not within a day"),
        (CENTS, Decimal("-12.34"), "DECIMAL(6, 2)", Decimal("-12.34")),
        (CENTS, Decimal("1234.56"), "DECIMAL(5, 2)", None),
        (
            CENTS,
            Decimal("1.00"),
            "DECIMAL(6, 1)",
            "column 'c': it was written with 2 digits after the point, which Flink takes for 1. Declare it "
            "DECIMAL(6, 2)",
        ),
        ({"type": "array", "items": "int"}, [1, 2], "ARRAY<BIGINT>", [1, 2]),
        ({"type": "array", "items": ["null", "int"]}, [1, None], "ARRAY<INT>", [1, None]),
        ({"type": "map", "values": "int"}, {"a": 1}, "MAP<STRING, INT>", [("a", 1)]),
        (POINT, {"x": 1, "y": 2}, "ROW<y BIGINT, z INT>", {"y": 2, "z": None}),
        (["null", POINT], {"x": 1, "y": 2}, "ROW<x INT>", {"x": 1}),
        ({"type": "array", "items": POINT}, [{"x": 1, "y": 2}], "ARRAY<ROW<x INT>>", [{"x": 1}]),
        (POINT, {"x": 1, "y": 2}, "ROW<x STRING>", "column 'c.x': it was written as int, not as string"),
        ({"type": "array", "items": MILLIS}, [1], "ARRAY<TIMESTAMP(3)>", [at("1970-01-01 00:00:00.001")]),
    ],
)
def test_a_reader_has_of_a_writer_what_flink_has(written: Any, value: Any, type_: str, expected: Any) -> None:
    is_uuid = isinstance(written, dict) and written.get("logicalType") == "uuid"
    assert read(written, value, type_) == (value if is_uuid else expected)


@pytest.mark.parametrize(
    ("written", "value", "required", "expected"),
    [
        (["null", "int"], None, True, "column 'c': it is null, and the column is NOT NULL"),
        (["null", "int"], 1, True, 1),
        ({"type": "record", "name": "R", "fields": []}, {}, False, None),
        (
            {"type": "record", "name": "R", "fields": [{"name": "d", "type": "int"}]},
            {"d": 1},
            True,
            "column 'c': the message has no such field, and it is NOT NULL",
        ),
    ],
)
def test_null_and_nothing_in_columns_that_are_not_null(written: Any, value: Any, required: bool, expected: Any) -> None:
    assert read(written, value, "INT", required) == expected


@pytest.mark.parametrize(
    ("logical", "type_", "expected"),
    [
        ("timestamp-millis", "TIMESTAMP_LTZ(3)", at("1970-01-01 00:00:01Z")),
        ("local-timestamp-millis", "TIMESTAMP(3)", at("1970-01-01 00:00:01")),
        ("local-timestamp-micros", "TIMESTAMP(6)", at("1970-01-01 00:00:00.001")),
        ("timestamp-micros", "TIMESTAMP_LTZ(6)", at("1970-01-01 00:00:00.001Z")),
    ],
)
def test_the_mapping_of_timestamps_that_is_not_the_legacy_one(logical: str, type_: str, expected: datetime) -> None:
    assert read({"type": "long", "logicalType": logical}, 1000, type_, legacy=False) == expected


@pytest.mark.parametrize(
    ("type_", "said"),
    [
        ("TIMESTAMP(6)", "the column 'c' is a TIMESTAMP(6), of more digits than Flink reads from Avro"),
        ("TIMESTAMP_LTZ(3)", "the column 'c' is a TIMESTAMP_LTZ(3), which Flink reads from Avro only with"),
        ("MAP<INT, INT>", "the column 'c' is a MAP<INT, INT>; the keys of a map are texts in Avro"),
    ],
)
def test_types_that_flink_does_not_read_from_avro(type_: str, said: str) -> None:
    with pytest.raises(NoAvro) as caught:
        record_of([Column("c", type_from(type_))], [], legacy=True)
    assert str(caught.value).startswith(said)


def test_a_given_schema_reads_enums_aliases_and_defaults() -> None:
    assert read(COLOUR, "RED", "STRING", given_=of_one(COLOUR)) == "RED"
    renamed = {"type": "record", "name": "R", "fields": [{"name": "c", "type": "int", "aliases": ["old"]}]}
    old = {"type": "record", "name": "R", "fields": [{"name": "old", "type": "int"}]}
    assert read(old, {"old": 4}, "INT", given_=renamed) == 4
    with_default = {"type": "record", "name": "R", "fields": [{"name": "c", "type": "int", "default": 9}]}
    assert read(old, {"old": 4}, "INT", given_=with_default) == 9


def test_the_columns_of_a_schema() -> None:
    kinds: list[tuple[Any, str]] = [
        ("int", "INT"),
        (["null", "string"], "STRING"),
        (CENTS, "DECIMAL(6, 2)"),
        (MILLIS, "TIMESTAMP(3)"),
    ]
    points = {"type": "map", "values": POINT}
    kinds += [(MICROS, "BIGINT"), (COLOUR, "STRING"), (points, "MAP<STRING, ROW<`x` INT, `y` INT>>")]
    for schema, expected in kinds:
        found = type_of(schema_of([json.dumps(schema)]), legacy=True)
        assert found is not None
        assert found.flink == expected
    assert type_of(schema_of(['["int", "string"]']), legacy=True) is None


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ('"Nobody"', "refers to Nobody, which it does not define"),
        (json.dumps({**POINT, "fields": [{"name": "p", "type": ["null", "Point"]}]}), "contains itself (Point)"),
        ('{"type": "array", "items": "null"}', "makes very many values of few bytes, in an array"),
        ('{"type": "record", "name": "R"}', "is not one of Avro"),
        ('{"type": {"type": ' * 60 + '"int"' + "}}" * 60, "is nested more than 100 levels deep"),
        ("5", "is not one of Avro"),
    ],
)
def test_schemas_that_are_not_read(schema: str, said: str) -> None:
    with pytest.raises(BadSchema) as caught:
        decoder((schema,))
    assert str(caught.value).startswith(said)


def test_a_schema_that_doubles_at_each_level_is_not_read() -> None:
    text: Any = {"type": "record", "name": "R0", "fields": []}
    for level in range(1, 40):
        fields = [{"name": "a", "type": text}, {"name": "b", "type": f"R{level - 1}"}]
        text = {"type": "record", "name": f"R{level}", "fields": fields}
    with pytest.raises(BadSchema, match="more fields than are read here"):
        decoder((json.dumps(text),))


def test_schemas_that_a_schema_refers_to_come_before_it() -> None:
    texts = (json.dumps(POINT), json.dumps(of_one("Point")))
    decode = decoder(texts)
    assert decode(BytesIO(b"\x02\x04")) == {"c": {"x": 1, "y": 2}}


EVERYTHING = {
    "type": "record",
    "name": "All",
    "fields": [
        {"name": "i", "type": "int"},
        {"name": "s", "type": ["null", "string", "bytes"]},
        {"name": "a", "type": {"type": "array", "items": POINT}},
        {"name": "m", "type": {"type": "map", "values": "double"}},
        {"name": "e", "type": COLOUR},
        {"name": "f", "type": {"type": "fixed", "name": "F", "size": 3}},
    ],
}
WHOLE = encoded(EVERYTHING, {"i": 5, "s": "ab", "a": [{"x": 1, "y": 2}], "m": {"k": 1.5}, "e": "BLUE", "f": b"abc"})


@given(st.binary(max_size=60) | st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)))
def test_any_bytes_are_a_value_or_told_to_be_none(given_: bytes | tuple[int, int]) -> None:
    """Of random bytes, and of a value in which one byte is another."""
    if isinstance(given_, bytes):
        data = given_
    else:
        at, byte = given_
        data = WHOLE[:at] + bytes([byte]) + WHOLE[at + 1 :]
    columns = [Column("i", type_from("INT")), Column("a", type_from("ARRAY<ROW<x INT>>"))]
    reader = avro_reader("avro-confluent", columns, [], None, legacy=True, given="")
    found = reader.of_messages([b"\0\0\0\0\1" + data], {1: [json.dumps(EVERYTHING)]})
    assert len(found.owners) + len(found.reasons) == 1


def test_a_value_that_ends_too_early_is_told() -> None:
    decode = decoder((json.dumps(EVERYTHING),))
    for size in range(len(WHOLE)):
        with pytest.raises(Undecodable, match="it ends within its value"):
            decode(BytesIO(WHOLE[:size]))
