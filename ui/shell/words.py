"""Values as text for people: durations, instants, counts, cells. Exact if a user would act on them."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from html import escape
from typing import Final

from engine.model.durations import ms_of
from engine.model.printing import shortest
from engine.model.zones import Zone

END_MS: Final = (1 << 63) - 1
LOCAL: Final = len("2001-09-09 01:48:00.000")
"""The length of a time without an offset, which axes do not know."""
_DAY: Final = len("2001-09-09 ")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS: Final = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000))

_FLOAT_DIGITS: Final = 15
_MOST_FLOAT: Final = (2 - 2**-23) * 2.0**127

_INLINE: Final = re.compile(r"[\\\[\]$*`<]|~(?=~)|(?<![^\W_])_|_(?![^\W_])|&(?=[#\w]+;)")
_BLOCK: Final = re.compile(r"^([ \t]*)([#>+=-])", re.MULTILINE)
_LIST: Final = re.compile(r"^([ \t]*\d+)([.)])(?=\s)", re.MULTILINE)
# `:material/bolt:` and `:smile:`, `https://host` and `www.host`; not times such as 10:00.
_RECOGNISED: Final = re.compile(r":(?=[A-Za-z_+-][\w+/-]*:)|(?<=\w):(?=//)|\bwww(?=\.)")
_WORD_JOINER: Final = "\u2060"


def duration(ms: int) -> str:
    """A span of time: `0 ms`, `250 ms`, `1.2 s`, `2 min 3.5 s`, `1 d 4 h`. Nothing is rounded away."""
    if ms < 0:
        return f"-{duration(-ms)}"
    if ms < 1000:
        return f"{ms} ms"
    parts: list[str] = []
    for unit, size in _UNITS:
        whole, ms = divmod(ms, size)
        if whole:
            parts.append(f"{whole} {unit}")
    if ms or not parts:
        parts.append(f"{ms / 1000:.3f}".rstrip("0").rstrip(".") + " s")
    return " ".join(parts)


def elapsed(seconds: float) -> str:
    """How long something took, to the precision that matters: `0.4 s`, `12 s`, `2 min 5 s`."""
    return f"{seconds:.1f} s" if seconds < 10 else duration(round(seconds) * 1000)


def instant(ms: int | None, zone: Zone | None = None) -> str:
    """An instant with milliseconds, as clocks show it in a zone, or in UTC; `end of input` from END_MS on.

    `none yet` for None. The offset is told only of a time that clocks show twice.
    """
    if ms is None:
        return "none yet"
    if ms >= END_MS:
        return "end of input"
    try:
        at = _EPOCH + timedelta(milliseconds=ms)
        at = at if zone is None else zone.shown(at)
    except OverflowError:
        return f"{ms} ms"
    offset = ""
    if zone is not None:
        offset = at.isoformat(timespec="seconds")[19:] if zone.is_twice(ms_of(at)) else ""
    return f"{at:%Y-%m-%d %H:%M:%S}.{ms % 1000:03d}{offset}"


def moment(ms: int | None, zone: Zone | None = None) -> str:
    """An instant with the name of its zone, for where nothing else tells it."""
    return instant(ms, zone) if ms is None or ms >= END_MS else f"{instant(ms, zone)} {zone_name(zone)}"


def zone_name(zone: Zone | None) -> str:
    """A zone's name, or UTC."""
    return "UTC" if zone is None else zone.name


def event_time(zone: Zone | None, day: str = "", what: str = "event time") -> str:
    """The head of a column of times. day: the one that all of them have."""
    return f"{what} ({f'{day} {zone.name}' if day and zone is not None else day or zone_name(zone)})"


def window(start_ms: int | None, end_ms: int | None, day: str = "", zone: Zone | None = None) -> str:
    """A window as [start, end): `[2001-09-09 01:48:00, 01:48:10)`; milliseconds only if they are not 0."""
    if start_ms is None or end_ms is None:
        return ""
    # A window has local times, which have no offset.
    start, end = (instant(ms, zone)[:LOCAL].removesuffix(".000") for ms in (start_ms, end_ms))
    return f"[{start.removeprefix(f'{day} ')}, {end.removeprefix(start[:_DAY])})"


def clock(ms: int | None, day: str, zone: Zone | None = None) -> str:
    """An instant, without its date if that is `day`."""
    text = instant(ms, zone)
    return text.removeprefix(f"{day} ") if day else text


