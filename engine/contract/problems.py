"""The records of a run that did not arrive in time, or could not be read, as numbers.

Three things: a dropped record was late and had no effect at an operator. A record that is late but used was late for
an operator and had an effect nevertheless. A rejected row could not be read. A record that several operators dropped,
or that one dropped and another used, counts once, as dropped. Beside them, values of sources whose digits were cut off.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from engine.contract.recorder import EpochOutput


@dataclass(frozen=True)
class Problems:
    """The three numbers. cut: by source and column, how many values lost digits beyond microseconds."""

    dropped: int = 0
    used: int = 0
    rejected: int = 0
    cut: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __add__(self, other: Problems) -> Problems:
        rejected, cut = self.rejected + other.rejected, self.cut + other.cut
        return Problems(self.dropped + other.dropped, self.used + other.used, rejected, cut)

    def sentences(self) -> Iterator[str]:
        """A sentence for each number above 0."""
        for count, what, end in (
            (self.dropped, "late record", "dropped"),
            (self.used, "record", "late but used"),
            (self.rejected, "row", "rejected"),
        ):
            if count:
                yield f"{count:,} {what}{'s were' if count > 1 else ' was'} {end}."
        for (source, column), count in self.cut.items():
            yield cut_sentence(count, f"{source}.{column}")


def cut_sentence(count: int, column: str) -> str:
    """That values of a column were cut, and what it means."""
    said = "values had" if count > 1 else "value had"
    return (
        f"{column}: {count:,} {said} digits beyond microseconds, which were cut off. Times that differ only in these "
        "are the same here."
    )


def cut_of(output: EpochOutput) -> Counter[tuple[str, str]]:
    """Those of an epoch."""
    return Counter({(source, column): count for source, own in output.cut.items() for column, count in own.items()})
