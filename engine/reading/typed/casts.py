"""Casts texts to a column's type in Arrow; null if a text does not fit. The semantics are those of Spark's `try_cast`.

Blanks around a value do not count. A number for a timestamp is epoch ms. A timestamp without a zone is UTC; one with
a zone in a column without zones becomes the UTC time. A decimal is rounded half up to its scale.
Source: Spark UTF8String.toLong, SparkDateTimeUtils.stringToTimestamp and stringToDate, Cast.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any, Final
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.model import types
from engine.model.types import BIGINT, BINARY, DATE, INTEGER_BITS, STRING, Time, Timestamp, Type
from engine.reading.documents.document_values import time_of_day, whole_number
from engine.reading.documents.nested import UnfitInside, nested_from

# Around integers, booleans, dates and times DEL is a blank too; around other numbers, only the blanks of Java's trim.
_TRIM: Final = "".join(map(chr, range(0x21)))
_BLANKS: Final = _TRIM + "\x7f"
_SPACE: Final = " \t\n\x0b\f\r"
_REAL: Final = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?$"
_SPECIAL: Final = {
    **dict.fromkeys(("inf", "+inf", "infinity", "+infinity"), float("inf")),
    **dict.fromkeys(("-inf", "-infinity"), float("-inf")),
    **dict.fromkeys(("nan", "+nan", "-nan"), float("nan")),
}
# Digits of any script, as Java's BigDecimal accepts them.
_DECIMAL: Final = re.compile(r"[+-]?(?:\d+\.?(\d*)|\.(\d+))(?:[eE]([+-]?\d+))?")
_SCALES: Final = range(-(1 << 31), 1 << 31)
_TRUE: Final = ("t", "true", "y", "yes", "1")
_FALSE: Final = ("f", "false", "n", "no", "0")
_DATE: Final = re.compile(r"\+?([0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_PLAIN_TIME: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z?$"
_TIME: Final = re.compile(
    r"([0-9]{4})-([0-9]{1,2})(?:-([0-9]{1,2})"
    r"(?:[ T]([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?(.*))?)?)?)?",
    re.DOTALL,
)
_NANOSECONDS: Final = r":[0-9]{2}[.][0-9]{6}[0-9]*[1-9]"
_STARTS_WITH_YEAR: Final = re.compile(r"[0-9]{4}-")
_OFFSET: Final = re.compile(
    r"(?:UTC|GMT|UT)?([+-])([0-9]{1,2}|[0-9]:[0-9]{2}|[0-9]{1,2}:[0-9]|[0-9]{2}(?::?[0-9]{2}){1,2}|[0-9]:[0-9]{2}:[0-9]{2})"
)
# Entries of the system's zone folder that are not zones in Java.
_NO_REGIONS: Final = ("posix/", "right/", "localtime", "posixrules", "Factory", "ROC")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# Java's ZoneId.SHORT_IDS.
_SHORT: Final = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "EST": "-05:00",
    "HST": "-10:00",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "MST": "-07:00",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}


def cast_texts(texts: pa.Array, type_: Type) -> pa.Array:
    """A column of texts in its type."""
    if type_ == STRING:
        return texts
    if type_ == BINARY:
        return texts.cast(pa.binary())
    if type_.is_nested:
        return _each(texts, type_, lambda text: nested_from(text, type_, _scalar))
    if isinstance(type_, Timestamp):
        return _times(pc.utf8_rtrim(pc.utf8_ltrim(texts, _SPACE), _BLANKS), type_)
    trimmed = pc.utf8_trim(texts, _TRIM if type_.is_number and type_ not in INTEGER_BITS else _BLANKS)
    if type_ in INTEGER_BITS:
        return _integers(trimmed, type_)
    match type_:
        case types.FLOAT | types.DOUBLE:
            return _reals(trimmed, type_)
        case types.BOOLEAN:
            return _booleans(trimmed)
        case types.DATE:
            return _each(trimmed, type_, _date)
        case Time():
            return _each(trimmed, type_, lambda text: time_of_day(text, type_))
        case types.Decimal():
            return _each(trimmed, type_, lambda text: _decimal(text, type_.precision, type_.scale))
    raise ValueError(type_.unsupported)


def has_times(type_: Type) -> bool:
    """Whether there is a timestamp in a type."""
    return type_.has(lambda part: isinstance(part, Timestamp))


def cut_of(texts: pa.Array, type_: Type) -> pa.Array | None:
    """Whether each text has digits beyond microseconds that a cast to the type drops; None if the type has no times."""
    return pc.match_substring_regex(texts, _NANOSECONDS) if has_times(type_) else None


def unfit_inside(text: str, type_: Type) -> UnfitInside | None:
    """The item that makes JSON unfit for a nested type; None if it fits, or is unfit as a whole."""
    try:
        nested_from(text, type_, _scalar)
    except UnfitInside as error:
        return error if error.place else None
    except (ValueError, ArithmeticError):
        pass
    return None


def _each(texts: pa.Array, type_: Type, read: Callable[[str], Any]) -> pa.Array:
    """Read texts one by one; each distinct text once."""
    cache: dict[str | None, Any] = {None: None}

    def found(text: str | None) -> Any:
        if text not in cache:
            assert text is not None
            try:
                cache[text] = read(text)
            except (ValueError, ArithmeticError):
                cache[text] = None
        return cache[text]

    return pa.array([found(text) for text in texts.to_pylist()], type_.arrow)


def _integers(texts: pa.Array, type_: Type) -> pa.Array:
    is_number = pc.match_substring_regex(texts, r"^[+-]?[0-9]+$")
    digits = pc.utf8_ltrim(texts, "+")
    # Arrow does not accept a plus sign; a text with two signs is already excluded.
    short = pc.and_(is_number, pc.less_equal(pc.utf8_length(digits), 18))
    low, high = -(1 << INTEGER_BITS[type_] - 1), (1 << INTEGER_BITS[type_] - 1) - 1
    integers = pc.if_else(short, digits, None).cast(pa.int64())
    long = pc.and_(is_number, pc.invert(short))
    if pc.any(long).as_py():
        numbers = integers.to_pylist()
        for at in np.flatnonzero(pc.fill_null(long, False).to_numpy(zero_copy_only=False)).tolist():
            number = whole_number(texts[at].as_py())
            numbers[at] = number if low <= number <= high else None
        integers = pa.array(numbers, pa.int64())
    if type_ == BIGINT:
        return integers
    fits = pc.and_(pc.greater_equal(integers, low), pc.less_equal(integers, high))
    return pc.if_else(fits, integers, None).cast(type_.arrow)


def _reals(texts: pa.Array, type_: Type) -> pa.Array:
    is_plain = pc.match_substring_regex(texts, _REAL)
    plain = pc.if_else(is_plain, pc.utf8_rtrim(pc.utf8_ltrim(texts, "+"), "fFdD"), None)
    arrow = type_.arrow
    try:
        reals = plain.cast(arrow)
    except pa.ArrowInvalid:
        reals = pa.array([None if text is None else float(text) for text in plain.to_pylist()], arrow)
    odd = pc.and_(pc.is_valid(texts), pc.invert(is_plain))
    if not pc.any(odd).as_py():
        return reals
    values = reals.to_pylist()
    for at in np.flatnonzero(pc.fill_null(odd, False).to_numpy(zero_copy_only=False)).tolist():
        values[at] = _special(texts[at].as_py())
    return pa.array(values, arrow)


def _special(text: str) -> float | None:
    if text.lower() in _SPECIAL:
        return _SPECIAL[text.lower()]
    if re.fullmatch(r"[+-]?0[xX][0-9a-fA-F.]+[pP][+-]?[0-9]+[fFdD]?", text):
        return float.fromhex(text.rstrip("fFdD") if "p" in text.lower().rstrip("fd") else text)
    return None


def _booleans(texts: pa.Array) -> pa.Array:
    lower = pc.utf8_lower(texts)
    is_true = pc.is_in(lower, pa.array(_TRUE))
    is_known = pc.or_(is_true, pc.is_in(lower, pa.array(_FALSE)))
    return pc.if_else(pc.and_(is_known, pc.is_valid(texts)), is_true, None)


def _decimal(text: str, precision: int, scale: int) -> Decimal | None:
    match = _DECIMAL.fullmatch(text)
    if match is None or len(match[1] or match[2] or "") - int(match[3] or 0) not in _SCALES:
        return None
    with localcontext() as context:
        context.prec = 200
        exact = Decimal(text).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)
    return exact if not exact or exact.adjusted() < precision - scale else None


def _date(text: str) -> date | None:
    match = _DATE.fullmatch(text)
    return None if match is None else date(int(match[1]), int(match[2] or 1), int(match[3] or 1))


def _times(texts: pa.Array, type_: Type) -> pa.Array:
    arrow = type_.arrow
    is_plain = pc.match_substring_regex(texts, _PLAIN_TIME)
    if pc.all(pc.or_kleene(is_plain, pc.is_null(texts))).as_py() is not False:
        try:
            return pc.utf8_rtrim(texts, "Z").cast(pa.timestamp("us")).cast(pa.int64()).cast(arrow)
        except pa.ArrowInvalid:
            # A date does not exist in the calendar: read the texts one by one to find it.
            pass
    micros = _each(texts, BIGINT, _time)
    return micros.cast(arrow)


def _time(text: str) -> int | None:
    """A timestamp's microseconds."""
    if not _STARTS_WITH_YEAR.match(text):
        text = text.strip(_BLANKS)
        if not re.fullmatch(r"[+-]?[0-9]+", text):
            return None
        micros = whole_number(text) * 1000
        return micros if -(1 << 63) <= micros < 1 << 63 else None
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(match[at] or (1 if at < 4 else 0)) for at in range(1, 7))
    micro = int((match[7] or "")[:6].ljust(6, "0"))
    zone = (match[8] or "").strip(_TRIM)
    local = datetime(year, month, day, hour, minute, second, micro, tzinfo=UTC if not zone else _zone(zone))
    return (local.astimezone(UTC) - _EPOCH) // timedelta(microseconds=1)


