"""The inferred types of nested JSON, and how values that the sample did not foresee are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.local.parsed import Parsed, parsed_rows
from engine.reading.documents.shapes import infer_nested
from engine.sources.jsonl import JsonLines


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ([1, 2.5, None], "DOUBLE"),
        (
            [{"city": "Bonn", "zip": 5}, None, {"city": "Ulm", "at": "2024-05-01"}],
            "ROW<city STRING, zip BIGINT, at DATE>",
        ),
        ([{"a": {"b": {"c": [1]}}}], "ROW<a ROW<b ROW<c ARRAY<BIGINT>>>>"),
        ([{"a": None}], "ROW<a STRING>"),
        ([[{"sku": 7}], [], [{"sku": 8, "gift": True}]], "ARRAY<ROW<sku BIGINT, gift BOOLEAN>>"),
        ([[], [1]], "ARRAY<BIGINT>"),
        ([[[1]], [[2.5]]], "ARRAY<ARRAY<DOUBLE>>"),
        ([[]], "ARRAY<STRING>"),
        ([[1, "a"]], "ARRAY<STRING>"),
        ([[1, {"a": 1}]], "ARRAY<STRING>"),
        ([{"a": 1}, 5], "STRING"),
        ([{"a": 1}, [5]], "STRING"),
    ],
)
def test_objects_are_rows_and_lists_arrays(values: list[Any], type_: str) -> None:
    assert infer_nested(values).flink.replace("`", "") == type_


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ([{"u1": 3}, {"u2": 1}, {"u3": 2}], "MAP<STRING, BIGINT>"),
        ([{"u1": 3}, {"u2": 1.5}, {"u3": None}], "MAP<STRING, DOUBLE>"),
        ([{"u1": {"n": 3}}, {"u2": {"n": 1}}, {"u3": {"m": "x"}}], "MAP<STRING, ROW<n BIGINT, m STRING>>"),
        # Two keys are too few; a key that most objects have is a name, and so are those whose values differ in type.
        ([{"u1": 3}, {"u2": 1}], "ROW<u1 BIGINT, u2 BIGINT>"),
        ([{"id": 1, "u1": 3}, {"id": 2, "u2": 1}, {"u3": 2}], "ROW<id BIGINT, u1 BIGINT, u2 BIGINT, u3 BIGINT>"),
        ([{"x": 1}, {"on": True}, {"key": "a"}], "ROW<x BIGINT, on BOOLEAN, key STRING>"),
        ([{}, {}], "MAP<STRING, STRING>"),
        ([{"": 1}], "MAP<STRING, BIGINT>"),
        ([{"a": 1, "A": "x"}], "MAP<STRING, STRING>"),
        ([{f"k{at}": at if at % 2 else "x"} for at in range(101)], "MAP<STRING, STRING>"),
    ],
)
def test_an_object_is_a_map_if_its_keys_are_values_rather_than_names(values: list[Any], type_: str) -> None:
    assert infer_nested(values).flink.replace("`", "") == type_


def test_what_is_nested_too_deeply_is_its_json() -> None:
    deep: Any = 1
    for _ in range(40):
        deep = {"a": deep}
    assert str(infer_nested([deep])).count("struct") == 12


def parsed(folder: Path, *values: str, sample: int = 2, **parameters: Any) -> Parsed:
    lines = [f'{{"v": {value}}}' for value in values]
    (folder / "in.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    source = JsonLines(path="in.jsonl", sample_rows=sample, nested_types=True, **parameters)
    found = parsed_rows(source, source.derive("n", folder).schema, "n", folder, rows=100)
    assert found is not None
    return found


# Flink's JSON format reads each of these values of ROW<a BIGINT, b STRING, c ARRAY<BIGINT>> so, in both of its parsers.
@pytest.mark.parametrize(
    ("value", "row"),
    [
        ("null", None),
        ('{"a": 1}', {"a": 1, "b": None, "c": None}),
        ('{"z": 1}', {"a": None, "b": None, "c": None}),
        ('{"a": "12", "b": 5}', {"a": 12, "b": "5", "c": None}),
        ('{"b": true}', {"a": None, "b": "true", "c": None}),
        ('{"b": {"q": [1, 2]}}', {"a": None, "b": '{"q":[1,2]}', "c": None}),
        ('{"c": [1, null, "3"]}', {"a": None, "b": None, "c": [1, None, 3]}),
    ],
)
def test_what_the_sample_did_not_foresee_is_null_or_converted(tmp_path: Path, value: str, row: Any) -> None:
    found = parsed(tmp_path, '{"a": 7, "b": "x", "c": [1]}', "null", value)
    assert [found.rows[2], found.rejected] == [(row,), []]


# Where Flink's format makes NULL of what does not fit, or fails, the row is rejected, as for a column of one value.
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ('"t"', "column 'v': \"t\" is not a ROW<`a` BIGINT, `b` MAP<STRING, BIGINT>, `c` ARRAY<ROW<`d` DATE>>>"),
        ('{"a": "x"}', "column 'v', .a: \"x\" is not a BIGINT"),
        ('{"a": 1.5}', "column 'v', .a: \"1.5\" is not a BIGINT"),
        ('{"a": true}', "column 'v', .a: \"true\" is not a BIGINT"),
        ('{"b": {"k": 1, "m": "x"}}', "column 'v', .b['m']: \"x\" is not a BIGINT"),
        ('{"b": [1]}', "column 'v', .b: \"[1]\" is not a MAP<STRING, BIGINT>"),
        ('{"c": [{}, {"d": "soon"}]}', "column 'v', .c[2].d: \"soon\" is not a DATE"),
        ('{"c": {"d": 1}}', 'column \'v\', .c: "{"d":1}" is not an ARRAY<ROW<`d` DATE>>'),
    ],
)
def test_a_value_of_another_type_rejects_its_row_with_its_place(tmp_path: Path, value: str, reason: str) -> None:
    sample = [
        '{"a": 1, "b": {"x": 1}, "c": [{"d": "2024-05-01"}]}',
        '{"b": {"y": 1}}',
        '{"b": {"z": 1}}',
    ]
    found = parsed(tmp_path, *sample, value, sample=3)
    assert [(each.line, each.reason) for each in found.rejected] == [(4, reason)]


def test_documents_without_the_switch_keep_nested_values_as_json(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(json.dumps({"v": {"a": 1}, "n": [1]}) + "\n", encoding="utf-8")
    old, new = JsonLines(path="in.jsonl"), JsonLines(**JsonLines.parameters_for("in.jsonl"))
    types = [[str(column.type) for column in each.derive("n", tmp_path).schema] for each in (old, new)]
    assert types == [["string", "array<bigint>"], ["struct<`a`:bigint>", "array<bigint>"]]
