"""Text and tokens as sqlglot's syntax trees, and syntax errors with their place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final
from unicodedata import normalize

from sqlglot import TokenType, exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token

from engine.errors import shortened
from engine.model.whole_texts import half_at
from engine.sql.algebra import Expr
from engine.sql.dialect import Flink
from engine.sql.of_others import refuse_others
from engine.sql.rejected import SqlRejected
from engine.sql.state_ttl import is_read
from engine.sql.syntax_errors import in_words, slip_in

_LENGTH: Final = re.compile(r"\d{1,10}", re.ASCII)
_WORDS: Final = (TokenType.VAR, TokenType.TOP)
_NUMBER: Final = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)


# A script that is written is read again part by part, and each part several times.
@lru_cache(128)
def tokens_of(text: str) -> tuple[Token, ...]:
    """The tokens of a text. Raises SqlRejected for an unclosed quote, and for half of a character."""
    if (at := half_at(text)) is not None:
        message = f"{ascii(text[at])} is half of a character. Write the whole one."
        raise SqlRejected(message, place=_place(text, at))
    try:
        return tuple(_with_code_points(Flink().tokenize(text)))
    except TokenError as error:
        if (opened := _left_open(text)) is not None:
            what, place = opened
            message = f"the {what} that opens here is never closed."
            raise SqlRejected(message, place=place) from error
        # The part that it quotes is long and has no place; what is left is a character that no word begins with.
        message = "this is not Flink SQL: its words cannot be told apart. Texts take single quotes, names backticks."
        raise SqlRejected(message) from error


def _with_code_points(tokens: list[Token]) -> Iterator[Token]:
    """The tokens with U&'...' as one text, in which \\0001 is the character of this code."""
    at = 0
    while at < len(tokens):
        token, *after = tokens[at : at + 3]
        is_prefix = token.text in ("U", "u") and [later.start for later in after] == [token.end + 1, token.end + 2]
        if is_prefix and [later.text for later in after[:1]] == ["&"] and after[1].token_type is TokenType.STRING:
            whole = after[1]
            whole.text = _CODE_POINT.sub(lambda code: chr(int(code[1], 16)) if code[1] else "\\", whole.text)
            whole.start, whole.col, token, at = token.start, token.col, whole, at + 2
        yield token
        at += 1


_CODE_POINT: Final = re.compile(r"\\(?:([0-9A-Fa-f]{4})|\\)")
DOUBLE_QUOTES: Final = "names take backticks, texts single quotes: double quotes have no meaning in Flink SQL."
_CURLY: Final = "\u2018\u2019\u201c\u201d\u00b4"
# Punctuation of Chinese and Japanese keyboards: , ; ( ) = < > : . *
_FULL_WIDTH: Final = "\uff0c\uff1b\uff08\uff09\uff1d\uff1c\uff1e\uff1a\uff0e\uff0a"
_ODD: Final = re.compile(rf"[{_CURLY}{_FULL_WIDTH}\u200b-\u200f\u2060\u00ad]")
_QUOTED: Final = re.compile(r"--[^\n]*|/\*(?:.*?\*/)?|'(?:[^']*')?|`(?:[^`]*`)?|\"(?:[^\"]*\")?", re.DOTALL)
_OPENS: Final = {"'": "quote", "`": "backtick", '"': "double quote", "/*": "comment"}


def _left_open(text: str) -> tuple[str, tuple[int, int]] | None:
    """What opens a quote or a comment that nothing closes, and where; None if all are closed."""
    opening = next((match for match in _QUOTED.finditer(text) if match[0] in _OPENS), None)
    return None if opening is None else (_OPENS[opening[0]], _place(text, opening.start()))


def require_plain(tokens: Iterable[Token]) -> None:
    """Raise SqlRejected for a character that only looks like one of SQL, or like none, with its place."""
    for token in tokens:
        if token.token_type is TokenType.VAR and (odd := _ODD.search(token.text)) is not None:
            place = (token.line, token.col - len(token.text) + odd.start() + 1)
            raise SqlRejected(_odd(odd[0]), place=place)


def _odd(character: str) -> str:
    if character in _FULL_WIDTH:
        return f"{character} is the full-width form of {normalize('NFKC', character)} here. Write that one."
    if character in _CURLY:
        return f"{character} is no quote of SQL: names take backticks, texts single quotes ('), as keyboards have them."
    return f"a character that cannot be seen (U+{ord(character):04X}) stands here. Remove it."


def _first_double_quote(text: str) -> tuple[int, int]:
    """The place of the first double quote outside of comments and other quotes."""
    starts = (match.start() for match in _QUOTED.finditer(text) if match[0].startswith('"'))
    return _place(text, next(starts, 0))


def _place(text: str, at: int) -> tuple[int, int]:
    """Line and column of an offset, from 1."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def trees_of(tokens: Sequence[Token], text: str) -> list[Expr]:
    """The statements of a text's tokens. Raises SqlRejected with the place of the first syntax error."""
    require_plain(tokens)
    try:
        read = [
            token for at, token in enumerate(tokens) if token.token_type is not TokenType.HINT or is_read(tokens, at)
        ]
        trees = Flink().parser().parse(read, text)
    except ParseError as error:
        first = error.errors[0] if error.errors else {}
        highlight = str(first.get("highlight") or " ")
        description = str(first.get("description", error)).rstrip(".")
        column = max(1, int(first.get("col") or 0) - len(highlight) + 1)
        if highlight.startswith('"') or str(first.get("start_context", "")).endswith('"'):
            raise SqlRejected(DOUBLE_QUOTES, place=_first_double_quote(text)) from error
        is_last = bool(tokens) and tokens[-1].text.endswith(highlight) and not first.get("end_context", "").strip(" ;")
        words = [token.text.upper() for token in tokens if token.token_type in _WORDS]
        message = (
            f"this is not Flink SQL: {in_words(description, highlight, is_last=is_last)}. {slip_in(words)}".rstrip()
        )
        raise SqlRejected(message, place=(int(first.get("line") or 0), column)) from error
    return _all_settled([tree for tree in trees if isinstance(tree, exp.Expr)])


