"""Types as text: what Spark and Flink write, and what people type."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final

from engine.errors import unknown_name
from engine.model.types import (
    AVAILABLE,
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    MICROSECONDS,
    MILLISECONDS,
    MOST_DIGITS,
    NESTED,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Array,
    Decimal,
    Map,
    Plain,
    Row,
    Time,
    Timestamp,
    Type,
)

_SIMPLE: Final = {
    str(type_): type_
    for type_ in (
        *(STRING, BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DATE, BINARY),
        *(TIMESTAMP, TIMESTAMP_NTZ),
    )
}
_NAMES: Final[dict[str, Type]] = {
    **_SIMPLE,
    "varchar": STRING,
    "char": STRING,
    "character": STRING,
    "text": STRING,
    "bool": BOOLEAN,
    "byte": TINYINT,
    "short": SMALLINT,
    "integer": INT,
    "long": BIGINT,
    "real": FLOAT,
    "double precision": DOUBLE,
    "bytes": BINARY,
    "varbinary": BINARY,
    "timestamp_ltz": TIMESTAMP,
    "timestamp with local time zone": TIMESTAMP,
    "timestamp with time zone": TIMESTAMP,
    "timestamp without time zone": TIMESTAMP_NTZ,
    "datetime": TIMESTAMP_NTZ,
}
_TIME: Final = re.compile(r"time(?:\s*\(\s*(\d)\s*\))?(?: without time zone)?")
_DECIMAL: Final = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_PRECISION: Final = re.compile(r"timestamp\w*\s*\(\s*(\d+)\s*\)", re.IGNORECASE)
_ROW: Final = re.compile(
    r"\s*(?:row|struct)\s*(?:<(.*)>|\((.*)\))(?:\s+not)?(?:\s+null)?\s*", re.IGNORECASE | re.DOTALL
)
_BARE_MOMENT: Final = re.compile(
    r"^(timestamp(?:_ltz)?)( with local time zone| with time zone| without time zone|)$", re.IGNORECASE
)
_A_ROW: Final = re.compile(r"\b(row|struct)\s*[<(]", re.IGNORECASE)
_COMMENT: Final = re.compile(r"\s+(comment\s+)?'(?:[^']|'')*'\s*$", re.IGNORECASE)


@lru_cache(maxsize=4096)
def spark_type(text: str) -> Type:
    """The type that a text in Spark's notation says, as `str` of a type writes it. Raises ValueError for a bad one."""
    kind, _, parts = text.partition("<")
    if text in _SIMPLE:
        return _SIMPLE[text]
    if match := _DECIMAL.fullmatch(text):
        return Decimal(int(match[1]), int(match[2]))
    if kind == "struct":
        return _row(parts[:-1], spark_type)
    if match := _TIME.fullmatch(text):
        return _time(match[1])
    return _nested(kind, parts[:-1], spark_type) if parts.endswith(">") else Plain(text)


def type_from(text: str) -> Type:
    """The type that a text of Spark, Flink or standard SQL says, in any case.

    The names mean the same everywhere except TIMESTAMP: with a precision, as Flink always writes it
    (`TIMESTAMP(3)`), it has no zone; bare, as Spark writes it, it is an instant. Raises ValueError that
    lists the types.
    """
    if (row := _ROW.fullmatch(text)) is not None:
        return _row(row[1] or row[2] or "", type_from)
    # One pass from the first bracket: a search from every bracket takes minutes if thousands are nested.
    if (bracket := text.find("<")) >= 0 and _A_ROW.search(text, bracket):
        kind, _, parts = text.strip()[: text.strip().rindex(">")].partition("<")
        return _nested(kind.strip().lower(), parts, type_from)
    words = " ".join(text.lower().replace("`", "").split()).removesuffix(" not null").removesuffix(" null").strip()
    name, _, rest = words.partition("(")
    inner, _, tail = rest.partition(")")
    if (digits := _PRECISION.match(words)) is not None and int(digits[1]) > MICROSECONDS:
        message = f"{text} has nanoseconds, of which the last three digits would be lost here. Write TIMESTAMP(6)"
        raise ValueError(message)
    if match := _TIME.fullmatch(words):
        return _time(match[1])
    if words.count("(") == words.count(")"):
        if words.startswith(("array<", "map<", "multiset<")) and words.endswith(">"):
            kind, _, parts = words[:-1].partition("<")
            return _nested(kind, parts, type_from)
        if name.strip() in ("decimal", "dec", "numeric"):
            precision, _, scale = inner.partition(",")
            if (decimal := _decimal(precision.strip() or "10", scale.strip() or "0")) is not None:
                return decimal
        elif name == "timestamp" and rest and not tail:
            return TIMESTAMP_NTZ if digits is None else Timestamp(int(digits[1]))
        elif (plain := _NAMES.get(f"{name}{tail}".strip())) is not None:
            if digits is not None and isinstance(plain, Timestamp):
                return Timestamp(int(digits[1]), plain.is_zoned)
            return plain
    message = unknown_name("type", text, AVAILABLE)
    raise ValueError(message)


