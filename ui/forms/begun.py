"""What a word means that was typed into a list which takes other values too: the choice that it begins.

Streamlit's list takes what is typed before any of its choices, so that "am" and Enter would never be `amount`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_WORD: Final = re.compile(r"[^\W\d][\w.]*")
# All that is an expression of one word.
_MOMENTS: Final = ("current_date", "current_time", "current_timestamp", "localtime", "localtimestamp")
_CONSTANTS: Final = ("true", "false", "null", "unknown", *_MOMENTS)


def begun(typed: str, choices: Sequence[str]) -> str | None:
    """The choice that has the typed word in another case, else the first that begins with it; None if none does."""
    word = typed.strip().lower()
    if not _WORD.fullmatch(word) or word in _CONSTANTS:
        return None
    matches = [choice for choice in choices if choice.lower().startswith(word)]
    return min(matches, key=lambda each: each.lower() != word, default=None)


def without_words(chosen: str, names: Sequence[str]) -> str:
    """The name of a chosen column. If the choices were drawn again, the browser may send a choice's label instead."""
    name, mark, _ = chosen.rpartition(" · ")
    return name if mark and chosen not in names else chosen
