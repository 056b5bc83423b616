"""The records of a range of numbers, as workers make them: each is a function of the seed and its number alone."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import pyarrow as pa

from engine.contract.scan import ReadPart, Rejected
from engine.model.schema import Schema
from engine.model.types import BOOLEAN, Type
from engine.reading.faker.choosing import Chooser
from engine.reading.faker.values import Made, text
from engine.reading.typed.typed_rows import RowTypes, records_of

PART_RECORDS: Final = 20_000
_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?")


class Element(NamedTuple):
    """One value of a column: a field of a ROW, a key or value of a MAP, or the column itself. type: Spark's."""

    name: str
    type: Type
    parts: tuple[Made, ...]


class FakedColumn(NamedTuple):
    """A column. shape: scalar, array, map, multiset or row. length: of a collection."""

    name: str
    shape: str
    elements: tuple[Element, ...]
    length: int
    null_rate: float


class Recipe(NamedTuple):
    """The columns of a source with its seed and its clock: record n is at start_ms + n * step_ms."""

    columns: tuple[FakedColumn, ...]
    seed: int
    start_ms: int
    step_ms: float


class FakedPart(NamedTuple):
    """The records from `first` up to, but not including, `end`."""

    source: Recipe
    schema: Schema
    node: str
    first: int
    end: int


def read(part: FakedPart) -> Iterator[ReadPart]:
    """The records of a part; values that do not fit their types are rejected, with the reason."""
    numbers = range(part.first, part.end)
    choose = Chooser()
    columns = [_texts(column, part.source, numbers, choose) for column in part.source.columns]
    types = RowTypes(tuple(part.schema.column(column.name, part.node) for column in part.source.columns))
    arrays = [pa.array(texts, pa.string()) for texts in columns]
    typed, reasons = types.judged(arrays)
    lines = [number + 1 for number in numbers]
    rejected = [
        Rejected(part.node, lines[at], json.dumps([texts[at] for texts in columns]), reason)
        for at, reason in sorted(reasons.items())
    ]
    records, record_lines = records_of(types.batch(typed), lines, set(reasons))
    yield ReadPart(records, part.node, record_lines, rejected)


def _texts(column: FakedColumn, source: Recipe, numbers: Sequence[int], choose: Chooser) -> list[str | None]:
    texts: list[str | None] = []
    for number in numbers:
        choose.begin(source.seed, column.name, number)
        is_null = column.null_rate > 0 and choose.share() < column.null_rate
        texts.append(None if is_null else _one(column, choose, source.start_ms + number * source.step_ms))
    return texts


def _one(column: FakedColumn, choose: Chooser, now_ms: float) -> str:
    first = column.elements[0]
    match column.shape:
        case "scalar":
            return text(first.parts, choose, now_ms)
        case "array":
            return f"[{', '.join(_json(first, choose, now_ms) for _ in range(column.length))}]"
        case "map":
            # A key that comes twice keeps its last value, as in a map of Java.
            pairs = {
                text(first.parts, choose, now_ms): _json(column.elements[1], choose, now_ms)
                for _ in range(column.length)
            }
            return f"{{{', '.join(f'{json.dumps(key)}: {value}' for key, value in pairs.items())}}}"
        case "multiset":
            counts = Counter(text(first.parts, choose, now_ms) for _ in range(column.length))
            return f"{{{', '.join(f'{json.dumps(value)}: {count}' for value, count in counts.items())}}}"
    fields = (f"{json.dumps(element.name)}: {_json(element, choose, now_ms)}" for element in column.elements)
    return f"{{{', '.join(fields)}}}"


def _json(element: Element, choose: Chooser, now_ms: float) -> str:
    value = text(element.parts, choose, now_ms)
    if element.type.is_number:
        return value if _NUMBER.fullmatch(value) else json.dumps(value)
    return value if element.type == BOOLEAN and value in ("true", "false") else json.dumps(value)
