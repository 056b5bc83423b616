"""The second output of operators that records can be too late for: the port `late`.

By default a late record is kept in the ledger, with the window that it missed and the watermark that closed it.
Routed, it also goes on from the port `late` (one port per input where there are two), as it came in: a pipeline
can count it, correct with it, or store it. It stays in the ledger, which says of every late record why it was late.
A record that some of its windows still take is not lost, and does not come out there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any, Final

from pydantic import Field

from engine.contract.operator import OUT, Derived, Operator, require_insert_only

LATE_PORT: Final = "late"


class LateRecords(Enum):
    """What becomes of a record that is too late."""

    LEDGER = "ledger"
    PORT = "port"


class RoutesLate(Operator):
    """An operator that can route late records."""

    late_records: LateRecords = Field(
        LateRecords.LEDGER,
        title="Late records",
        description="Ledger: late records are stored with the reason. Port: they are also emitted from the second "
        "output, late, to which other nodes can connect.",
        json_schema_extra={"last": True},
    )

    @property
    def routes_late(self) -> bool:
        """Whether late records go on from a port."""
        return self.late_records is LateRecords.PORT

    @classmethod
    def output_ports(cls, parameters: Mapping[str, Any]) -> tuple[str, ...]:
        """`out`, and with late records routed `late`, or `late_left` and `late_right` where there are two inputs."""
        if parameters.get("late_records") not in (LateRecords.PORT, LateRecords.PORT.value):
            return (OUT,)
        return (OUT, LATE_PORT) if len(cls.ports) == 1 else (OUT, *(f"{LATE_PORT}_{port}" for port in cls.ports))

    def derive_port(self, port: str, node: str, inputs: Sequence[Derived]) -> Derived:
        """The input's rows. They have no event time any more: whatever follows would find them late again."""
        at = self.input_of_port(port)
        require_insert_only(node, "routing late records", inputs[at], "Keep them in the ledger.")
        return replace(inputs[at], schema=inputs[at].schema.without_times(), node=node)

    def input_of_port(self, port: str) -> int:
        """The place of the input whose rows come out of it."""
        return self.output_ports({"late_records": self.late_records}).index(port) - 1