def count(number: int, one: str, many: str = "") -> str:
    """A number with its noun: `1 record`, `1,204 records`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def size(number: int) -> str:
    """A number of bytes: `12 kB`, `3.4 GB`; units of 1024."""
    for unit, name in ((1 << 30, "GB"), (1 << 20, "MB")):
        if number >= unit:
            return f"{number / unit:.3g} {name}"
    return f"{-(-number // 1024)} kB"


def capitalized(text: str) -> str:
    """A sentence's first letter as a capital."""
    return text[:1].upper() + text[1:]


def ago(moment: datetime, now: datetime | None = None) -> str:
    """How long ago a moment was: `just now`, `5 min ago`, `yesterday`, then the date. Without a zone it is UTC."""
    then, now = (at if at.tzinfo else at.replace(tzinfo=UTC) for at in (moment, now or datetime.now(UTC)))
    seconds = (now - then).total_seconds()
    if seconds < 45:
        return "just now"
    if seconds < 3600:
        return f"{max(1, round(seconds / 60))} min ago"
    if seconds < 86_400:
        return f"{round(seconds / 3600)} h ago"
    return "yesterday" if seconds < 2 * 86_400 else f"{then:%Y-%m-%d}"


def value(cell: object) -> str:
    """A value of a record as one line of text. The caller has to distinguish NULL from the text `NULL`."""
    match cell:
        case None:
            return "NULL"
        case bool():
            return "true" if cell else "false"
        case datetime():
            # Milliseconds if they are exact and not 0: event times have no finer part.
            digits = "auto" if not cell.microsecond or cell.microsecond % 1000 else "milliseconds"
            return cell.isoformat(sep=" ", timespec=digits).removesuffix("+00:00")
        case date():
            return cell.isoformat()
        case bytes():
            return "0x" + cell.hex()
        case float():
            # Sums of floats have rounding errors: 959.1200000000001 is meant as 959.12.
            exact = str(cell)
            if len(exact.strip("-").replace(".", "")) <= _FLOAT_DIGITS:
                return exact
            # A FLOAT that became a DOUBLE: 24.600000381469727 is meant as 24.6.
            single = abs(cell) <= _MOST_FLOAT and struct.unpack("f", struct.pack("f", cell))[0] == cell
            return str(shortest(cell)) if single else f"{cell:.{_FLOAT_DIGITS}g}"
        case list() | tuple():
            return "[" + ", ".join(value(item) for item in cell) + "]"
        case dict():
            return _inside(cell)
        case _:
            return str(cell)


def _inside(item: object) -> str:
    """A value inside of a ROW or a MAP, as JSON."""
    match item:
        case None:
            return "null"
        case dict():
            return "{" + ", ".join(f"{_inside(value(key))}: {_inside(inner)}" for key, inner in item.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(_inside, item)) + "]"
        case bool() | int() | float() | Decimal():
            return value(item)
        case _:
            return json.dumps(value(item), ensure_ascii=False)


def at_line(line: int) -> str:
    """The prefix of a sentence about a line of a text, from 1; empty for 0."""
    return f"Line {line}: " if line else ""


def record(names: Sequence[str], values: Sequence[object]) -> str:
    """A record in one line: `id=5, ts=1000000111000`."""
    return ", ".join(f"{name}={value(cell)}" for name, cell in zip(names, values, strict=True))


def code(text: str) -> str:
    """Text as inline code for Markdown, on one line and without backticks, which would end it."""
    return f"`{' '.join(text.replace('`', '').splitlines()) or ' '}`"


def in_chart(text: str) -> str:
    """Text escaped for the labels and hover texts of a chart, which Plotly reads as a kind of HTML."""
    return escape(text, quote=False)


def escaped(text: str) -> str:
    """Text escaped for Markdown: no links, pictures, headings, colours, icons, formulas or emphasis.

    Every name that comes from a person or a file has to be escaped here.
    """
    # Streamlit finds icons, and Markdown URLs, in escaped text as well: a word joiner breaks these up.
    text = _LIST.sub(r"\1\\\2", _BLOCK.sub(r"\1\\\2", _INLINE.sub(r"\\\g<0>", text)))
    return _RECOGNISED.sub(rf"\g<0>{_WORD_JOINER}", text)
