"""Functions of dates and timestamps with Flink's meaning.

EXTRACT returns a BIGINT, FLOOR and CEIL to a WEEK use Sundays, a date plus days is a date, and an invalid string is
NULL."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.errors import unknown_name
from engine.expressions.coercion import is_interval
from engine.functions.of_times import EXTRACTED
from engine.functions.spark_text import SparkText, as_type, literal, spark_sql
from engine.functions.time_zones import zone_known
from engine.model.types import (
    BIGINT,
    DATE,
    INT,
    MICROSECONDS,
    MILLISECONDS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Time,
    Type,
)
from engine.sql.functions.digits import cut, instant_digits
from engine.sql.functions.interval_values import part_of
from engine.sql.functions.times import moment_of, require_unit, time_of
from engine.sql.rejected import SqlRejected

if TYPE_CHECKING:
    from engine.sql.functions.writer import ExpressionWriter

_MOMENT: Final = (
    "regexp_extract({0}, '^[0-9]{{4}}-[0-9]{{1,2}}-[0-9]{{1,2}}"
    "( [0-9]{{1,2}}:[0-9]{{1,2}}:[0-9]{{1,2}}([.][0-9]{{0,9}})?)?$', 0)"
)
READABLE: Final[dict[Type, str]] = {
    TIMESTAMP: _MOMENT,
    TIMESTAMP_NTZ: _MOMENT,
    DATE: "regexp_extract(concat('000', {0}), '^0*([0-9]{{4}}(-[0-9]{{1,2}}){{0,2}})( .*)?$', 1)",
}
"""By type, the part of a text that Flink reads as a moment; empty if it reads none: Spark reads more forms.

