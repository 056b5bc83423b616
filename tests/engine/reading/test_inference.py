"""The inferred types of a file's columns."""

from __future__ import annotations

from typing import Any

import pytest

from engine.reading.typed.inference import infer_json, infer_text


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ([], "string"),
        ([None, None], "string"),
        (["1", None, "-2", "+3"], "bigint"),
        (["1", "2.5"], "double"),
        (["1e3", ".5", "5."], "double"),
        (["007", "123"], "string"),
        (["00.5"], "double"),
        (["9223372036854775807"], "bigint"),
        (["9223372036854775808"], "string"),
        (["true", "FALSE"], "boolean"),
        (["true", "1"], "string"),
        (["2024-05-01"], "date"),
        (["2024-02-30"], "string"),
        (["2024-05-01 10:00:00", "2024-05-01T10:00"], "timestamp_ntz"),
        (["2024-05-01T10:00:00Z"], "timestamp"),
        (["2024-05-01 10:00:00.123456 +02:00"], "timestamp"),
        (["2024-05-01 10:00:00", "2024-05-01T10:00:00+0200"], "timestamp"),
        (["2024-05-01", "2024-05-01 10:00:00"], "timestamp_ntz"),
        (["2024-05-01 25:00:00"], "string"),
        (["10:00:00"], "string"),
        (["1", "x"], "string"),
        (["NaN"], "string"),
        ([" 12 "], "bigint"),
    ],
)
def test_a_column_of_texts(values: list[str | None], type_: str) -> None:
    assert str(infer_text(values)) == type_


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ([1, None, 2], "bigint"),
        ([1, 2.5], "double"),
        ([True], "boolean"),
        (["12"], "string"),
        (["2024-05-01T10:00:00Z"], "timestamp"),
        ([[1, 2], [3.5]], "array<double>"),
        ([["a", None]], "array<string>"),
        ([["a", 1]], "string"),
        ([{"a": 1}], "string"),
        ([[{"a": 1}]], "string"),
        ([[]], "array<string>"),
        ([1 << 63], "string"),
        ([1, "a"], "string"),
    ],
)
def test_a_column_of_json(values: list[Any], type_: str) -> None:
    assert str(infer_json(values)) == type_
