"""What is tried at an operator on the page What if, as the address says it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from storage.event_time.needed_waits import LateOperator
from ui.shell import words
from ui.shell.state import state


def in_address(operator: LateOperator) -> str:
    """The delays of an operator's sources, as the address has them."""
    return ",".join(str(delay_ms) for delay_ms in operator.delays_ms.values())


@dataclass(frozen=True)
class Tried:
    """What is tried at an operator: its delays, and the allowed lateness."""

    operator: LateOperator
    lateness_ms: int

    @classmethod
    def of(cls, operator: LateOperator, top_ms: int) -> Tried:
        """As the address says. One delay is that of all sources."""
        texts = (state.delay or "").split(",")
        given = [min(int(text), top_ms) for text in texts if text.isdecimal()]
        if len(given) == 1:
            given *= len(operator.sources)
        delays_ms = dict(zip(operator.sources, given, strict=False))
        tried = replace(operator, delays_ms=delays_ms) if len(given) == len(operator.sources) else operator
        lateness_ms = operator.rule.allowed_lateness_ms
        if lateness_ms is not None and state.lateness is not None:
            lateness_ms = min(state.lateness, top_ms)
        return cls(tried, lateness_ms or 0)

    @property
    def delay_ms(self) -> int:
        """The largest delay."""
        return self.operator.delay_ms

    @property
    def wait_ms(self) -> int:
        """The delay and the allowed lateness."""
        return self.delay_ms + self.lateness_ms

    @property
    def told(self) -> str:
        """The delays in words."""
        delays_ms = self.operator.delays_ms
        if len({*delays_ms.values()}) == 1:
            return f"delay {words.duration(self.delay_ms)}"
        return "delays " + ", ".join(f"{name} {words.duration(delay_ms)}" for name, delay_ms in delays_ms.items())

    def is_as_it_ran(self, ran: LateOperator) -> bool:
        """Whether nothing differs from the run."""
        return self == Tried(ran, ran.rule.allowed_lateness_ms or 0)
