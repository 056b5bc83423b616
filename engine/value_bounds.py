"""Which values are never below zero, read from the text of Spark SQL expressions.

A sum of such values only grows, which spares TopN and MAX above it the retraction.
Like Flink, this knows comparisons with numbers, numbers themselves, CASE of numbers and casts; of
anything else it says nothing.
Source: Flink FlinkRelMdColumnInterval, FlinkRelMdFilteredColumnInterval.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from engine.references import plain_column
from engine.schema import Schema

_NUMBER: Final = r"\+?\d+(?:\.\d+)?[A-Z]{0,2}"
_NAME: Final = r"`(?:[^`]|``)+`|[^\W\d]\w*"
_LEAST: Final = re.compile(rf"\(*\s*({_NAME})\s*(?:>=?|=)\s*{_NUMBER}\s*\)*", re.IGNORECASE)
_LEAST_REVERSED: Final = re.compile(rf"\(*\s*{_NUMBER}\s*(?:<=?|=)\s*({_NAME})\s*\)*", re.IGNORECASE)
_AND: Final = re.compile(r"\s+AND\s+", re.IGNORECASE)
_OTHERWISE: Final = re.compile(r"\b(OR|NOT|BETWEEN|CASE)\b", re.IGNORECASE)
_CAST: Final = re.compile(rf"CAST\(\s*({_NAME})\s+AS\s+\w+(?:\([\d, ]+\))?\s*\)", re.IGNORECASE)
_CASE: Final = re.compile(r"CASE\s+WHEN\b(?!.*\bCASE\b).*\bEND", re.IGNORECASE | re.DOTALL)
_RESULT: Final = re.compile(r"\b(?:THEN|ELSE)\s+(.*?)(?=\s+(?:WHEN|ELSE|END)\b)", re.IGNORECASE | re.DOTALL)


def cast_column(expression: str) -> str:
    """What is cast, where an expression is the cast of a column; else the expression."""
    match = _CAST.fullmatch(expression.strip())
    return match[1] if match else expression


def required_non_negative(condition: str, schema: Schema) -> frozenset[str]:
    """The columns that a condition requires to be zero or more."""
    if "'" in condition or _OTHERWISE.search(condition):
        return frozenset()
    tests = (
        _LEAST.fullmatch(part.strip()) or _LEAST_REVERSED.fullmatch(part.strip()) for part in _AND.split(condition)
    )
    found = (plain_column(match[1], schema) for match in tests if match)
    return frozenset(column.name for column in found if column is not None)


def is_non_negative(expression: str, schema: Schema, known: Collection[str]) -> bool:
    """Whether a value is never below zero. known: the columns that are not."""
    text = expression.strip()
    column = plain_column(cast_column(text), schema)
    if column is not None:
        return column.name in known
    if re.fullmatch(_NUMBER, text, re.IGNORECASE):
        return True
    if _CASE.fullmatch(text) and "'" not in text:
        results = _RESULT.findall(text)
        return bool(results) and all(re.fullmatch(_NUMBER, result.strip(), re.IGNORECASE) for result in results)
    return False
