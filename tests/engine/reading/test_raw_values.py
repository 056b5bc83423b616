"""A message that is one value: what Flink 2.3 made of the bytes, and why it refused some."""

from __future__ import annotations

from typing import Any

import pytest

from engine.model.schema import Column
from engine.model.type_texts import type_from
from engine.reading.servers.raw_values import RawReader
from engine.reading.typed.typed_rows import RowTypes

CASES: list[tuple[str, dict[str, Any], bytes, Any]] = [
    ("int", {}, b"\0\0\1\2", 258),
    ("int", {"is_little": True}, b"\0\0\1\2", 33619968),
    ("smallint", {}, b"\xff\xfe", -2),
    ("bigint", {}, b"\0\0\0\1\0\0\0\0", 1 << 32),
    ("tinyint", {}, b"\x80", -128),
    ("double", {"is_little": True}, b"\0\0\0\0\0\0\xf8\x3f", 1.5),
    ("float", {}, b"\x3f\xc0\0\0", 1.5),
    ("boolean", {}, b"\1", True),
    ("boolean", {}, b"\2", True),
    ("boolean", {}, b"\0", False),
    ("string", {}, "a\r\nb\u00e9\n".encode(), "a\r\nb\u00e9\n"),
    ("string", {}, b"", ""),
    ("string", {}, b"caf\xe9", "caf\ufffd"),
    ("string", {"charset": "ISO-8859-1"}, b"caf\xe9", "caf\u00e9"),
    ("string", {"charset": "UTF-16"}, b"\0a\0\n", "a\n"),
    ("string", {"charset": "UTF-16"}, b"\xff\xfea\0", "a"),
    ("binary", {}, b"\xff\n\0", b"\xff\n\0"),
]


def reader(type_: str, **options: Any) -> RawReader:
    return RawReader(RowTypes((Column("v", type_from(type_)),)), **options)


@pytest.mark.parametrize(("type_", "options", "message", "value"), CASES)
def test_a_message_is_one_value(type_: str, options: dict[str, Any], message: bytes, value: Any) -> None:
    read = reader(type_, **options).of_messages([message], {})
    assert (read.records.to_pylist(), read.owners, read.reasons) == ([{"v": value}], [0], {})


def test_a_message_of_another_length_is_rejected_and_the_others_stay() -> None:
    read = reader("int").of_messages([b"abc", b"\0\0\0\1", b"", b"\0\0\0\2", b"x"], {})
    assert read.records.column("v").to_pylist() == [1, 2]
    assert read.owners == [1, 3]
    assert read.reasons == {
        0: "it has 3 bytes, but INT has 4 bytes",
        2: "it has 0 bytes, but INT has 4 bytes",
        4: "it has 1 byte, but INT has 4 bytes",
    }
