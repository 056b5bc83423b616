"""Parsers for numbers and durations in the command line."""

from __future__ import annotations

import argparse

from engine.model.options import milliseconds


def count(text: str) -> int:
    """A number of at least 1. Raises ArgumentTypeError."""
    if not (text.isascii() and text.isdigit() and len(text) < 10) or int(text) < 1:
        message = f"{text!r} is not a number of at least 1"
        raise argparse.ArgumentTypeError(message)
    return int(text)


def time_ms(text: str) -> int:
    """A duration in ms. Raises ArgumentTypeError."""
    length_ms = milliseconds(text)
    if not length_ms:
        message = f"{text!r} is not a length of time such as 500ms or 2s"
        raise argparse.ArgumentTypeError(message)
    return length_ms
