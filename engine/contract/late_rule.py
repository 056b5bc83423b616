"""A description of when a record is late for an operator, for *What if*. In a run the kernels decide.

A record is late once the watermark before its event has reached its bound plus the allowed lateness. Each operator
describes its rule (`Operator.late_rule`), and the plan stores it. So *What if* can compute the effect of another delay
without knowing any operator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.model.windowing import Windowing


@dataclass(frozen=True)
class EndOfWindow:
    """The bound is the last millisecond of the record's first window; for sessions, of the gap after the record."""

    windowing: Windowing


@dataclass(frozen=True)
class OwnTime:
    """The bound is the record's event time plus a grace period. grace_ms: by input port."""

    grace_ms: Mapping[str, int]


@dataclass(frozen=True)
class KeptPartner:
    """A late row is not lost while it matches a kept row of the other input.

    keys: by input port, the columns that have to be equal, in the same order. The time difference of partners is at
    most the grace period of the port.
    """

    keys: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class NothingLaterSent:
    """A late row is lost only if a row of its partition with the same or a later time has been emitted."""

    partition_by: tuple[str, ...]


@dataclass(frozen=True)
class LateRule:
    """When a record is late, and the consequences.

    loses: the input ports whose late records are lost; other ports emit theirs padded. unless: an exception that saves
    late records. allowed_lateness_ms, lateness_parameter: how long after its bound a record is still accepted, and the
    parameter for it; None and "" if the operator has none. delays_results: whether results wait for the watermark;
    if not, a longer delay only keeps rows for longer. is_exact: whether the rule is complete. It is not if records
    affect each other, as in sessions that merge.
    """

    bound: EndOfWindow | OwnTime
    loses: tuple[str, ...] = ("in",)
    unless: KeptPartner | NothingLaterSent | None = None
    allowed_lateness_ms: int | None = None
    lateness_parameter: str = ""
    delays_results: bool = True
    is_exact: bool = True

    @property
    def window_ms(self) -> int:
        """The length of the windows; 0 without windows."""
        return self.bound.windowing.size_ms if isinstance(self.bound, EndOfWindow) else 0
