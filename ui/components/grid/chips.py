"""Chips: badges with a count, which can be pressed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from engine.model.changelog import RowKind
from ui.shell.theme import KIND_WORDS, kind_badge


@dataclass(frozen=True)
class Chip:
    """A row kind with its count. is_on: pressed."""

    kind: RowKind
    count: int
    is_on: bool = False

    @property
    def pick(self) -> str:
        """The value that the chip picks: the kind's symbol."""
        return self.kind.symbol


def chips_html(shown: Sequence[Chip]) -> str:
    """The chips as HTML buttons."""
    return "".join(
        f'<button type="button" data-pick="{escape(chip.pick)}" aria-pressed="{str(chip.is_on).lower()}" '
        f'aria-label="{chip.pick} {chip.count:,}, {KIND_WORDS[chip.kind]}">'
        f"{kind_badge(chip.kind)} {chip.count:,}</button>"
        for chip in shown
    )
