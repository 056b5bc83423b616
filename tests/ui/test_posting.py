"""The line that posts an example row to a source."""

from __future__ import annotations

import json
import shlex

from engine.model.schema import Column, TimeUnit
from engine.reading.files.received import rows_in
from ui.forms.posting import curl_line

COLUMNS = (
    Column("it's", "string"),
    Column("n", "bigint"),
    Column("at", "bigint", time=TimeUnit.EPOCH_MS),
    Column("amount", "decimal(10,2)"),
    Column("is_paid", "boolean"),
    Column("day", "date"),
    Column("seen", "timestamp"),
    Column("parts", "array<string>"),
    Column("place", "struct<x:int>"),
)
ROW = {
    "it's": "a",
    "n": 1,
    "at": 1769860800000,
    "amount": 9.5,
    "is_paid": True,
    "day": "2026-01-31",
    "seen": "2026-01-31 12:00:00",
    "parts": [],
    "place": {},
}


def words(line: str) -> list[str]:
    return shlex.split(line.replace("\\\n", " "))


def test_the_line_posts_a_row_with_a_value_of_each_declared_type() -> None:
    line = curl_line("https://studio.example.com", "orders", COLUMNS, with_token=False)
    *command, row = words(line)
    address = "https://studio.example.com/rows/orders"
    assert command == ["curl", address, "-H", "Content-Type: application/json", "-d"]
    assert [json.loads(each) for each in rows_in(row.encode())] == [ROW]


def test_with_tokens_the_line_sends_one_and_without_columns_it_has_some_row() -> None:
    line = curl_line("http://localhost:8501", "orders", (), with_token=True)
    assert 'Authorization: Bearer $TOKEN"' in line
    assert json.loads(words(line)[-1]).keys() == {"id", "amount", "ts"}
