"""A description of when a record is late for an operator, for *What if*. In a run the kernels decide; these are values.

A record is late once the watermark before its event has reached its bound, moved on by the allowed lateness. Each
operator describes this for itself (`Operator.late_rule`) and the plan keeps it, so whoever asks what another delay
would have kept needs to know no operator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.windows.assigners import Windowing


@dataclass(frozen=True)
class EndOfWindow:
    """The bound is the last millisecond of the first window that the record falls into; of a session its own gap."""

    windowing: Windowing


@dataclass(frozen=True)
class OwnTime:
    """The bound is the record's event time, and a grace after it. grace_ms: by input port."""

    grace_ms: Mapping[str, int]


@dataclass(frozen=True)
class KeptPartner:
    """A late row is not lost while it meets a row of the other input that is still kept.

    keys: by input port, the columns that have to be equal, in the same order. A partner's time is at most the grace of
    its port away.
    """

    keys: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class NothingLaterSent:
    """A late row is lost only where a row of its partition that is no earlier has gone out."""

    partition_by: tuple[str, ...]


@dataclass(frozen=True)
class LateRule:
    """When a record is late, and who loses what.

    loses: the input ports whose late records are lost; those of others go on, padded. unless: what saves a late record.
    allowed_lateness_ms, lateness_parameter: for how long after its bound a record is still taken, and the parameter
    that says so; None and "" where the operator knows none. delays_results: whether results wait for the watermark;
    else a longer delay only keeps rows for longer. is_exact: whether this is all that decides. It is not where records
    save each other, as in sessions that grow together.
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
