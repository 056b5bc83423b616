"""Posted rows: which bodies are accepted, and that stored rows are complete lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.contract.live import Decision
from engine.reading.files import received
from engine.reading.files.received import (
    NotReceived,
    forget_read,
    is_address,
    receive,
    received_file,
    received_files,
    rows_in,
)


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
        (b'[{"a": 1}, 2]', "The body has no JSON object at character 12"),
        (b'[{"a": 1} {"a": 2}]', "a comma is missing at character 11"),
        (b'[{"a": 1}] x', "does not end properly, at character 10"),
        (b'[{"a": 1},', "does not end properly, at character 11"),
        (b'{"a": 1}\n[1]', "The body has no JSON object at character 10"),
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


def test_files_that_a_run_has_let_go_go_where_no_other_run_needs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(received, "FILE_BYTES", 1)
    for at in range(5):
        receive(tmp_path, "orders", [f'{{"a":{at}}}'])
    receive(tmp_path, "other", ['{"a":1}'])
    receive(tmp_path, "other", ['{"a":2}'])

    def epoch(*numbers: int) -> str:
        names = ["received/orders.jsonl" if not at else f"received/orders.part{at:06}.jsonl" for at in numbers]
        return Decision({"rows": [[f"/x/{name}", name, 0, 8] for name in names], "more": None}).to_json()

    def left() -> list[str]:
        return [path.name for path in received_files(tmp_path, "orders")]

    forget_read(tmp_path, ["", Decision({}).to_json()], list)
    forget_read(tmp_path, [epoch(2, 3), epoch(3)], lambda: [epoch(0)])
    assert len(left()) == 5
    forget_read(tmp_path, [epoch(2, 3), epoch(3)], lambda: [epoch(1)])
    assert left() == [f"orders.part{at:06}.jsonl" for at in (1, 2, 3, 4)]
    forget_read(tmp_path, [epoch(3, 4), epoch(4)], list)
    assert left() == ["orders.part000003.jsonl", "orders.part000004.jsonl"]
    assert len(received_files(tmp_path, "other")) == 2
    receive(tmp_path, "orders", ['{"a":5}'])
    assert left()[-1] == "orders.part000005.jsonl"
