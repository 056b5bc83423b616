"""What one record's expression may cost: calls that make long texts and lists are guarded before Spark evaluates them.

    repeat, space, lpad, rpad            at most MOST_BYTES
    sequence, array_repeat               at most MOST_ELEMENTS
    transform, filter, aggregate, ...    loops: where they stand in one another, all of them together at most MOST_STEPS
    replace, hex, format_string, ...     `engine.expressions.growth`
    aggregate with texts or lists        what it accumulates has at most MOST_BYTES

Spark evaluates a record to its end: no request ends that, and everyone's tasks share the memory of its process. The
guards are Spark SQL themselves, and fail with a sentence. A call with small constants stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from sqlglot import TokenType

from engine.expressions.growth import ALWAYS, MOST_BYTES, MOST_MADE_BYTES, too_large
from engine.expressions.parsing import UNREADABLE, VALUES, tokens_of
from engine.functions.function import names

MOST_ELEMENTS: Final = 1_000_000
MOST_STEPS: Final = 10_000_000
# A guard repeats what it looks at: so many calls that make something large may stand in one another.
MOST_NESTED: Final = 5
_FEW: Final = 1000

_LOOPS: Final = names(
    """
    aggregate array_sort exists filter forall map_filter map_zip_with reduce transform transform_keys transform_values
    zip_with
    """
)
_PADDED: Final = frozenset({"lpad", "rpad"})
_MAKERS: Final = frozenset({"repeat", "space", "sequence", "array_repeat", *_PADDED})
_GROWING: Final = names(
    """
    array array_append array_insert array_prepend array_repeat array_union concat concat_ws flatten format_string
    lpad map_concat overlay printf repeat replace regexp_replace rpad translate
    """
)
# The calls whose loops have a list after the first one.
_TWO_LISTS: Final = frozenset({"zip_with", "map_zip_with"})


@lru_cache(maxsize=4096)
def bounded(sql: str) -> str:
    """A Spark SQL expression with guards; unchanged if it can cost no more than its input."""
    condition = too_large(sql)
    if condition == ALWAYS:
        # Spark computes what has no columns before it looks at a condition.
        return _failing(_MADE)
    return _each_bounded(sql) if condition is None else _guarded(_each_bounded(sql), condition, _MADE)


def _each_bounded(sql: str) -> str:
    """An expression whose calls have guards."""
    lowered = sql.lower()
    if not any(name in lowered for name in (*_MAKERS, *_LOOPS)):
        return sql
    try:
        tokens = tokens_of(sql)
    except UNREADABLE:
        # Spark refuses it too.
        return sql
    writer = _Writer(sql, tokens)
    levels = writer.depth(0, len(tokens), loops_only=True)
    writer.most = MOST_ELEMENTS if levels < 2 else int(MOST_STEPS ** (1 / levels))
    writer.is_nested = levels > 1
    if writer.depth(0, len(tokens), loops_only=False) > MOST_NESTED:
        return _failing(f"it makes texts or lists of others more than {MOST_NESTED} times. Split it into columns")
    return writer.written(0, len(tokens))


class _Writer:
    """Writes an expression with guards. most: the elements of a list that it makes, or loops over."""

    most = MOST_ELEMENTS
    is_nested = False

    def __init__(self, sql: str, tokens: Sequence[Any]) -> None:
        self._sql = sql
        self._tokens = tokens

    def written(self, low: int, high: int) -> str:
        """The tokens of a range, with guards, and what stands between them."""
        if low >= high:
            return ""
        text, place = "", self._tokens[low].start
        for at, end in self._calls(low, high):
            text += self._sql[place : self._tokens[at].start] + self._call(at, end)
            place = self._tokens[end].end + 1
        return text + self._sql[place : self._tokens[high - 1].end + 1]

    def depth(self, low: int, high: int, *, loops_only: bool) -> int:
        """The most loops that stand in the body of one another; or the most of all calls that stand in one another."""
        deepest = 0
        for at, end in self._calls(low, high, all_calls=True):
            name = self._name(at)
            inside = [self.depth(*span, loops_only=loops_only) for span in self._arguments(at, end)]
            if not loops_only:
                deepest = max(deepest, (name in _MAKERS or name in _LOOPS) + max(inside, default=0))
            elif name == "array_repeat" or (name in _LOOPS and self._has_body(at, end)):
                lists = 0 if name == "array_repeat" else 2 if name in _TWO_LISTS else 1
                deepest = max(deepest, *(inside[:lists] or [0]), 1 + max(inside[lists:], default=0))
            else:
                deepest = max(deepest, *inside, 0)
        return deepest

    def _call(self, at: int, end: int) -> str:
        name, ranges = self._name(at), self._arguments(at, end)
        given = [self.written(*span) for span in ranges]
        head = self._sql[self._tokens[at].start : self._tokens[at + 1].end + 1]
        match name, given:
            case "repeat", [text, times]:
                if not self._is_small(ranges[1], _FEW) or any(self._calls(*ranges[0])):
                    size = f"octet_length(CAST({text} AS STRING))"
                    times = _guarded(times, f"CAST({times} AS BIGINT) * {size} > {MOST_BYTES}", _TEXT, "INT")
                given = [text, times]
            case "space", [size] if not self._is_small(ranges[0], MOST_BYTES):
                given = [_guarded(size, f"{size} > {MOST_BYTES}", _TEXT, "INT")]
            case "lpad" | "rpad", [text, size, *rest] if not self._is_small(ranges[1], MOST_BYTES):
                given = [text, _guarded(size, f"{size} > {MOST_BYTES}", _TEXT, "INT"), *rest]
            case "array_repeat", [element, times] if not self._is_small(ranges[1], min(_FEW, self.most)):
                given = [element, _guarded(times, f"{times} > {self.most}", self._list, "INT")]
            case "sequence", [first, last, *step]:
                by = f" / greatest(abs({_whole(step[0])}), 1)" if step else ""
                if not all(self._is_small(span, min(_FEW, self.most)) for span in ranges):
                    # Numbers only: dates give NULL here, and the memory is their limit.
                    size = f"abs(try_subtract({_whole(last)}, {_whole(first)})){by}"
                    return _guarded(f"{head}{', '.join(given)})", f"{size} >= {self.most}", self._list)
            case _ if name in _LOOPS and self._has_body(at, end):
                lists = 2 if name in _TWO_LISTS else 1
                if self.is_nested:
                    given[:lists] = [
                        _guarded(argument, f"size({argument}) > {self.most}", self._list) for argument in given[:lists]
                    ]
                if name in ("aggregate", "reduce") and len(given) > 2:
                    given[2] = self._accumulated(ranges[2], given[2])
        return f"{head}{', '.join(given)})"

    def _accumulated(self, where: tuple[int, int], text: str) -> str:
        """The function of an aggregate, with a guard if what it accumulates may grow."""
        tokens = self._tokens[slice(*where)]
        grows = any(_text(token) in _GROWING or token.token_type is TokenType.DPIPE for token in tokens)
        variables, arrow, body = text.partition("->")
        if not grows or not arrow:
            return text
        accumulator = variables.strip(" (\n\t").partition(",")[0].strip()
        condition = f"octet_length(CAST({accumulator} AS STRING)) > {MOST_BYTES}"
        return f"{variables}-> {_guarded(body.strip(), condition, _TEXT)}"

    @property
    def _list(self) -> str:
        nested = " where one list is made or read within another" if self.is_nested else ""
        return f"it makes or reads a list of more than {self.most:,} elements{nested}. Make fewer, or split it"

    def _is_small(self, where: tuple[int, int], most: int) -> bool:
        """Whether an argument is a small constant."""
        low, high = where
        sign = high - low == 2 and self._tokens[low].text == "-"
        if high - low != 1 + sign:
            return False
        text = self._tokens[high - 1].text
        return self._tokens[high - 1].token_type is TokenType.NUMBER and text.isdigit() and int(text[:12]) <= most

    def _has_body(self, at: int, end: int) -> bool:
        return any(self._tokens[index].text == "->" for index in range(at, end))

    def _name(self, at: int) -> str:
        return _text(self._tokens[at])

    def _calls(self, low: int, high: int, *, all_calls: bool = False) -> Iterator[tuple[int, int]]:
        """The calls in a range that stand in no other one, as the places of their name and their last parenthesis."""
        at = low
        while at < high - 1:
            if self._tokens[at + 1].text == "(" and self._is_call(at, all_calls=all_calls):
                end = self._closing(at + 1, high)
                yield at, end
                at = end
            at += 1

    def _is_call(self, at: int, *, all_calls: bool) -> bool:
        if self._tokens[at].token_type in VALUES or not _text(self._tokens[at])[:1].isalpha():
            return False
        return all_calls or self._name(at) in _MAKERS or self._name(at) in _LOOPS

    def _closing(self, at: int, high: int) -> int:
        open_ = 0
        for place in range(at, high):
            if self._tokens[place].token_type in VALUES:
                continue
            open_ += (self._tokens[place].text in ("(", "[")) - (self._tokens[place].text in (")", "]"))
            if not open_:
                return place
        # Spark will say that a parenthesis is missing.
        return high - 1

    def _arguments(self, at: int, end: int) -> list[tuple[int, int]]:
        """The ranges of the arguments of a call."""
        cuts, open_ = [at + 1], 0
        for place in range(at + 2, end):
            if self._tokens[place].token_type in VALUES:
                continue
            open_ += (self._tokens[place].text in ("(", "[")) - (self._tokens[place].text in (")", "]"))
            if self._tokens[place].text == "," and not open_:
                cuts.append(place)
        cuts.append(end)
        return [(low + 1, high) for low, high in zip(cuts, cuts[1:], strict=False) if low + 1 < high]


_MADE: Final = f"it may make a text of more than {MOST_MADE_BYTES >> 20} MB. Make a shorter one"
_TEXT: Final = f"it makes a text of more than {MOST_BYTES >> 20} MB. Make a shorter one"


def _text(token: Any) -> str:
    return "" if token.token_type in VALUES else str(token.text).lower()


def _whole(value: str) -> str:
    return f"TRY_CAST(CAST({value} AS STRING) AS BIGINT)"


def _failing(why: str) -> str:
    return "raise_error('" + why + "')"


def _guarded(value: str, condition: str, why: str, type_: str = "") -> str:
    """A value, or the end of the run where it would be too much."""
    failing = f"CAST({_failing(why)} AS {type_})" if type_ else _failing(why)
    return f"(CASE WHEN {condition} THEN {failing} ELSE {value} END)"
