"""Functions of dates and timestamps."""

from __future__ import annotations

from typing import Final

from engine.functions.function import Function
from engine.functions.time_zones import convert_tz

EXTRACTED: Final = {
    "YEAR": "year({0})",
    "ISOYEAR": "extract(YEAROFWEEK FROM {0})",
    "QUARTER": "quarter({0})",
    "MONTH": "month({0})",
    "WEEK": "weekofyear({0})",
    "DOY": "dayofyear({0})",
    "DAY": "dayofmonth({0})",
    "DOW": "dayofweek({0})",
    "ISODOW": "(weekday({0}) + 1)",
    "HOUR": "hour({0})",
    "MINUTE": "minute({0})",
    "SECOND": "second({0})",
    "MILLISECOND": "(extract(SECOND FROM {0}) * 1000 % 1000)",
    "MICROSECOND": "(extract(SECOND FROM {0}) * 1000000 % 1000000)",
    "EPOCH": "unix_seconds({0})",
    "DECADE": "(year({0}) div 10)",
    "CENTURY": "((year({0}) + 99) div 100)",
    "MILLENNIUM": "((year({0}) + 999) div 1000)",
}
"""EXTRACT(unit FROM x): by unit, the Spark SQL."""

_PARSED: Final = "text moment, format string? -> "


def _part(name: str, unit: str, sentence: str, result: str) -> Function:
    takes = "time timestamp" if unit in ("HOUR", "MINUTE", "SECOND") else "date date"
    example = f"{name}(TIMESTAMP '2024-05-17 13:45:59')"
    return Function(name, f"{takes} -> bigint", sentence, example, result, f"CAST({EXTRACTED[unit]} AS BIGINT)")


ROWS: Final = (
    _part("YEAR", "YEAR", "The year.", "2024"),
    _part("QUARTER", "QUARTER", "The quarter, from 1.", "2"),
    _part("MONTH", "MONTH", "The month, from 1.", "5"),
    _part("WEEK", "WEEK", "The week of the year by ISO 8601.", "20"),
    _part("DAYOFYEAR", "DOY", "The day of the year, from 1.", "138"),
    _part("DAYOFMONTH", "DAY", "The day of the month, from 1.", "17"),
    _part("DAYOFWEEK", "DOW", "The day of the week; Sunday is 1.", "6"),
    _part("HOUR", "HOUR", "The hour, from 0.", "13"),
    _part("MINUTE", "MINUTE", "The minute, from 0.", "45"),
    _part("SECOND", "SECOND", "The second, from 0.", "59"),
    Function(
        *("EXTRACT", "time timestamp -> bigint", "A part of a time, such as its YEAR or EPOCH."),
        *("EXTRACT(DOW FROM DATE '2024-05-17')", "6", None),
        syntax="EXTRACT(unit FROM time)",
    ),
    Function(
        *("TIMESTAMPADD", "unit any, count int, time T -> T", "A time plus so many units."),
        *("TIMESTAMPADD(HOUR, 2, TIMESTAMP '2024-05-17 23:00:00')", "2024-05-18 01:00:00", None),
        syntax="TIMESTAMPADD(unit, count, time)",
    ),
    Function(
        *(
            "TIMESTAMPDIFF",
            "unit any, start timestamp, end timestamp -> int",
            "The whole units from one time to another.",
        ),
        *("TIMESTAMPDIFF(DAY, DATE '2024-05-17', DATE '2024-06-01')", "15", None),
        syntax="TIMESTAMPDIFF(unit, start, end)",
    ),
    Function(
        *("DATE_FORMAT", "time timestamp, format string -> string", "A time in a format such as yyyy-MM-dd."),
        *("DATE_FORMAT(TIMESTAMP '2024-05-17 13:45:59', 'dd.MM.yyyy HH:mm')", "17.05.2024 13:45"),
    ),
    Function(
        *("TO_DATE", f"{_PARSED}date", "The date of a text, by default as yyyy-MM-dd."),
        *("TO_DATE('17.05.2024', 'dd.MM.yyyy')", "2024-05-17"),
        bad=("TO_DATE('soon')", "NULL"),
    ),
    Function(
        *("TO_TIMESTAMP", f"{_PARSED}timestamp_ntz", "The time of a text, by default as yyyy-MM-dd HH:mm:ss."),
        *("TO_TIMESTAMP('2024-05-17 13:45:59')", "2024-05-17 13:45:59.000"),
        bad=("TO_TIMESTAMP('soon')", "NULL"),
    ),
    Function(
        *("TO_TIMESTAMP_LTZ", "number any, precision any?, zone string? -> timestamp"),
        *(
            "The instant of seconds (0), milliseconds (3) or microseconds (6) since 1970; of a text, too.",
            "TO_TIMESTAMP_LTZ(1715953559000, 3)",
            "2024-05-17 13:45:59.000",
        ),
    ),
    Function(
        *("UNIX_TIMESTAMP", "text string, format string? -> bigint", "The seconds since 1970 at the time of a text."),
        *("UNIX_TIMESTAMP('2024-05-17 13:45:59')", "1715953559"),
    ),
    Function(
        *("FROM_UNIXTIME", "seconds bigint, format string? -> string", "The time of seconds since 1970, as a text."),
        *("FROM_UNIXTIME(1715953559, 'yyyy-MM-dd')", "2024-05-17"),
    ),
    Function(
        *("CONVERT_TZ", "text string, from_zone string, to_zone string -> string"),
        *(
            "A time of one zone as that of another.",
            "CONVERT_TZ('2024-05-17 13:45:59', 'UTC', 'Asia/Tokyo')",
            "2024-05-17 22:45:59",
        ),
        spark=None,
        write=convert_tz,
        bad=("CONVERT_TZ('soon', 'UTC', 'Asia/Tokyo')", "NULL"),
    ),
)
