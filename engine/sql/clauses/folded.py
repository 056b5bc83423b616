"""Constant expressions of VALUES as values: `TO_TIMESTAMP('...')`, `10.5 * 2`, `UPPER('x')`, a time plus an interval.

Only what has one meaning whatever its types: whole numbers and decimals are exact, texts and times stay texts. All else
stays unknown to this module, and is refused by its caller.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from sqlglot import exp

from engine.sql.algebra import Expr
from engine.sql.functions.intervals import has_fixed_length, interval_ms

Read = Callable[[Expr], Any]

_ARITHMETIC: Final[dict[type[Expr], Callable[[Any, Any], Any]]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
}
_COMPARISONS: Final[dict[type[Expr], Callable[[Any, Any], bool]]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}
_TEXTS: Final[dict[str, Callable[..., str]]] = {
    "UPPER": str.upper,
    "LOWER": str.lower,
    "TRIM": lambda text: text.strip(" "),
    "CONCAT": lambda *texts: "".join(texts),
}
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{1,9})?")
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_TO_TIMESTAMP_DIGITS: Final = 3
# The letters of a pattern of times that stand for a number of as many digits. All others say more.
_FIELDS: Final = {
    **{"yyyy": "year", "MM": "month", "dd": "day", "HH": "hour", "mm": "minute", "ss": "second"},
    **dict.fromkeys(("S", "SS", "SSS", "SSSS", "SSSSS", "SSSSSS"), "fraction"),
}
_IN_PATTERN: Final = re.compile(r"(?P<letters>([A-Za-z])\2*)|'(?P<quoted>[^']+)'|(?P<other>.)", re.DOTALL)
_DAY: Final = ("year", "month", "day")


class Unfolded(Exception):
    """The expression is not one of those that are known here."""


def folded(item: Expr, read: Read) -> Any:
    """The value of a constant expression. read: the value of a part of it. Raises Unfolded."""
    kind = type(item)
    if kind in (exp.Add, exp.Sub) and isinstance(item.expression.unnest(), exp.Interval):
        return _shifted(read(item.this), item.expression.unnest(), backwards=kind is exp.Sub)
    if kind in _ARITHMETIC:
        left, right = (_exact(part, read) for part in (item.this, item.expression))
        return None if left is None or right is None else _number(_ARITHMETIC[kind](left, right))
    if kind in _COMPARISONS:
        texts = [read(part) for part in (item.this, item.expression)]
        is_text = all(isinstance(text, str) for text in texts)
        left, right = texts if is_text else (_exact(part, read) for part in (item.this, item.expression))
        return None if left is None or right is None else _COMPARISONS[kind](left, right)
    if kind is exp.Not:
        value = read(item.this)
        return None if value is None else not value
    if kind is exp.DPipe:
        return _joined([read(item.this), read(item.expression)], _TEXTS["CONCAT"])
    if kind is exp.Anonymous:
        return _called(item.name.upper(), [read(part) for part in item.expressions])
    raise Unfolded


def moment_of(text: str, pattern: str) -> tuple[datetime, bool] | None:
    """The time of a text, in UTC, and whether the pattern has a fraction; None if the text does not fit.

    Raises Unfolded for a pattern that does not only have numbers.
    """

    def form_of(part: re.Match[str]) -> str:
        letters, other = part["letters"], part["quoted"] or part["other"]
        if letters not in _FIELDS and (letters or other == "'"):
            raise Unfolded
        return rf"(?P<{_FIELDS[letters]}>\d{{{len(letters)}}})" if letters else re.escape(other)

    try:
        form = re.compile(_IN_PATTERN.sub(form_of, pattern), re.ASCII)
        if not form.groupindex.keys() >= {*_DAY}:
            raise Unfolded
        if (numbers := form.fullmatch(text)) is None:
            return None
        fields = {name: int(digits) for name, digits in numbers.groupdict().items() if name != "fraction"}
        micros = int(numbers["fraction"].ljust(6, "0")) if "fraction" in form.groupindex else 0
        return datetime(**fields, microsecond=micros, tzinfo=UTC), "fraction" in form.groupindex
    except (re.error, ValueError) as error:
        # A letter that stands there twice, or the 31st of a shorter month, which Java takes for its last day.
        raise Unfolded from error


def _called(name: str, values: list[Any]) -> Any:
    match name, values:
        case ("TO_TIMESTAMP", [str() as text]):
            # NULL for a text that is no time, and TIMESTAMP(3), as in Flink.
            if not _TIME.fullmatch(text):
                return f"{text} 00:00:00" if _DATE.fullmatch(text) else None
            whole, point, digits = text.partition(".")
            return f"{whole.replace('T', ' ')}{point}{digits[:_TO_TIMESTAMP_DIGITS]}"
        case ("TO_TIMESTAMP", [str() as text, str() as pattern]):
            parsed = moment_of(text, pattern)
            return None if parsed is None else f"{parsed[0]:%Y-%m-%d %H:%M:%S.%f}"[: -3 if parsed[1] else -7]
        case ("TO_DATE", [str() as text]):
            return text if _DATE.fullmatch(text) else None
        case (("TO_TIMESTAMP" | "TO_DATE"), [None]):
            return None
    if name in _TEXTS and (len(values) == 1 or name == "CONCAT"):
        return _joined(values, _TEXTS[name])
    raise Unfolded


def _joined(values: list[Any], join: Callable[..., str]) -> str | None:
    if any(value is None for value in values):
        return None
    if not all(isinstance(value, str) for value in values):
        raise Unfolded
    return join(*values)


def _exact(item: Expr, read: Read) -> int | Decimal | None:
    """The number of a part without a rounding error: a decimal literal stands for itself."""
    literal = item.unnest()
    if isinstance(literal, exp.Literal) and not literal.is_string and not literal.name.isdecimal():
        return Decimal(literal.name)
    value = read(item)
    if isinstance(value, bool) or not isinstance(value, int | float | type(None)):
        raise Unfolded
    return Decimal(repr(value)) if isinstance(value, float) else value


def _number(value: int | Decimal) -> int | float | str:
    """A result as a literal has it: a decimal that a float would round stays a text."""
    if isinstance(value, int):
        return value
    return float(value) if Decimal(repr(float(value))) == value else f"{value:f}"


def _shifted(value: Any, interval: exp.Interval, *, backwards: bool) -> str | None:
    """A time plus or minus an interval of fixed length."""
    if value is None:
        return None
    if not (isinstance(value, str) and _TIME.fullmatch(value)) or not has_fixed_length(interval):
        raise Unfolded
    whole, point, digits = value.partition(".")
    by_ms = interval_ms(interval)
    moment = datetime.fromisoformat(whole.replace("T", " ")) + timedelta(
        microseconds=int(digits[:6].ljust(6, "0") or 0), milliseconds=-by_ms if backwards else by_ms
    )
    size = max(len(digits), 3 if by_ms % 1000 else 0)
    fraction = f".{moment.microsecond:06d}"[: size + 1] if size else ""
    return f"{moment:%Y-%m-%d %H:%M:%S}{fraction}"
