"""Whether Spark may evaluate an expression: its calls are checked by name, its parts by their kind in sqlglot's tree.

The lists are what is allowed; everything else is refused. Calls and sub-queries are also checked by words, since a tree
may lack a part that Spark still reads. `same_words` handles texts that sqlglot and Spark may split differently.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Final

from sqlglot import TokenType, exp
from sqlglot.dialects.spark import Spark

from engine.expressions.parsing import SPARK, UNREADABLE, VALUES, tokens_of, tree_if_readable
from engine.functions.function import names
from engine.functions.spark import ALLOWED, NEVER_BARE, NEVER_EMPTY, REFUSED
from engine.model.schema import Schema

# Words of the grammar that may precede a parenthesis. A function with such a name has to be quoted.
_GRAMMAR: Final = names(
    """
    all and any as between both by case collate distinct div else escape extract filter for from ilike in interval is
    leading like not or overlay placing position regexp rlike some substr substring then to trailing trim try_cast when
    """
)
# Called like functions, but not in Spark's registry: two with a unit of time, and the types with a size.
_UNREGISTERED: Final = frozenset({"timestampadd", "timestampdiff", "varchar", "character", "numeric", "dec"})
# The types that Spark and sqlglot both read, and the letters that end a number: 10L.
_TYPES: Final = names(
    """
    array bigint binary boolean byte date dec decimal double float int integer long map numeric real short smallint
    string struct time timestamp timestamp_ltz timestamp_ntz tinyint y s l f d bd
    """
)
_TYPE_WORDS: Final = frozenset(
    token_type for word, token_type in Spark.Tokenizer.KEYWORDS.items() if word.lower() in _TYPES
)
_QUERY: Final = frozenset({"select", "from", "values", "table", "with"})
_SCRIPT: Final = frozenset({"map", "reduce"})
_MOMENTS: Final = frozenset({"date", "time", "timestamp", "timestamp_ltz", "timestamp_ntz"})
_MOMENT: Final = re.compile(r"\s*[+-]?\d[^\\]*")
_PLAIN: Final = re.compile(r"(?:(?!--|/\*)[ -\[\]-~\n\t])*")
# The string literals of Spark's grammar; sqlglot has to find each as a single token.
_TEXT: Final = re.compile(
    r"""[rR]?'(?:[^'\\]|\\.)*'|[rR]?"(?:[^"\\]|\\.)*"|[rR]'[^']*'|[rR]"[^"]*"|[xX]'[^']*'""", re.DOTALL
)

_NODES: Final[tuple[type[exp.Expr], ...]] = (
    *(exp.Column, exp.Identifier, exp.Dot, exp.Star, exp.Alias, exp.Paren, exp.Tuple, exp.Bracket, exp.Var),
    *(exp.Literal, exp.RawString, exp.HexString, exp.Boolean, exp.Null, exp.Interval, exp.IntervalSpan),
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.DPipe, exp.Concat),
    *(exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot, exp.BitwiseLeftShift, exp.BitwiseRightShift),
    *(exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Is),
    *(exp.NullSafeEQ, exp.NullSafeNEQ, exp.Between, exp.In, exp.Any, exp.All),
    *(exp.Like, exp.ILike, exp.RegexpLike, exp.Escape, exp.Case, exp.If),
    *(exp.Cast, exp.TryCast, exp.DataType, exp.DataTypeParam, exp.ColumnDef, exp.Collate, exp.AtTimeZone),
    *(exp.Extract, exp.Trim, exp.Substring, exp.StrPosition, exp.Overlay, exp.Ceil, exp.Floor),
    *(exp.Anonymous, exp.Array, exp.Transform, exp.Lambda, exp.Kwarg),
)
_FOREIGN: Final[tuple[tuple[tuple[type[exp.Expr], ...], str], ...]] = (
    ((exp.Window, exp.IgnoreNulls, exp.RespectNulls), "a window function"),
    ((exp.Query, exp.Exists), "a subquery"),
    ((exp.Filter, exp.WithinGroup, exp.Distinct), "an aggregate function"),
    ((exp.Placeholder, exp.Parameter), "a parameter"),
)

MOST_WORDS: Final = 50_000
"""The most words and signs of an expression, which take some 5 s: a list of 25,000 values."""
TOO_DEEP: Final = "it is nested too deeply. Compute an inner part of it as a column of its own."


def refusal(text: str, schema: Schema) -> str | None:
    """The reason why Spark may not evaluate an expression over these columns, as a sentence; None if it may."""
    try:
        words = tokens_of(text)
    except UNREADABLE:
        return "it cannot be split into words. Look for a quote or a comment that is not closed."
    if not words:
        return "it is empty. Write a Flink SQL expression over the columns."
    if len(words) > MOST_WORDS:
        return (
            f"it has {len(words):,} words and signs, and {MOST_WORDS:,} are the most. Put the values of a long list "
            "into a table of their own, and join it."
        )
    return next(chain(_judged_words(words, schema), _judged_tree(text)), None)


