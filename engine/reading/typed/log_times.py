r"""The time in a line of a log, as an event time of its source.

2026-12-01T10:00:00.123Z INFO ...                  yyyy-MM-dd'T'HH:mm:ss.SSS
2026-12-01 10:00:00,123 [main] ...                 yyyy-MM-dd HH:mm:ss,SSS
10.0.0.5 - - [01/Dec/2026:10:00:00 +0000] "GET     dd/MMM/yyyy:HH:mm:ss
2026/12/01 10:00:00 [error] ...                    yyyy/MM/dd HH:mm:ss

It is the time that the line shows: an offset after it is not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from engine.contract.source import ComputedColumn
from engine.model.schema import Column
from engine.model.types import STRING, literal, quote
from engine.reading.typed.profile import ColumnProfile, TimeProposal, profile_columns
from engine.reading.typed.time_patterns import pattern_of, shape_of

_TIME: Final = re.compile(
    r"(?:\d{4}[-/.]\d\d[-/.]\d\d|\d{1,2}[-/. ](?:\d{1,2}|[A-Z][a-z]{2})[-/. ]\d{4})(?:[T:]|,? )\d{1,2}:\d\d:\d\d",
    re.ASCII,
)
_FRACTION: Final = re.compile(r"[.,]\d{3}", re.ASCII)
# The rest of a field that is a time: digits, half of the day, zone.
_BESIDE: Final = re.compile(
    r"(?:\.?\d+)?(?: ?[AP]M)?(?: ?(?:Z|UTC|GMT|[+-]\d\d(?::?\d\d)?))?[\"']?\s*(?:[,;|\t]|$)", re.ASCII
)
_NAME: Final = "log"
_TRIED: Final = 1000
_MOST: Final = 0.9


def is_log(line: str) -> bool:
    """Whether a line has a time among words, which is neither a field between separators nor a value of JSON."""
    found = time_in(line)
    return (
        found is not None and not line.startswith("{") and _BESIDE.match(line, line.index(found) + len(found)) is None
    )


def profile_lines(name: str, lines: Sequence[str]) -> tuple[tuple[ColumnProfile, ...], tuple[TimeProposal, ...]]:
    """The column of lines, and the proposal for the event time: the first time in the lines that have one."""
    found = [text for line in lines[:_TRIED] if (text := time_in(line)) is not None]
    pattern = pattern_of(found, max(1, round(_MOST * len(found))))
    if pattern is None:
        profiles, proposals = profile_columns((Column(name, STRING),), (lines,), {})
    else:
        place = shape_of(pattern)
        times = [match and match[0] for match in map(re.compile(place).search, lines)]
        read = ComputedColumn(name=_NAME, expression=f"REGEXP_EXTRACT({quote(name)}, {literal(place)}, 0)")
        columns = (Column(name, STRING), Column(_NAME, STRING))
        profiles, proposals = profile_columns(columns, (lines, times), {}, {_NAME: read})
    # A line is to be taken apart before anything is counted by it.
    return tuple(replace(profile, is_unique=True) for profile in profiles), proposals


def time_in(line: str) -> str | None:
    """The first time in a line, with its milliseconds."""
    time = _TIME.search(line)
    if time is None:
        return None
    fraction = _FRACTION.match(line, time.end())
    return time[0] + (fraction[0] if fraction else "")
