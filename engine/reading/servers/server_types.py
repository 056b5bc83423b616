"""The types here of a server's own types."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from engine.model.types import MILLISECONDS, MOST_DIGITS, STRING, Decimal, Time, Type

_TIME: Final = re.compile(r"time\((\d)\)( without time zone)?")


@dataclass(frozen=True)
class ServerTypes:
    """Types without an equivalent are read as text.

    decimal: matches an exact number, with its digits and its scale. ignored: parts of a type that change nothing here,
    such as the digits of a timestamp.
    """

    known: Mapping[str, Type]
    decimal: re.Pattern[str]
    ignored: re.Pattern[str]

    def type_of(self, written: str) -> Type:
        """The type here."""
        if (match := self.decimal.fullmatch(written)) and int(match[1]) <= MOST_DIGITS:
            return Decimal(int(match[1]), int(match[2]))
        if match := _TIME.fullmatch(written):
            return Time(min(int(match[1]), MILLISECONDS))
        return self.known.get(written) or self.known.get(self.ignored.sub("", written), STRING)
