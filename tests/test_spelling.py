"""One spelling per concept in all sentences of the studio: Flink SQL's types, and the signs of kinds.

Types are written as in Flink SQL: TIMESTAMP(3), never timestamp_ntz. Modes are written as signs, +I -U +U, wherever
people read them: on edges, in sentences, by `explain`. Documents, the store and what compares with plans of Flink keep
[I,UB,UA].
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parent.parent
SOURCES: Final = sorted(path for folder in ("engine", "ui", "storage") for path in (ROOT / folder).rglob("*.py"))
DOCUMENTS: Final = sorted(path for path in ROOT.rglob("*.md") if "node_modules" not in path.parts)
_SQL: Final = re.compile(r"\b(CAST|CASE|SELECT|TIMESTAMP|BD)\b")
_SENTENCE: Final = re.compile(r"(?:^|\s)(?:is|not|of|of type|in|and|with|emits|needs|but|has|fit|the type|mode) $")
_MODE: Final = re.compile(r"\[I(,U[AB])+(,D)?\]|\[I,D\]")
_SPARKS: Final = re.compile(r"\btimestamp_(ntz|ltz)\b")
_SOURCE_RECORD: Final = re.compile("source records?", re.IGNORECASE)


def sentences(path: Path) -> Iterator[ast.JoinedStr]:
    """The f-strings of a file that are read by people, not by Spark or DuckDB."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            text = "".join(part.value for part in node.values if isinstance(part, ast.Constant))
            if " " in text.strip() and not _SQL.search(text):
                yield node


def shown_raw(sentence: ast.JoinedStr) -> Iterator[str]:
    """The types and modes that a sentence writes as documents have them, by their expressions."""
    for before, part in zip((None, *sentence.values), sentence.values, strict=False):
        if not isinstance(part, ast.FormattedValue) or part.conversion != -1:
            continue
        if not (isinstance(before, ast.Constant) and _SENTENCE.search(str(before.value))):
            continue
        match part.value:
            case ast.Name(id="type_" as name) | ast.Attribute(attr="type" as name) | ast.Name(id="mode" as name):
                yield name
            case ast.Attribute(attr="mode", value=ast.Name(id=owner)) if owner != "self":
                yield f"{owner}.mode"


def test_sentences_write_types_and_modes_as_people_read_them() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{sentence.lineno}: {raw}"
        for path in SOURCES
        for sentence in sentences(path)
        for raw in shown_raw(sentence)
    ]
    assert found == [], "write .flink of a type, .signs of a mode"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('f"the column {name!r} is {column.type}, which has no order."', ["type"]),
        ('f"the column {name!r} is {column.type.flink}, which has no order."', []),
        ('f"{node} emits {input_.mode}, so rows are also retracted"', ["input_.mode"]),
        ('f"{node} emits {input_.mode.signs}, so rows are also retracted"', []),
        ('f"CAST({value} AS {type_})"', []),
    ],
)
def test_the_scan_tells_them_apart(line: str, found: list[str], tmp_path: Path) -> None:
    path = tmp_path / "one.py"
    path.write_text(line)
    assert [raw for sentence in sentences(path) for raw in shown_raw(sentence)] == found


def test_documents_and_pages_have_one_spelling_for_modes_and_types() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line}"
        for path in (*DOCUMENTS, *(ROOT / "ui" / "stories").glob("*.json"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if _MODE.search(line) or _SPARKS.search(line)
    ]
    assert found == []


def test_what_a_source_sends_is_an_event_on_every_page() -> None:
    """An event is what a source sends, with its number; records are what it causes on edges."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.value}"
        for path in SOURCES
        if path.is_relative_to(ROOT / "ui") or path.is_relative_to(ROOT / "engine" / "command_line")
        for node in shown_texts(path)
        if _SOURCE_RECORD.search(str(node.value))
    ]
    assert found == [], "write event"


def shown_texts(path: Path) -> Iterator[ast.Constant]:
    """The texts of a file that are no docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node