def same_words(text: str) -> str | None:
    """The text's words without comments, if Spark could see other words in the text; else None.

    "": a string literal that the two could read differently.
    """
    if _PLAIN.fullmatch(text):
        return None
    places: dict[int, str] = {}
    outside, end = "", 0
    for token in tokens_of(text):
        word = text[token.start : token.end + 1]
        if token.token_type in VALUES and not _TEXT.fullmatch(word):
            return ""
        places[token.start] = word
        is_quoted = token.token_type in VALUES or token.token_type is TokenType.IDENTIFIER
        outside += text[end : token.start] + (" " if is_quoted else text[max(end, token.start) : token.end + 1])
        end = max(end, token.end + 1)
    # Within quotes both read any character alike.
    return None if _PLAIN.fullmatch(outside + text[end:]) else " ".join(places.values())


def _judged_words(words: Sequence[Any], schema: Schema) -> Iterator[str]:
    columns = {column.name.lower() for column in schema}
    calls_script = any(_plain(word) == "using" for word in words)
    for at, token in enumerate(words):
        name, after = _plain(token), words[at + 1 : at + 3]
        follows = after[0].token_type if after else None
        if follows is TokenType.L_PAREN and (called := _called(words, at)) is not None:
            is_empty = len(after) > 1 and after[1].token_type is TokenType.R_PAREN
            yield from _judged_call(called, is_empty)
        elif _name(token) in NEVER_BARE - columns and not _names_a_field(words, at):
            yield _refused(_name(token), REFUSED.get(_name(token), "tells of a grouping"))
        if token.token_type is TokenType.L_PAREN and after:
            first = _plain(after[0])
            if first in _QUERY or (first in _SCRIPT and calls_script):
                yield (
                    "it has a subquery, but an expression sees one record at a time. A column of the name "
                    f"{after[0].text!r} has to be quoted with backticks."
                )
        if name in _MOMENTS and follows in VALUES and not _MOMENT.fullmatch(after[0].text):
            yield (
                f"{name.upper()} {after[0].text!r} is not a fixed date or time. Write, for example, "
                f"{name.upper()} '2024-01-31'."
            )


def _called(words: Sequence[Any], at: int) -> str | None:
    """The function called by the word before a parenthesis, in lower case, or None if it is not a call."""
    token = words[at]
    if token.token_type is TokenType.IDENTIFIER:
        return str(token.text).lower()
    name = _plain(token)
    is_word = token.token_type is not TokenType.NUMBER and re.fullmatch(r"\w+", name) is not None
    return name if is_word and name not in _GRAMMAR else None


def _names_a_field(words: Sequence[Any], at: int) -> bool:
    """Whether a word is the name of a field: after a dot or AS, or before the colon of a type."""
    before = words[at - 1].token_type if at else None
    after = words[at + 1].token_type if at + 1 < len(words) else None
    return before in (TokenType.DOT, TokenType.ALIAS) or after is TokenType.COLON


def _judged_call(name: str, is_empty: bool) -> Iterator[str]:
    if name == "over":
        yield "it has a window function, but an expression sees one record at a time."
    elif name in REFUSED:
        yield _refused(name, REFUSED[name])
    elif name in NEVER_EMPTY and is_empty:
        yield _refused(
            name, "without arguments gives another result each time, but the same input must give the same changelog"
        )
    elif name not in ALLOWED | _UNREGISTERED:
        yield f"there is no function `{name}`.{_nearest(name)}"


def _judged_tree(text: str) -> Iterator[str]:
    try:
        tree = tree_if_readable(text)
    except RecursionError:
        yield TOO_DEEP
        return
    for node in () if tree is None else tree.walk():
        for kinds, what in _FOREIGN:
            if isinstance(node, kinds):
                yield f"it has {what}, but an expression sees one record at a time."
        if isinstance(node, exp.Dot) and not isinstance(node.expression, (exp.Identifier, exp.Star)):
            yield f"{node.sql(dialect=SPARK)!r} names a schema, but an expression calls functions by their own names."
        if type(node) not in _NODES:
            yield f"{node.sql(dialect=SPARK)!r} is not allowed in an expression."


@lru_cache(maxsize=8192)
def foreign_types(text: str) -> tuple[str, ...]:
    """The words of a readable text that are types to sqlglot, but not to Spark: TEXT, TIMESTAMPNTZ."""
    return tuple(
        str(word.text).lower()
        for word in tokens_of(text)
        if word.token_type in _TYPE_WORDS and str(word.text).lower() not in _TYPES
    )


def _refused(name: str, why: str) -> str:
    return f"{name}() {why}.{_nearest(name)}"


def _nearest(name: str) -> str:
    nearest = difflib.get_close_matches(name, sorted(ALLOWED), 3, 0.75)
    return f" Did you mean {' or '.join(f'{candidate}()' for candidate in nearest)}?" if nearest else ""


def _plain(token: Any) -> str:
    """An unquoted word in lower case; "" for a quoted one."""
    is_quoted = token.token_type is TokenType.IDENTIFIER or token.token_type in VALUES
    return "" if is_quoted else str(token.text).lower()


def _name(token: Any) -> str:
    return "" if token.token_type in VALUES else str(token.text).lower()
