"""What orders the rows of an operator."""

from __future__ import annotations

from enum import Enum


class RowOrder(Enum):
    """What makes a row come before another."""

    EVENT_TIME = "event_time"
    ARRIVAL = "arrival"
