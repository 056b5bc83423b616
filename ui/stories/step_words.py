"""The words of a step as Markdown: bold, italic and code are marks, lines stay lines, and all else is text."""

from __future__ import annotations

import re
from typing import Final

from ui.shell import words

_CODE: Final = re.compile(r"(`[^`\n]+`)")
# Not one between spaces, or at the head of a line.
_MARK: Final = re.compile(r"\\\*(?=\S)|(?<=\S)\\\*")


def as_markdown(text: str) -> str:
    """The words, without links, pictures, headings, formulas, or HTML."""
    parts = _CODE.split(text.strip())
    told = "".join(words.code(part) if at % 2 else _MARK.sub("*", words.escaped(part)) for at, part in enumerate(parts))
    return re.sub(r"\n(?!\n)", "  \n", told)
