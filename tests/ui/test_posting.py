"""The line that posts an example row to a source."""

from __future__ import annotations

import json
import shlex

from engine.model.schema import Column, TimeUnit
from engine.model.type_texts import spark_type
from engine.model.types import BIGINT, BOOLEAN, DATE, STRING, TIMESTAMP
from engine.reading.files.received import rows_in
from ui.forms.posting import curl_line

COLUMNS = (
    Column("it's", STRING),
    Column("n", BIGINT),
    Column("at", BIGINT, time=TimeUnit.EPOCH_MS),
    Column("amount", spark_type("decimal(10,2)")),
    Column("is_paid", BOOLEAN),
    Column("day", DATE),
    Column("seen", TIMESTAMP),
    Column("parts", spark_type("array<string>")),
    Column("place", spark_type("struct<x:int>")),
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
