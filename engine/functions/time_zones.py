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

from engine.functions.function import Writing, names
from engine.functions.spark_text import literal, spark_sql, text

_FORM: Final = r"^\s*([0-9]+)-([0-9]+)-([0-9]+) ([0-9]+):([0-9]+):([0-9]+)"
_YEAR, _MONTH, _DAY, _HOUR, _MINUTE, _SECOND = (
    f"TRY_CAST(regexp_extract({{0}}, r'{_FORM}', {at}) AS INT)" for at in range(1, 7)
)
_LOCAL: Final = (
    f"try_make_timestamp_ntz({_YEAR}, 1, 1, 0, 0, 0) "
    f"+ try_make_interval(0, {_MONTH} - 1, 0, {_DAY} - 1, {_HOUR}, {_MINUTE}, {_SECOND})"
)
_LATER: Final = "(convert_timezone({1}, 'UTC', __t + INTERVAL '1' DAY) - INTERVAL '1' DAY)"
_INSTANT: Final = (
    f"CASE WHEN convert_timezone('UTC', {{1}}, {_LATER}) = __t THEN {_LATER} "
    "ELSE convert_timezone({1}, 'UTC', __t) END"
)
_SHOWN: Final = f"date_format(convert_timezone('UTC', {{2}}, {_INSTANT}), 'yyyy-MM-dd HH:mm:ss')"
_CONVERTED: Final = f"CASE WHEN {{0}} rlike r'{_FORM}' THEN get(transform(array({_LOCAL}), __t -> {_SHOWN}), 0) END"
"""Of a text, its zone and the wanted one."""
_OFFSET: Final = re.compile(r"GMT[+-]([01]?[0-9]|2[0-3])(:?[0-5][0-9])?")
# Java's short zone names that are not in the time zone database.
_SHORT: Final = names(
    "ACT AET AGT ART AST BET BST CAT CNT CST CTT EAT ECT IET IST JST MIT NET NST PLT PNT PRT PST SST VST"
)


def convert_tz(writing: Writing, call: exp.Anonymous) -> str:
    """The call as Spark SQL."""
    value, given, wanted = map(writing.write, call.expressions)
    given, wanted = zone_known(given), zone_known(wanted)
    return spark_sql(_CONVERTED, value, given, wanted)


def zone_known(written: str) -> str:
    """A zone as Spark knows it; one that Java does not know is UTC, such as a plain offset."""
    if not (written.startswith("'") and written.endswith("'")):
        return _computed(written)
    name = written[1:-1]
    is_known = name in _SHORT or name in _names() or _OFFSET.fullmatch(name) is not None
    return written if is_known else literal("UTC")


def _computed(zone: str) -> str:
    """A zone that each record has. The names are those that a pattern takes, which ignores case, unlike Java."""
    short = ", ".join(map(text, sorted(_SHORT)))
    template = (
        "CASE WHEN {0} IN ({short}) OR {0} rlike '^{offset}$' THEN {0} "
        "WHEN {0} rlike '^(UTC?)?[+-]|(^|/)[a-z]' OR {0} LIKE '%/%' AND upper({0}) = {0} "
        "OR try_to_timestamp(concat('2000-01-01 ', {0}), 'yyyy-MM-dd VV') IS NULL AND {0} IS NOT NULL "
        "THEN 'UTC' ELSE {0} END"
    )
    return spark_sql(template, zone, short=short, offset=_OFFSET.pattern)


@cache
def _names() -> frozenset[str]:
    return frozenset(available_timezones())
