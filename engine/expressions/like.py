"""LIKE in Python, in time that follows the sizes of text and pattern.

A regular expression with a .* for each % may take forever on a text that it does not match, with all of Python waiting.
"""

from __future__ import annotations

import re
from collections.abc import Callable


def like(pattern: str) -> Callable[[str], bool]:
    """Whether a text is LIKE a pattern: each part between two % is taken where it is first found, and never again."""
    # A backslash escapes the character after it.
    parts: list[list[str]] = [[]]
    for mark in re.findall(r"\\.|.", pattern, re.DOTALL):
        if mark == "%":
            parts.append([])
        else:
            parts[-1].append("." if mark == "_" else re.escape(mark[-1]))
    first, *middle = [re.compile("".join(part), re.DOTALL) for part in parts]
    if not middle:
        return lambda text: first.fullmatch(text) is not None
    last, last_size = middle.pop(), len(parts[-1])

    def matches(text: str) -> bool:
        matched = first.match(text)
        for part in middle:
            matched = matched and part.search(text, matched.end())
        begin = len(text) - last_size
        return matched is not None and begin >= matched.end() and last.fullmatch(text, begin) is not None

    return matches
