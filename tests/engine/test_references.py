"""Which columns stand in an expression."""

from __future__ import annotations

import pytest

from engine.references import mentioned, plain_column
from engine.schema import Column, Schema

SCHEMA = Schema((Column("k", "string"), Column("Amount", "bigint"), Column("it's `odd`", "bigint")))


@pytest.mark.parametrize(
    ("expression", "columns"),
    [
        ("amount > 10", {"Amount"}),
        ("k = 'amount'", {"k"}),
        ('k = "amount"', {"k"}),
        ("k = 'it''s' AND amount > 1", {"k", "Amount"}),
        ("`it's ``odd``` > 0 AND k = 'x'", {"it's `odd`", "k"}),
        (r"k = r'\' OR amount > 1 OR k = 'x'", {"k", "Amount"}),
        ("true", set()),
        ("upper(k) LIKE 'A%'", {"k"}),
    ],
)
def test_columns_outside_of_texts_are_mentioned(expression: str, columns: set[str]) -> None:
    assert mentioned(expression, SCHEMA) == columns


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("k", "k"),
        (" AMOUNT ", "Amount"),
        ("`it's ``odd```", "it's `odd`"),
        ("k + 1", None),
        ("x", None),
        ("null", None),
    ],
)
def test_only_a_bare_column_is_plain(expression: str, name: str | None) -> None:
    found = plain_column(expression, SCHEMA)
    assert (found.name if found else None) == name
