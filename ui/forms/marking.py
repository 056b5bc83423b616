"""The word of an expression that an analyzer's error refers to, and the expression with that word marked."""

from __future__ import annotations

import re
from html import escape
from typing import Final

_IDENTIFIER: Final = re.compile(r"`(?:[^`]|``)*`(?:\.`(?:[^`]|``)*`)*")
_NAMED: Final = re.compile(r"'([^']+)'|\"([^\"]+)\"")
_CALLED: Final = re.compile(r"^(\w+)(?:\(\)| is no function)")
# A sentence about Flink SQL names the last word.
_AT_END: Final = re.compile(r"it ends (too early|before)|this is not Flink SQL: .*\bafter '[^']*'(\)?\.$|, where)")


def wrong_word(expression: str, reason: str) -> tuple[int, int]:
    """The place of the wrong word, as [start, end).

    It is the whole expression if no word is named, and the end of the expression if more is missing.
    """
    if _AT_END.match(reason):
        end = len(expression.rstrip())
        return end, end
    for word in _named(reason):
        match = re.search(rf"`{re.escape(word)}`|(?<!\w){re.escape(word)}(?!\w)", expression, re.IGNORECASE)
        if match is not None and word.strip():
            return match.span()
    start = len(expression) - len(expression.lstrip())
    return start, max(start, len(expression.rstrip()))


def _named(reason: str) -> list[str]:
    """The words that a sentence quotes, in their order, without Spark's suggestions, which follow the wrong word."""
    words = [match.group(1) for match in [_CALLED.match(reason)] if match]
    message = reason.split("Did you mean", 1)[0]
    quoted = sorted([*_IDENTIFIER.finditer(message), *_NAMED.finditer(message)], key=lambda match: match.start())
    for match in quoted:
        text = match.group(0)
        if text.startswith("`"):
            words += [text, ".".join(part.replace("``", "`") for part in re.findall(r"`((?:[^`]|``)*)`", text))]
        else:
            inner = match.group(1) or match.group(2)
            words += [inner, inner.removeprefix("(").removesuffix(")")]
    return words


def marked_html(expression: str, reason: str) -> str:
    """The expression in monospace with the wrong word underlined, and a label of that word for screen readers."""
    start, end = wrong_word(expression, reason)
    word = expression[start:end]
    shown = escape(word) if word else "&nbsp;"
    label = f"wrong: {word}" if word else "something is missing here"
    return (
        '<div style="font:.85rem/1.6 var(--st-code-font,monospace);white-space:pre-wrap;overflow-wrap:anywhere">'
        f'{escape(expression[:start])}<mark aria-label="{escape(label)}" style="'
        "background:var(--st-red-background-color);"
        "color:inherit;text-decoration:underline wavy var(--st-red-text-color);text-underline-offset:.2em;"
        f'border-radius:.2em">{shown}</mark>{escape(expression[end:])}</div>'
    )
