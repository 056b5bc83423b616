"""How long ago something was, as people say it."""

from __future__ import annotations

from datetime import UTC, datetime


def age(moment: datetime, now: datetime | None = None) -> str:
    """`just now`, `5 min ago`, `3 h ago`, `2 days ago`, then the date. A moment without a zone is UTC."""
    then = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    seconds = ((now or datetime.now(UTC)) - then).total_seconds()
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"{int(seconds // 60)} min ago"
    if seconds < 86_400:
        return f"{int(seconds // 3600)} h ago"
    days = int(seconds // 86_400)
    return f"{days} day{'s' * (days > 1)} ago" if days < 30 else then.date().isoformat()