def moment_of(text: str) -> int | None:
    """A timestamp's microseconds since 1970; None if the text is not a timestamp."""
    try:
        return _time(text.strip(_SPACE))
    except (ValueError, ArithmeticError):
        return None


def _zone(name: str) -> Any:
    """A time zone by Java's rules. Raises ValueError for an unknown one; zoneinfo caches the zones that it read."""
    name = _SHORT.get(name, name)
    if name in ("Z", "UT"):
        return UTC
    match = _OFFSET.fullmatch(name)
    if match is None:
        return _region(name)
    digits = match[2]
    parts = digits.split(":") if ":" in digits else [digits[at : at + 2] for at in range(0, len(digits), 2)]
    hours, minutes, seconds = (int(part) for part in [*parts, "0", "0"][:3])
    away = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    if minutes > 59 or seconds > 59 or away > timedelta(hours=18):
        message = f"no offset: {name}"
        raise ValueError(message)
    return timezone(-away if match[1] == "-" else away)


def _region(name: str) -> ZoneInfo:
    try:
        if name.startswith(_NO_REGIONS):
            raise KeyError(name)
        return ZoneInfo(name)
    except (KeyError, OSError) as error:
        message = f"no time zone: {name}"
        raise ValueError(message) from error


def _scalar(text: str, type_: Type) -> date | time | datetime | None:
    """A date or a time inside a list or a map."""
    if type_ == DATE:
        return _date(text)
    if isinstance(type_, Time):
        return time_of_day(text, type_)
    micros = _time(text)
    return None if micros is None else _EPOCH.replace(tzinfo=None) + timedelta(microseconds=micros)
