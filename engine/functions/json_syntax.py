"""The clauses of JSON functions (RETURNING, ON EMPTY, ON ERROR, wrappers), parsed into `Kwarg`s of the call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sqlglot import TokenType, exp

_ON: Final = ("NULL", "ERROR", "ABSENT", "TRUE", "FALSE", "UNKNOWN")


def _word(parser: Any, *words: str) -> bool:
    """Consume these words if they come next. Returns whether they did."""
    start = parser._index
    for word in words:
        if not parser._curr or parser._curr.text.upper() != word:
            parser._retreat(start)
            return False
        parser._advance()
    return True


def _clauses(parser: Any) -> list[exp.Kwarg]:
    """The clauses after the arguments, up to the closing parenthesis."""
    clauses: dict[str, Any] = {}
    while parser._curr and parser._curr.token_type is not TokenType.R_PAREN:
        if _word(parser, "RETURNING"):
            clauses["returning"] = parser._parse_types()
        elif _word(parser, "WITHOUT"):
            _word(parser, "ARRAY")
            parser._match_text_seq("WRAPPER")
        elif _word(parser, "WITH"):
            clauses["wrapper"] = exp.var("CONDITIONAL" if _word(parser, "CONDITIONAL") else "UNCONDITIONAL")
            _word(parser, "UNCONDITIONAL")
            _word(parser, "ARRAY")
            parser._match_text_seq("WRAPPER")
        elif _word(parser, "DEFAULT"):
            value = parser._parse_unary()
            clauses[_on(parser)] = value
        elif _word(parser, "EMPTY"):
            what = "[]" if _word(parser, "ARRAY") else "{}"
            _word(parser, "OBJECT")
            clauses[_on(parser)] = exp.Literal.string(what)
        else:
            word = next((keyword for keyword in _ON if _word(parser, keyword)), None)
            if word is None:
                parser.raise_error(f"a clause of a JSON function does not begin with {parser._curr.text}")
                break
            clauses[_on(parser)] = exp.Null() if word == "NULL" else exp.var(word)
    return [exp.Kwarg(this=exp.var(name), expression=value) for name, value in clauses.items()]


def _on(parser: Any) -> str:
    """ON EMPTY, ON ERROR or ON NULL, as the name of a clause."""
    for what in ("EMPTY", "ERROR", "NULL"):
        if _word(parser, "ON", what):
            return f"on_{what.lower()}"
    parser.raise_error("ON EMPTY or ON ERROR is missing")
    return "on_error"


def _path_call(parser: Any) -> exp.Expr:
    name = parser._tokens[parser._index - 2]
    value = parser._parse_disjunction()
    parser._match(TokenType.COMMA)
    path = parser._parse_disjunction()
    return exp.Anonymous(this=name.text.upper(), expressions=[value, path, *_clauses(parser)]).update_positions(name)


def _object_call(parser: Any) -> exp.Expr:
    name = parser._tokens[parser._index - 2]
    parts: list[Any] = []
    while parser._curr and parser._curr.token_type is not TokenType.R_PAREN:
        if _is_null_clause(parser):
            break
        _word(parser, "KEY")
        parts.append(parser._parse_bitwise())
        if not _word(parser, "VALUE"):
            parser._match(TokenType.COLON)
        parts.append(parser._parse_disjunction())
        if not parser._match(TokenType.COMMA):
            break
    return exp.Anonymous(this=name.text.upper(), expressions=[*parts, *_clauses(parser)]).update_positions(name)


def _array_call(parser: Any) -> exp.Expr:
    name = parser._tokens[parser._index - 2]
    parts: list[Any] = []
    while parser._curr and parser._curr.token_type is not TokenType.R_PAREN and not _is_null_clause(parser):
        parts.append(parser._parse_disjunction())
        if not parser._match(TokenType.COMMA):
            break
    return exp.Anonymous(this=name.text.upper(), expressions=[*parts, *_clauses(parser)]).update_positions(name)


def _is_null_clause(parser: Any) -> bool:
    following = [token.text.upper() for token in parser._tokens[parser._index : parser._index + 3]]
    return following in (["NULL", "ON", "NULL"], ["ABSENT", "ON", "NULL"])


PARSERS: Final[dict[str, Callable[[Any], exp.Expr]]] = {
    **dict.fromkeys(("JSON_VALUE", "JSON_QUERY", "JSON_EXISTS"), _path_call),
    **dict.fromkeys(("JSON_OBJECT", "JSON_OBJECTAGG"), _object_call),
    **dict.fromkeys(("JSON_ARRAY", "JSON_ARRAYAGG"), _array_call),
}
"""By name, for sqlglot's grammar."""
