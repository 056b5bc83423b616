"""AFTER MATCH SKIP: where the search continues after a match. Source: Flink AfterMatchSkipStrategy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Skip(Enum):
    """Where the search continues after a match."""

    PAST_LAST_ROW = "past_last_row"
    TO_NEXT_ROW = "to_next_row"
    TO_FIRST = "to_first"
    TO_LAST = "to_last"


@dataclass(frozen=True)
class AfterMatch:
    """Where the search continues. variable: the index of the variable for TO_FIRST and TO_LAST."""

    skip: Skip = Skip.PAST_LAST_ROW
    variable: int = -1
    name: str = ""

    def refusal(self, *, is_first: bool) -> ValueError:
        """The error of a match after which the search cannot go on there. is_first: it is the match's first row."""
        if is_first:
            return ValueError(
                f"after a match the search cannot go on at {self.name}: it is the first row of the match, which would "
                "be found again and again. Skip to the next row, or past the last one."
            )
        return ValueError(
            f"after a match the search cannot go on at {self.name}: the match has no row of it. Skip to a variable "
            "that is not optional, or past the last row."
        )