def flink_type(text: str) -> Type:
    """The type that a text of Flink SQL says: a bare TIMESTAMP has no zone, and six digits. Raises ValueError."""
    return type_from(_BARE_MOMENT.sub(rf"\1({MICROSECONDS})\2", text.strip()))


def in_flink(text: str, read: Callable[[str], Type] = type_from) -> str:
    """A type's text in Flink SQL's notation; as it is if it says no type. read: what it is a text of."""
    try:
        return read(text).flink
    except ValueError:
        return text


def parts_of(text: str, separator: str = ",") -> Iterator[str]:
    """The parts of a text between separators outside brackets and quotes."""
    depth, start, quoted = 0, 0, ""
    for at, char in enumerate(text):
        if char in "`'" and quoted in ("", char):
            quoted = "" if quoted else char
        elif not quoted:
            depth += (char in "<([") - (char in ">)]")
            if char == separator and depth == 0:
                yield text[start:at].strip()
                start = at + 1
    if text[start:].strip():
        yield text[start:].strip()


def _decimal(precision: str, scale: str) -> Decimal | None:
    if re.fullmatch(r"\d{1,2},\d{1,2}", f"{precision},{scale}", re.ASCII) is None:
        return None
    decimal = Decimal(int(precision), int(scale))
    return decimal if 1 <= decimal.precision <= MOST_DIGITS and decimal.scale <= decimal.precision else None


def _time(digits: str | None) -> Time:
    """A TIME. Flink keeps no more than milliseconds of it, whatever is declared."""
    return Time(min(int(digits or 0), MILLISECONDS))


def _nested(kind: str, text: str, read: Callable[[str], Type]) -> Type:
    """An ARRAY or a MAP of what stands between its brackets. Raises ValueError for another kind."""
    if kind == "array":
        return Array(read(text))
    if kind == "multiset":
        return Map(read(text), INT)
    if kind != "map":
        message = unknown_name("type", kind, NESTED)
        raise ValueError(message)
    parts = tuple(parts_of(text))
    if len(parts) != 2:
        message = f"map<{text}> needs a key and a value type"
        raise ValueError(message)
    return Map(read(parts[0]), read(parts[1]))


def _row(text: str, read: Callable[[str], Type]) -> Row:
    """A ROW of what stands between its brackets: `a INT, b STRING` or `a:int`.

    Raises ValueError for a field without a name or type, and for a repeated name.
    """
    fields: dict[str, Type] = {}
    for part in parts_of(text):
        name, rest = _name_and_rest(part)
        type_ = _COMMENT.sub("", rest)
        if not name or not type_:
            message = f"the field {part!r} of a ROW needs a name and a type: ROW<a INT, b STRING>"
            raise ValueError(message)
        if name in fields:
            message = f"a ROW has two fields {name!r}; give one of them another name"
            raise ValueError(message)
        fields[name] = read(type_)
    if not fields:
        message = "a ROW needs a field: ROW<a INT>"
        raise ValueError(message)
    return Row(tuple(fields.items()))


def _name_and_rest(part: str) -> tuple[str, str]:
    """A field's name, and the text after it and a colon or blank."""
    if part.startswith("`"):
        end = 1
        while end < len(part) and (part[end] != "`" or part[end + 1 : end + 2] == "`"):
            end += 2 if part[end] == "`" else 1
        return part[1:end].replace("``", "`"), part[end + 1 :].lstrip(": \t\n")
    end = next((at for at, char in enumerate(part) if char in ": \t\n"), len(part))
    return part[:end], part[end:].lstrip(": \t\n")