A moment has all or none of hours, minutes and seconds, after a space. A date ends at a space; its year may be short.
"""

TO_MILLISECONDS: Final = f"regexp_replace({_MOMENT}, '([.][0-9]{{{{3}}}})[0-9]+$', '$1')"
"""The part of a text that TO_TIMESTAMP reads, to the millisecond."""

_HOURS: Final = "[+-][0-9]{2}"
_OFFSETS: Final = {
    "X": f"(Z|{_HOURS}([0-9]{{2}})?)",
    "XX": f"(Z|{_HOURS}[0-9]{{2}})",
    "XXX": f"(Z|{_HOURS}:[0-9]{{2}})",
    "x": f"{_HOURS}([0-9]{{2}})?",
    "xx": f"{_HOURS}[0-9]{{2}}",
    "xxx": f"{_HOURS}:[0-9]{{2}}",
    **dict.fromkeys(("Z", "ZZ", "ZZZ"), f"{_HOURS}[0-9]{{2}}"),
}
"""By the last letters of a pattern, the offset from UTC that ends a text. Flink reads past it."""

IN_UTC: Final = "timestamp_millis(unix_millis({0}))"
"""A TIMESTAMP of UTC as an instant, to the millisecond."""
IN_UTC_MICROS: Final = "timestamp_micros(unix_micros({0}))"
"""The same with all its digits."""

UNITS: Final = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
_SHIFTS: Final = (*UNITS, "MILLISECOND", "MICROSECOND")
_LONG: Final = ("YEAR", "QUARTER", "MONTH", "WEEK")
_DAYS: Final = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY")

_WITH_PATTERN: Final = ("DATE_FORMAT", "TO_TIMESTAMP", "TO_DATE", "UNIX_TIMESTAMP", "FROM_UNIXTIME")
_LETTERS: Final = {
    **dict.fromkeys("GMLEQqzOY", 4),
    **dict.fromkeys("dhHkKmsVw", 2),
    **dict.fromkeys("ZXx", 5),
    **dict.fromkeys("aF", 1),
    **{"y": 6, "D": 3, "S": 9},
}
"""By letter of DateTimeFormatter, how often it stands at most; of those that Spark has, too."""


def extracted(writer: ExpressionWriter, call: exp.Extract) -> str:
    """EXTRACT(unit FROM x). Raises SqlRejected for an unknown unit."""
    unit = call.name.upper()
    if unit not in EXTRACTED:
        message = f"{unknown_name('unit', unit, EXTRACTED)}."
        raise SqlRejected(message, call)
    value = writer.write(call.expression)
    if is_interval(writer.type_of(value)):
        return part_of(writer, unit, value, call)
    if isinstance(writer.type_of(value), Time):
        require_unit(unit, call)
        value = moment_of(value)
    if unit == "EPOCH" and writer.type_of(value).is_held_as(TIMESTAMP_NTZ):
        value = as_type(value, TIMESTAMP)
    return as_type(spark_sql(EXTRACTED[unit], value), BIGINT)


def cut_off(writer: ExpressionWriter, call: exp.Floor | exp.Ceil) -> str:
    """FLOOR and CEIL of a moment to a unit. Raises SqlRejected for an unknown unit."""
    value = writer.write(call.this)
    unit = call.args["to"].name.upper()
    if unit not in UNITS:
        message = f"{unknown_name('unit', unit, UNITS)}."
        raise SqlRejected(message, call)
    of_day = writer.type_of(value)
    if isinstance(of_day, Time):
        require_unit(unit, call)
        # Up to the end of the day is its beginning; Flink fails there.
        up = "" if isinstance(call, exp.Floor) else f" + INTERVAL '1' {unit} - INTERVAL '0.001' SECOND"
        return time_of(spark_sql("date_trunc('{unit}', {}{up})", moment_of(value), unit=unit, up=up), of_day.precision)
    if unit == "WEEK":
        down = as_type(spark_sql("date_trunc('WEEK', {} + INTERVAL '1' DAY) - INTERVAL '1' DAY", value), of_day)
        if of_day.is_instant:
            local = as_type(value, TIMESTAMP_NTZ)
            week = as_type(spark_sql("date_trunc('WEEK', {} + INTERVAL '1' DAY)", local), TIMESTAMP_NTZ)
            down = spark_sql("({} + ({} - INTERVAL '1' DAY - {}))", value, week, local)
    else:
        down = _cut_to(unit, value, of_day)
    if isinstance(call, exp.Floor):
        return down
    length = {"QUARTER": "INTERVAL '3' MONTH", "WEEK": "INTERVAL '7' DAY"}.get(unit, f"INTERVAL '1' {unit}")
    # From a week on Flink looks at the day only.
    reached = _cut_to("DAY", value, of_day) if unit in _LONG else value
    next_ = as_type(spark_sql("{} + {length}", down, length=length), of_day)
    if unit == "QUARTER":
        # Of the first days, Flink knows January's only.
        down = _cut_to("YEAR", value, of_day)
    is_whole = value if reached == value else down
    return spark_sql("CASE WHEN {} = {} THEN {} ELSE {} END", down, reached, is_whole, next_)


def _cut_to(unit: str, value: str, type_: Type) -> SparkText:
    return as_type(spark_sql("date_trunc('{unit}', {})", value, unit=unit), type_)


def shifted(writer: ExpressionWriter, call: exp.Anonymous) -> str:
    """TIMESTAMPADD and TIMESTAMPDIFF."""
    name = call.name.upper()
    given, first, second = call.expressions
    # The names of ODBC, which Flink reads, too.
    unit = given.name.upper().removeprefix("SQL_TSI_")
    if unit not in _SHIFTS:
        message = f"{unknown_name('unit', unit, _SHIFTS)}."
        raise SqlRejected(message, call)
    values = [writer.write(operand) for operand in (first, second)]
    types = [writer.type_of(value) for value in values]
    values = [
        moment_of(value) if isinstance(type_, Time) else value for value, type_ in zip(values, types, strict=True)
    ]
    moved = spark_sql("{name}({unit}, {})", values, name=name.lower(), unit=unit)
    if name == "TIMESTAMPADD" and isinstance(types[1], Time):
        return time_of(moved, types[1].precision)
    if name == "TIMESTAMPDIFF":
        return as_type(moved, INT)
    if types[1] == DATE:
        return as_type(moved, DATE if unit in _DAYS else TIMESTAMP_NTZ)
    return moved


def from_epoch(writer: ExpressionWriter, arguments: list[str], at: exp.Anonymous) -> str:
    """TO_TIMESTAMP_LTZ(number[, precision]), or (text[, format[, zone]]). Raises SqlRejected for nanoseconds.

    Source: Flink ToTimestampLtzTypeStrategy.
    """
    value, *rest = arguments
    in_utc = IN_UTC_MICROS if instant_digits(at) > MILLISECONDS else IN_UTC
    if len(rest) > 1:
        local = _parsed(TIMESTAMP_NTZ, arguments[:2])
        return spark_sql(in_utc, spark_sql("convert_timezone({}, 'UTC', {})", zone_known(rest[1]), local))
    if writer.type_of(value) == STRING:
        # In UTC, whatever the zone.
        return spark_sql(in_utc, _parsed(TIMESTAMP_NTZ, arguments))
    precision = rest[0] if rest else str(MILLISECONDS)
    if precision == "0":
        return spark_sql("timestamp_seconds({})", value)
    if not precision.isdecimal():
        message = (
            "the precision of TO_TIMESTAMP_LTZ is a number: 0 for seconds, 3 for milliseconds, 6 for microseconds."
        )
        raise SqlRejected(message, at)
    digits = int(precision)
    most = MILLISECONDS if digits <= MILLISECONDS else MICROSECONDS
    factor = f" * {10 ** (most - digits)}" if digits < most else ""
    unit = "millis" if most == MILLISECONDS else "micros"
    return spark_sql("timestamp_{unit}({}{factor})", value, unit=unit, factor=factor)


def require_pattern(call: exp.Anonymous) -> None:
    """Raise SqlRejected for a pattern that is none of DateTimeFormatter's, or has a letter that is not supported."""
    name = call.name.upper()
    if name not in _WITH_PATTERN or len(call.expressions) < 2 or not isinstance(call.expressions[1], exp.Literal):
        return
    letters = (
        _LETTERS
        if name == "DATE_FORMAT"
        else {letter: most for letter, most in _LETTERS.items() if letter not in "YwEFq"}
    )
    for run in re.finditer(r"([A-Za-z])\1*", " ".join(call.expressions[1].name.split("'")[::2])):
        if run[1] in "YwWuecABnNpEFq" and run[1] not in letters:
            message = (
                f"the letter {run[1]} in the pattern of {name} is not supported. Write yyyy for the year, and "
                "EXTRACT(WEEK FROM t) for the week."
            )
        elif run[1] not in letters:
            message = f"{run[1]!r} is no letter of a pattern of times. A text in a pattern has quotes: 'yyyy''T''HH'."
        elif len(run[0]) > letters[run[1]]:
            message = (
                f"{run[0]} in the pattern of {name} is too long: {run[1]} stands there at most {letters[run[1]]} times."
            )
        else:
            continue
        raise SqlRejected(message, call)


