"""Reads files of text on the workers, in which each line is the value of the only column.

A line without text is a row, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from engine.contract.scan import LINE_BYTES, ReadPart
from engine.reading.files.text_files import TOO_LONG, LineNumbers, TextPart, blocks_of
from engine.reading.servers.raw_values import RawReader

ENDINGS: Final = (".log", ".txt")


@dataclass(frozen=True)
class LineReader:
    """Reads a part. values: how a line is read."""

    values: RawReader

    def __call__(self, part: TextPart) -> Iterator[ReadPart]:
        """Its records and rejected lines."""
        numbers = LineNumbers(part)
        for block in blocks_of(part):
            lines = block.text.removesuffix(b"\n").split(b"\n")
            fitting = [at for at, line in enumerate(lines) if len(line) <= LINE_BYTES]
            records, places, reasons = self.values.of_messages([lines[at] for at in fitting], {})
            why = {fitting[place]: reason for place, reason in reasons.items()}
            why |= {at: TOO_LONG for at, line in enumerate(lines) if len(line) > LINE_BYTES}
            rejected = [numbers.rejected(block.first + at, lines[at], why[at]) for at in sorted(why)]
            yield ReadPart(
                records, part.name, [block.first + fitting[place] for place in places], rejected, numbers.before
            )
