r"""Pasted rows, as a file that a source reads: a JSON object per line, or fields between separators.

    {"id": 1}         .jsonl; an array of objects becomes one per line
    a<tab>b           .tsv, as spreadsheets and query tools copy
    a,b  a;b  a|b     .csv
    lines of a log    .log

The first line of other texts has the names.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from engine.errors import PipelineError
from engine.reading.files.object_lines import NotObjects, object_lines
from engine.reading.typed.log_times import is_log

MOST_CHARS: Final = 5_000_000
"""The most text that can be pasted; anything larger has to be a file."""


class Pasted(NamedTuple):
    """A file: its name and its content."""

    name: str
    content: bytes


def pasted(text: str) -> Pasted:
    """The file for a text. Raises PipelineError for a text without rows."""
    rows = text.strip("\r\n").lstrip("\ufeff")
    if not rows.strip():
        message = "There is no row. Copy cells from a spreadsheet, CSV or JSON Lines, and paste them."
        raise PipelineError(message)
    if len(rows) > MOST_CHARS:
        message = f"There are more than {MOST_CHARS:,} characters. Save them as a file, and drop that."
        raise PipelineError(message)
    if rows.lstrip()[:1] in ("{", "["):
        return Pasted("pasted.jsonl", _one_per_line(rows).encode())
    first_line = rows.partition("\n")[0]
    if is_log(first_line):
        return Pasted("pasted.log", f"{rows}\n".encode())
    ending = ".tsv" if "\t" in first_line else ".csv"
    return Pasted(f"pasted{ending}", f"{rows}\n".encode())


def _one_per_line(text: str) -> str:
    """An array of objects, or objects over several lines, as one line per object; other lines unchanged."""
    try:
        return "".join(f"{line}\n" for line in object_lines(text))
    except NotObjects:
        return f"{text}\n"