def _settled(node: Expr) -> Expr:
    """The node as Flink has it: MAP['a', 1] and PI are calls, not columns, LIMIT ALL is none, N'a' a text.

    Raises SqlRejected for what sqlglot accepts: a call without an argument, a type's length or a number that is none.
    """
    refuse_others(node)
    match node:
        case exp.Distinct(expressions=[], parent=exp.Anonymous() as call):
            message = f"{call.name}(DISTINCT) needs an argument, such as {call.name}(DISTINCT v)."
            raise SqlRejected(message, call)
        case exp.Func() if None in node.expressions or ("this" in node.required_args and node.this is None):
            message = f"an argument of {node.name or node.sql_name()} is missing."
            raise SqlRejected(message, node)
        case exp.DataTypeParam() if not (isinstance(node.this, exp.Literal) and _LENGTH.fullmatch(node.name)):
            message = f"the length or precision of a type is a number, not {node.sql(dialect=Flink)}."
            raise SqlRejected(message, node.find_ancestor(exp.Cast))
        case exp.Order(this=None, parent=exp.Anonymous() as call):
            message = f"{call.name} needs an argument before ORDER BY."
            raise SqlRejected(message, call)
        case exp.Literal(is_string=False) if not _NUMBER.fullmatch(node.name):
            message = f"{shortened(node.name)} is not a number, or is out of range."
            raise SqlRejected(message, node.parent)
        case exp.Query() if (limit := node.args.get("limit")) is not None and _is_word(limit.expression, "ALL"):
            node.set("limit", None)
        case exp.IgnoreNulls(this=exp.Anonymous(expressions=[first, *others]) as call):
            call.set("expressions", [exp.IgnoreNulls(this=first), *others])
            return call
        case exp.National():
            return exp.Literal.string(node.name)
        case exp.Column() if _is_word(node, "PI"):
            return _call("PI", [], node)
        case exp.Bracket() if _is_word(node.this, "MAP"):
            return _call("MAP", _all_settled(node.expressions), node.this)
        case exp.Anonymous() if node.name.upper() == "ARRAY" and node.expressions:
            return exp.Array(expressions=_all_settled(node.expressions))
    return node


def _is_word(node: Any, word: str) -> bool:
    """Whether what is read as a column is a word of Flink's: without a table before it, and without backticks."""
    is_bare = isinstance(node, exp.Column) and not node.args.get("table") and not node.this.args.get("quoted")
    return is_bare and node.name.upper() == word


def _all_settled(nodes: Sequence[Expr]) -> list[Expr]:
    """Those below a node that another takes the place of, which `transform` does not visit."""
    return [node.transform(_settled, copy=False) for node in nodes]


def _call(name: str, arguments: list[Expr], column: exp.Column) -> exp.Anonymous:
    call = exp.Anonymous(this=name, expressions=arguments)
    call.meta.update(column.this.meta)
    return call
