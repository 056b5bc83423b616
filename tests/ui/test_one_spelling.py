"""One spelling per concept in what users read: the texts of the engine and of the pages, f-strings with holes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDERS: Final = ("engine", "ui")
# What is written otherwise, and how it is spelled.
OTHERWISE: Final = {
    r"\[I(?:,U[BA]|,D)*\]|\bI,U[BA]\b": "+I -U +U -D",
    r"(?i)\btimestamp_ntz\b": "TIMESTAMP",
    r"\bUPDATE_(?:BEFORE|AFTER)\b": "-U, +U",
    r"\bwater[- ]mark|\bwater-marks?\b": "watermark",
    r"\bchange log\b": "changelog",
    r"\bminibatch|\bmini batch": "mini-batch",
    # A record is on an edge, an event arrives.
    r"\bemit(?:s|ted)? (?:\{\} |an? |no |\d+ )?events?\b|\bevents? (?:is|are|was|were) emitted\b": "emits records",
    r"\b(?:late|dropped|rejected) events?\b": "late records, rejected rows",
    r"\bevents? (?:is|are|was|were) (?:late|dropped|retracted|rejected)\b": "records are late",
    r"\brejected records?\b": "rejected rows",
    r"\bretraction events?\b|\bretract(?:s|ed)? (?:an? |the )?events?\b": "retractions",
}
_WORDS: Final = re.compile(r"[A-Za-z]{2,}[^A-Za-z]+[A-Za-z]{2,}[^A-Za-z]+[A-Za-z]{2,}")
_NONE: Final = re.compile(r"^\n|\(\?|\b(?:SELECT|CAST|CREATE|INSERT INTO|AS TIMESTAMP_NTZ|MAP\[)|\{\d+\}")


def sentences(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a module with their lines: of three words and more.

    Docstrings, SQL, patterns, and texts that begin with a line break are none.
    """
    left_out: set[ast.AST] = set()
    # Parents come before their children.
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            left_out.add(node.value)
            continue
        if isinstance(node, ast.JoinedStr):
            left_out.update(node.values)
            text = "".join(str(each.value) if isinstance(each, ast.Constant) else "{}" for each in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in left_out:
            text = node.value
        else:
            continue
        if _WORDS.search(text) and not _NONE.search(text):
            yield node.lineno, text


@cache
def all_sentences() -> list[tuple[Path, int, str]]:
    return [
        (path, line, text)
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line, text in sentences(path)
    ]


def test_there_are_sentences() -> None:
    assert len(all_sentences()) > 2000


@pytest.mark.parametrize("pattern", OTHERWISE)
def test_a_concept_has_one_spelling(pattern: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text[:120]!r}, which is written {OTHERWISE[pattern]}"
        for path, line, text in all_sentences()
        if re.search(pattern, text)
    ]
    assert found == []
