"""The place in an SQL text at which it is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_AROUND: Final = 2


@dataclass(frozen=True)
class Trouble:
    """Why a text was rejected. line and column count from 1; 0: unknown."""

    text: str
    sentence: str
    line: int = 0
    column: int = 0

    @property
    def marked(self) -> str:
        """The lines around the place, with a mark under the column."""
        lines = self.text.splitlines()
        shown: list[str] = []
        for number in range(max(1, self.line - _AROUND), min(len(lines), self.line + _AROUND) + 1):
            shown.append(f"{number:>4} | {lines[number - 1]}")
            if number == self.line:
                shown.append(f"     | {' ' * max(0, self.column - 1)}^")
        return "\n".join(shown)
