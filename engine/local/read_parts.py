"""The parts of a scan, read without Spark: foreign ones in a process of their own each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.contract.scan import ReadPart, Scan
from engine.reading.apart import LOOK_S, Foreign, answers_of

_ADVICE: Final = "Choose another file, or write this one again."


def read_parts(scan: Scan, node: str) -> Iterator[ReadPart]:
    """All parts, in order. Raises SourceError, OSError."""
    for part in scan.parts:
        if scan.is_foreign:
            yield from answers_of(Foreign(part.name, node, _ADVICE), scan.read, part, seconds=LOOK_S)
        else:
            yield from scan.read(part)
