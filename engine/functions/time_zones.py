"""CONVERT_TZ: a string as a time in one zone, written as the time in another.

The string is parsed like Java's lenient SimpleDateFormat: numbers may be short or too large, trailing text is ignored.
An ambiguous local time is the later instant, as in GregorianCalendar. A zone unknown to Java is GMT.
Source: Flink DateTimeUtils.convertTz.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final
from zoneinfo import available_timezones

from sqlglot import exp

from engine.functions.function import Writing, names, text

_FORM: Final = r"^\s*([0-9]+)-([0-9]+)-([0-9]+) ([0-9]+):([0-9]+):([0-9]+)"
_OFFSET: Final = re.compile(r"GMT[+-]([01]?[0-9]|2[0-3])(:?[0-5][0-9])?")
# Java's short zone names that are not in the time zone database.
_SHORT: Final = names(
    "ACT AET AGT ART AST BET BST CAT CNT CST CTT EAT ECT IET IST JST MIT NET NST PLT PNT PRT PST SST VST"
)


def convert_tz(writing: Writing, call: exp.Anonymous) -> str:
    """The call as Spark SQL."""
    value, given, wanted = map(writing.write, call.expressions)
    given, wanted = zone_known(given), zone_known(wanted)
    year, month, day, hour, minute, second = (
        f"TRY_CAST(regexp_extract({value}, r'{_FORM}', {at}) AS INT)" for at in range(1, 7)
    )
    local = (
        f"try_make_timestamp_ntz({year}, 1, 1, 0, 0, 0) "
        f"+ try_make_interval(0, {month} - 1, 0, {day} - 1, {hour}, {minute}, {second})"
    )
    instant = f"convert_timezone({given}, 'UTC', __t)"
    later = f"(convert_timezone({given}, 'UTC', __t + INTERVAL '1' DAY) - INTERVAL '1' DAY)"
    chosen = f"CASE WHEN convert_timezone('UTC', {given}, {later}) = __t THEN {later} ELSE {instant} END"
    shown = f"date_format(convert_timezone('UTC', {wanted}, {chosen}), 'yyyy-MM-dd HH:mm:ss')"
    return f"CASE WHEN {value} rlike r'{_FORM}' THEN get(transform(array({local}), __t -> {shown}), 0) END"


def zone_known(written: str) -> str:
    """A zone as Spark knows it; one that Java does not know is UTC, such as a plain offset."""
    if not (written.startswith("'") and written.endswith("'")):
        return _computed(written)
    name = written[1:-1]
    is_known = name in _SHORT or name in _names() or _OFFSET.fullmatch(name) is not None
    return written if is_known else text("UTC")


def _computed(zone: str) -> str:
    """A zone that each record has. The names are those that a pattern takes, which ignores case, unlike Java."""
    short = ", ".join(map(text, sorted(_SHORT)))
    return (
        f"CASE WHEN {zone} IN ({short}) OR {zone} rlike '^{_OFFSET.pattern}$' THEN {zone} "
        f"WHEN {zone} rlike '^(UTC?)?[+-]|(^|/)[a-z]' OR {zone} LIKE '%/%' AND upper({zone}) = {zone} "
        f"OR try_to_timestamp(concat('2000-01-01 ', {zone}), 'yyyy-MM-dd VV') IS NULL AND {zone} IS NOT NULL "
        f"THEN 'UTC' ELSE {zone} END"
    )


@cache
def _names() -> frozenset[str]:
    return frozenset(available_timezones())
