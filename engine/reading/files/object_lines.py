"""JSON objects in a text, each as one line that keeps all digits: one object, several in sequence, or an array."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from engine.contract.scan import LINE_BYTES

_SPACE: Final = " \t\r\n"


class NotObjects(ValueError):
    """What is wrong with the text, without its name: "is not JSON: a comma is missing at character 11."."""


def object_lines(text: str, decoder: json.JSONDecoder | None = None) -> Iterator[str]:
    """The objects of a text, as lines without their ends. Raises NotObjects, where there is something else."""
    decoder = decoder or json.JSONDecoder()
    at = _past_space(text, 0)
    is_array = text.startswith("[", at)
    at = _past_space(text, at + 1) if is_array else at
    has_rows = False
    while at < len(text) and not (is_array and text.startswith("]", at) and not has_rows):
        row, at = _row(text, at, decoder)
        yield row
        has_rows = True
        at = _past_space(text, at)
        if is_array and text.startswith("]", at):
            break
        if is_array and not text.startswith(",", at):
            message = f"is not JSON: a comma is missing at character {at + 1}."
            raise NotObjects(message)
        at = _past_space(text, at + 1) if is_array else at
    if is_array and (not text.startswith("]", at) or _past_space(text, at + 1) != len(text)):
        message = f"is not JSON: its array does not end properly, at character {at + 1}."
        raise NotObjects(message)


def _row(text: str, at: int, decoder: json.JSONDecoder) -> tuple[str, int]:
    """The object at an index, as one line, and its end."""
    try:
        value, end = decoder.raw_decode(text, at)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else getattr(error, "msg", str(error))
        message = f"is not JSON: {reason} at character {at + 1}."
        raise NotObjects(message) from error
    if not isinstance(value, dict):
        message = f"has no JSON object at character {at + 1}; give one, an array of them, or one per line."
        raise NotObjects(message)
    # Outside JSON strings a line break is white space; inside them JSON does not allow one.
    row = text[at:end].replace("\n", " ").replace("\r", " ")
    if len(row.encode()) > LINE_BYTES:
        message = f"has a row of more than {LINE_BYTES >> 20} MB, which no source reads."
        raise NotObjects(message)
    return row, end


def _past_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at
