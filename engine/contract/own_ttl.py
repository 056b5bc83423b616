"""Operators with a state TTL of their own, and the hint that says it in Flink SQL; `engine.sql.state_ttl` reads it."""

from __future__ import annotations

from collections.abc import Mapping

from engine.contract.operator import Operator
from engine.contract.parameters import DurationOrNone, parameter
from engine.model.durations import duration
from engine.model.options import STATE_TTL
from engine.model.types import literal


def ttl_hint(ttls_ms: Mapping[str, int | None]) -> str:
    """The hint, to follow SELECT, by name of the input; "" if no input has a TTL of its own."""
    texts = {name: duration(ms) for name, ms in ttls_ms.items() if ms is not None}
    pairs = ", ".join(f"{literal(name)} = {literal(text)}" for name, text in texts.items())
    return f"/*+ STATE_TTL({pairs}) */ " if pairs else ""


class OwnTtl(Operator):
    """An operator whose form has a state TTL in place of the pipeline's."""

    state_ttl_ms: DurationOrNone = parameter(
        "State TTL",
        "How long an entry of its state is kept after its last write. Empty: as the pipeline says; 0: for ever.",
        last=True,
    )

    def options_of(self, options: Mapping[str, str]) -> Mapping[str, str]:
        """The pipeline's options, with its own TTL if it has one."""
        own_ms = self.state_ttl_ms
        return options if own_ms is None else {**options, STATE_TTL.name: f"{own_ms} ms"}
