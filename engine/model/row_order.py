"""The order of an operator's rows."""

from __future__ import annotations

from enum import Enum


class RowOrder(Enum):
    """The attribute that orders rows."""

    EVENT_TIME = "event_time"
    ARRIVAL = "arrival"
