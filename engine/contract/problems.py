"""The records of a run that did not arrive in time, or could not be read, as numbers.

Three things: a dropped record was late and had no effect at an operator. A record that is late but used was late for
an operator and had an effect nevertheless. A rejected row could not be read. A record that several operators dropped,
or that one dropped and another used, counts once, as dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Problems:
    """The three numbers."""

    dropped: int = 0
    used: int = 0
    rejected: int = 0

    def __add__(self, other: Problems) -> Problems:
        return Problems(self.dropped + other.dropped, self.used + other.used, self.rejected + other.rejected)

    def sentences(self) -> Iterator[str]:
        """A sentence for each number above 0."""
        for count, what, end in (
            (self.dropped, "late record", "dropped"),
            (self.used, "record", "late but used"),
            (self.rejected, "row", "rejected"),
        ):
            if count:
                yield f"{count:,} {what}{'s were' if count > 1 else ' was'} {end}."
