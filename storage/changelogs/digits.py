"""Whether the text of a number or a time contains another one, as comparisons of the number: to write the text and to
search it takes ten times as long.

If a number has 4 given digits before its last p ones, its remainder by 10 ** (p + 4) is in a range. If only a few
numbers can stand before them, since all numbers are within limits, the number itself is in one of as many ranges.

Of a time, the text is looked for in that of each day and in that of each second of a day, once. Then a bit says of each
day, and of each second, whether it is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from functools import lru_cache
from typing import Final

# Of 100 M numbers a remainder takes 0.5 CPU s, a range 0.1, their texts 5. Most numbers of 13 digits take 9 remainders.
_MOST_REMAINDERS: Final = 8
_FEW: Final = 8
_LEAST: Final = -(1 << 63)
_LONGEST: Final = 19
_OF_FRACTION: Final = 6
_SECOND: Final = 1_000_000
_SECONDS_A_DAY: Final = 86_400
_MOST_DAYS: Final = 100_000
_EPOCH: Final = date(1970, 1, 1)


def number_contains(number: str, text: str, low: int, high: int) -> str | None:
    """The condition that the text of a whole number contains a text, in SQL; None if its text is to be searched.

    number: as SQL, of an integer type. low, high: the smallest and the largest of the numbers.
    """
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()):
        return f"{number} < 0" if text == "-" else "false"
    if text != digits:
        return f"({' OR '.join(_beginnings(number, digits, low)) or 'false'})"
    if low == _LEAST:
        return None
    size, bottom, top = number, low, high
    if low < 0:
        size, bottom, top = f"abs({number}::BIGINT)", max(0, -high), max(-low, high)
    parts, remainders, value = [], 0, int(digits)
    # A number has no zeros at its beginning.
    before = int(digits[0] == "0")
    if digits == "0" and bottom == 0:
        parts.append(f"{size} = 0")
    for place in range(_LONGEST):
        unit, window = 10**place, 10 ** (place + len(digits))
        if before * window + value * unit > top:
            break
        first, last = max(before, bottom // window), top // window
        if last - first < _FEW:
            ranges = (_range(head * window + value * unit, unit, bottom, top) for head in range(first, last + 1))
            parts += [f"{size} BETWEEN {least} AND {most}" for least, most in ranges if least <= most]
        else:
            remainders += 1
            of_window = f"{size} % {window} BETWEEN {value * unit} AND {(value + 1) * unit - 1}"
            parts.append(f"({size} >= {window} AND {of_window})" if before else of_window)
    return None if remainders > _MOST_REMAINDERS else f"({' OR '.join(parts)})" if parts else "false"


def time_contains(time: str, text: str, low_us: int, high_us: int) -> str | None:
    """The same of a timestamp and a text of digits, colons and hyphens.

    low_us, high_us: the smallest and the largest, in microseconds since 1970.
    """
    if low_us < 0 or not set(text) <= set("0123456789:-"):
        return None
    us, (low, high) = f"epoch_us({time})", (end // (_SECONDS_A_DAY * _SECOND) for end in (low_us, high_us))
    if (days := _days_with(text, low, high)) is None:
        return None
    parts = _bits(f"{us} // {_SECONDS_A_DAY * _SECOND} - {low}", days)
    parts += _bits(f"{us} // {_SECOND} % {_SECONDS_A_DAY}", _seconds_with(text))
    for place in range(_OF_FRACTION - len(text) + 1) if text.isdecimal() else ():
        # Zeros at the end of a fraction are not written.
        value, unit, is_written = int(text), 10**place, int(text[-1] == "0")
        least, most = value * unit + is_written, (value + 1) * unit - 1
        if least <= most:
            parts.append(f"{us} % {10 ** (place + len(text))} BETWEEN {least} AND {most}")
    return f"({' OR '.join(parts)})" if parts else "false"


def date_contains(day: str, text: str, low: int, high: int) -> str | None:
    """The same of a date. low, high: the first and the last one, in days since 1970."""
    days = _days_with(text, low, high)
    return None if days is None else "".join(_bits(f"({day} - DATE '{_EPOCH}') - {low}", days)) or "false"


def _days_with(text: str, low: int, high: int) -> list[bool] | None:
    """Of each day, whether its text contains a text; None if they are too many, or not of Python's years."""
    if high - low >= _MOST_DAYS:
        return None
    try:
        return [text in (_EPOCH + timedelta(day)).isoformat() for day in range(low, high + 1)]
    except OverflowError:
        return None


@lru_cache(maxsize=16)
def _seconds_with(text: str) -> list[bool]:
    """Of each second of a day, whether its text contains a text."""
    return [text in f"{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}" for at in range(_SECONDS_A_DAY)]


def _bits(place: str, bits: Sequence[bool]) -> list[str]:
    """The condition that the bit at a place is set, if there is any such bit."""
    written = "".join("01"[bit] for bit in bits)
    return [f"get_bit('{written}'::BIT, ({place})::INTEGER) = 1"] if any(bits) else []


def _beginnings(number: str, digits: str, low: int) -> Iterator[str]:
    """The ranges of negative numbers that begin with some digits."""
    for place in range(_LONGEST if digits[0] != "0" else 0):
        unit = 10**place
        if int(digits) * unit > -low:
            return
        yield f"{number} BETWEEN {max(low, 1 - (int(digits) + 1) * unit)} AND {-int(digits) * unit}"


def _range(start: int, size: int, bottom: int, top: int) -> tuple[int, int]:
    """The numbers from a start on, within limits."""
    return max(start, bottom), min(start + size - 1, top)