def formatted(arguments: list[str], call: exp.Anonymous) -> str:
    """DATE_FORMAT."""
    pattern = call.expressions[1]
    if isinstance(pattern, exp.Literal) and set("".join(pattern.name.split("'")[::2])) & set("Yw"):
        return _with_week_year(arguments[0], pattern.name)
    return spark_sql("DATE_FORMAT({})", arguments)


def _with_week_year(value: str, pattern: str) -> str:
    """DATE_FORMAT with Y and w, the year of a week and its number: of its Saturday, as Flink's begin on Sunday."""
    saturday = spark_sql("({0} + make_dt_interval(7 - dayofweek({0})))", value)
    week = spark_sql("CAST(CAST(ceil(dayofyear({}) / 7) AS INT) AS STRING)", saturday)
    written: list[str] = []
    for part in filter(None, re.split(r"('(?:[^']|'')*'|Y+|w+)", pattern)):
        match part[0]:
            case "Y":
                written.append(spark_sql("DATE_FORMAT({})", [saturday, literal(part.lower())]))
            case "w":
                written.append(spark_sql("lpad({0}, greatest({size}, length({0})), '0')", week, size=len(part)))
            case _:
                written.append(spark_sql("DATE_FORMAT({})", [value, literal(part)]))
    return spark_sql("concat({})", written)


def parsed(name: str, arguments: list[str], call: exp.Anonymous) -> str:
    """TO_TIMESTAMP, TO_DATE and UNIX_TIMESTAMP of a string, optionally with a format; NULL for an invalid string."""
    if name == "UNIX_TIMESTAMP":
        return spark_sql("unix_seconds({})", _parsed(TIMESTAMP, arguments))
    if name == "TO_DATE":
        return _parsed(DATE, arguments)
    if len(arguments) == 1:
        return as_type(spark_sql(TO_MILLISECONDS, arguments[0]), TIMESTAMP_NTZ, "TRY_CAST")
    return _without_zone(arguments, call)


def _without_zone(arguments: list[str], call: exp.Anonymous) -> str:
    """TO_TIMESTAMP with a format: the local time of the text, whatever its offset, in milliseconds."""
    value, written = arguments
    form = call.expressions[1].unnest()
    if not isinstance(form, exp.Literal):
        return cut(_parsed(TIMESTAMP_NTZ, arguments), TIMESTAMP_NTZ, MILLISECONDS)
    local = form.name.rstrip("XxZ")
    letters = form.name[len(local) :]
    if letters:
        if letters not in _OFFSETS:
            message = f"the zone {letters} in the pattern of TO_TIMESTAMP is not supported. Write XXX for +01:00."
            raise SqlRejected(message, call)
        offset = _OFFSETS[letters]
        value, written = spark_sql("regexp_extract({}, '^(.*?){offset}$', 1)", value, offset=offset), literal(local)
    local_moment = _parsed(TIMESTAMP_NTZ, [value, written])
    return cut(local_moment, TIMESTAMP_NTZ, MILLISECONDS) if "SSSS" in local else local_moment


def _parsed(type_: Type, arguments: list[str]) -> str:
    if len(arguments) == 1:
        return as_type(spark_sql(READABLE[type_], arguments[0]), type_, "TRY_CAST")
    return as_type(spark_sql("try_to_timestamp({})", arguments), type_)
