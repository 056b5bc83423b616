"""The second output of operators with late records: the port `late`.

By default a late record is only kept in the ledger, with the missed window and the watermark that closed it. If it was
dropped and is routed, it is also emitted unchanged from the port `late` (one port per input if there are two): a
pipeline can count it, apply it as a correction, or store it. It stays in the ledger, which has the reason for every
late record. A record that is late but used, such as one that some of its windows accept, is not dropped, and is not
emitted there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any, Final

from engine.contract.derived import Derived
from engine.contract.operator import OUT, Operator
from engine.contract.parameters import parameter
from engine.contract.requirements import require_insert_only

LATE_PORT: Final = "late"


class LateRecords(Enum):
    """The treatment of late records."""

    LEDGER = "ledger"
    PORT = "port"


class RoutesLate(Operator):
    """An operator that can route late records."""

    late_records: LateRecords = parameter(
        "Late records",
        "Ledger: late records are stored with the reason. Port: those that are dropped are also emitted from "
        "the second output, late, to which other nodes can connect.",
        default=LateRecords.LEDGER,
        last=True,
    )

    @property
    def routes_late(self) -> bool:
        """Whether late records are emitted from a port."""
        return self.late_records is LateRecords.PORT

    @classmethod
    def output_ports(cls, parameters: Mapping[str, Any]) -> tuple[str, ...]:
        """`out`; if late records are routed, also `late`, or `late_left` and `late_right` for two inputs."""
        if parameters.get("late_records") not in (LateRecords.PORT, LateRecords.PORT.value):
            return (OUT,)
        return (OUT, LATE_PORT) if len(cls.ports) == 1 else (OUT, *(f"{LATE_PORT}_{port}" for port in cls.ports))

    def derive_port(self, port: str, node: str, inputs: Sequence[Derived]) -> Derived:
        """The input's rows, without an event time: a later operator would reject them as late again."""
        at = self.input_of_port(port)
        require_insert_only(node, "routing late records", inputs[at], "Keep them in the ledger.")
        return replace(inputs[at], schema=inputs[at].schema.without_times(), node=node)

    def input_of_port(self, port: str) -> int:
        """The index of the input whose late rows the port emits."""
        return self.output_ports({"late_records": self.late_records}).index(port) - 1
