"""Texts that have half of a character: no file and no engine accepts them.

A lone surrogate comes from `"\\ud800"` in JSON: in documents, in what the browser sends of a table or of the canvas.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

_HALF: Final = re.compile("[\ud800-\udfff]")


def half_character(value: Any) -> str | None:
    """The first half of a character in a value of JSON, as people write it; None if all are whole."""
    half = _HALF.search(json.dumps(value, ensure_ascii=False, default=str))
    return None if half is None else ascii(half[0])


def half_at(text: str) -> int | None:
    """The place of the first half of a character in a text, from 0; None if all are whole."""
    half = None if text.isascii() else _HALF.search(text)
    return None if half is None else half.start()
