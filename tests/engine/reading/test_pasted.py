"""Pasted rows, stored as files."""

from __future__ import annotations

import pytest

from engine.errors import PipelineError
from engine.reading.files import pasted as module
from engine.reading.files.pasted import pasted

CASES = {
    "cells of a spreadsheet": ("id\tname\n1\ta, b\n", "pasted.tsv", "id\tname\n1\ta, b\n"),
    "a text after blank lines": ("\r\n\nid,name\r\n1,x", "pasted.csv", "id,name\r\n1,x\n"),
    "a first column that is empty": ("\tname\n1\tx", "pasted.tsv", "\tname\n1\tx\n"),
    "objects, one per line": ('{"a": 1}\n{"a": 2}', "pasted.jsonl", '{"a": 1}\n{"a": 2}\n'),
    "an array of objects": ('[{"a": "ü"},\n {"a": 2}]', "pasted.jsonl", '{"a": "ü"}\n{"a": 2}\n'),
    "an object over several lines": ('{\n  "a": 1\n}', "pasted.jsonl", '{   "a": 1 }\n'),
}


@pytest.mark.parametrize("name", CASES)
def test_a_text_becomes_a_file(name: str) -> None:
    text, file, content = CASES[name]
    assert pasted(text) == (file, content.encode())


def test_nothing_and_too_much_are_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PipelineError, match="There is no row. Copy cells"):
        pasted(" \n\n")
    monkeypatch.setattr(module, "MOST_CHARS", 3)
    with pytest.raises(PipelineError, match="more than 3 characters"):
        pasted("a,b\n1,2")
