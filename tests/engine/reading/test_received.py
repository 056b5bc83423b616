"""Rows that are posted: which bodies are rows, and that what was kept is whole lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.reading.received import NotReceived, is_address, receive, received_file, rows_in


@pytest.mark.parametrize(
    ("body", "rows"),
    [
        (b'{"a": 1}', ['{"a": 1}']),
        (b'[{"a": 1.10}, {"a": "\xc3\xa4"}]', ['{"a": 1.10}', '{"a": "ä"}']),
        (b'{"a": 1}\n\n{"a": {"b": "x\\ny"}}\r\n', ['{"a": 1}', '{"a": {"b": "x\\ny"}}']),
        (b'\xef\xbb\xbf{\n "a": 12345678901234567890.123\n}', ['{  "a": 12345678901234567890.123 }']),
    ],
)
def test_an_object_an_array_or_lines_are_rows(body: bytes, rows: list[str]) -> None:
    assert rows_in(body) == rows


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "The body has no rows"),
        (b" [ ] ", "The body has no rows"),
        (b'{"a": 1}\n{"a": ', "is not JSON: Expecting value at character 10"),
        (b'{"a": NaN}', "NaN is no JSON value at character 1"),
        (b'[{"a": 1}, 2]', "At character 12 is no JSON object"),
        (b'[{"a": 1} {"a": 2}]', "a comma is missing at character 11"),
        (b'[{"a": 1}] x', "does not end as it should, at character 10"),
        (b'[{"a": 1},', "does not end as it should, at character 11"),
        (b'{"a": 1}\n[1]', "At character 10 is no JSON object"),
        (b'{"a": "\xff"}', "The body is not UTF-8 at byte 7"),
        (b'{"a":' * 100_000, "nested too deeply"),
    ],
)
def test_anything_else_is_a_sentence(body: bytes, sentence: str) -> None:
    with pytest.raises(NotReceived, match=sentence):
        rows_in(body)


def test_what_a_post_that_was_cut_off_left_behind_goes_with_the_next_one(tmp_path: Path) -> None:
    receive(tmp_path, "orders", ['{"a":1}'])
    path = received_file(tmp_path, "orders")
    with path.open("a") as file:
        file.write('{"a":')
    receive(tmp_path, "orders", ['{"a":2}', '{"a":3}'])
    assert path.read_text() == '{"a":1}\n{"a":2}\n{"a":3}\n'
    path.write_text("x" * 200_000)
    receive(tmp_path, "orders", ['{"a":4}'])
    assert path.read_text() == '{"a":4}\n'


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a.b", "-a", "a" * 65, "ä"])
def test_an_address_is_a_plain_name(name: str) -> None:
    assert is_address("orders_2-b")
    assert not is_address(name)
