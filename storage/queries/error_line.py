"""The line of a query to which an error message of DuckDB refers."""

from __future__ import annotations

import re
from typing import Final

_PLACE: Final = re.compile(r"^(LINE (\d+): )(.*)\n( *)\^", re.MULTILINE)
_WORD: Final = re.compile(r'"[^"]+"|\w+')


def line_of(message: str, asked: str, text: str) -> int:
    """The line of `text`, from 1, to which a message of DuckDB about `asked` points; 0 if that is uncertain.

    `asked` may be the text as rewritten by DuckDB, which has one line. In that case, the text is searched for the word
    under the mark, which must occur in one line only.
    """
    place = _PLACE.search(message)
    if place is None:
        return 0
    if asked == text:
        return int(place[2])
    word = _WORD.match(place[3], len(place[4]) - len(place[1]))
    if word is None:
        return 0
    whole = re.compile(rf"(?<!\w){re.escape(word[0].strip(chr(34)))}(?!\w)", re.IGNORECASE)
    lines = [number for number, line in enumerate(text.splitlines(), 1) if whole.search(line)]
    return lines[0] if len(lines) == 1 else 0
