"""Instants as people write them: `2024-01-01 00:00:00` in UTC or with an offset, or milliseconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime

from ui.shell.words import instant


def parse_instant(text: str) -> int | None:
    """The milliseconds since 1970 of an instant as text, or None if the text is none."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)


def format_instant(ms: int) -> str:
    """The text of an instant in UTC, with milliseconds only if there are any."""
    return instant(ms).removesuffix(".000")
