"""JSON functions as Spark SQL.

JSON_VALUE, JSON_QUERY, JSON_EXISTS, JSON_OBJECT, JSON_ARRAY, JSON_STRING, JSON_QUOTE, JSON_UNQUOTE, IS JSON.

Their clauses (RETURNING, ON EMPTY, ON ERROR, wrappers) are parsed here too, into `Kwarg`s of the call.
Spark's `get_json_object` returns a value's text; the same path in a VARIANT returns its type.
Source: Flink SqlJsonUtils, Calcite JsonFunctions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from sqlglot import TokenType, exp

from engine.model.types import BOOLEAN, STRING, Type
from engine.sql.functions.patterns import text
from engine.sql.functions.rows import in_order_of_names
from engine.sql.rejected import SqlRejected

if TYPE_CHECKING:
    from engine.sql.functions.writer import ExpressionWriter

# A character above U+FFFF is written as its code point and its low surrogate, as in Flink.
_HEX: Final = "lower(hex(ascii(c)))"
_QUOTE: Final = (
    """CASE WHEN {0} IS NOT NULL THEN concat('"', array_join(transform(split({0}, ''), c -> CASE """
    r"""WHEN c IN ('"', '\\', '/') THEN concat('\\', c) """
    + "".join(rf"WHEN c = '\{what}' THEN '\\{what}' " for what in "bnrt")
    + r"""WHEN c = chr(12) THEN '\\f' """
    rf"""WHEN ascii(c) > 65535 THEN concat('\\u', {_HEX}, '\\u', lower(hex(56320 + (ascii(c) & 1023)))) """
    rf"""WHEN ascii(c) > 127 THEN concat('\\u', lpad({_HEX}, 4, '0')) ELSE c END), ''), '"') END"""
)
_UNQUOTE: Final = """CASE WHEN {0} LIKE '"%"' THEN try_variant_get(try_parse_json({0}), '$', 'string') END"""
_KNOWN: Final = {"TRUE": "TRUE", "FALSE": "FALSE", "UNKNOWN": "NULL"}
_ENDS: Final = "a JSON function found nothing that fits, and ERROR ON EMPTY or ON ERROR ends the run"
_TWICE: Final = "JSON_OBJECTAGG has got a key twice, which ends the run"
_NO_KEY: Final = "JSON_OBJECTAGG has got a key that is NULL, which ends the run"
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
    found: dict[str, Any] = {}
    while parser._curr and parser._curr.token_type is not TokenType.R_PAREN:
        if _word(parser, "RETURNING"):
            found["returning"] = parser._parse_types()
        elif _word(parser, "WITHOUT"):
            _word(parser, "ARRAY")
            parser._match_text_seq("WRAPPER")
        elif _word(parser, "WITH"):
            found["wrapper"] = exp.var("CONDITIONAL" if _word(parser, "CONDITIONAL") else "UNCONDITIONAL")
            _word(parser, "UNCONDITIONAL")
            _word(parser, "ARRAY")
            parser._match_text_seq("WRAPPER")
        elif _word(parser, "DEFAULT"):
            value = parser._parse_unary()
            found[_on(parser)] = value
        elif _word(parser, "EMPTY"):
            what = "[]" if _word(parser, "ARRAY") else "{}"
            _word(parser, "OBJECT")
            found[_on(parser)] = exp.Literal.string(what)
        else:
            word = next((each for each in _ON if _word(parser, each)), None)
            if word is None:
                parser.raise_error(f"a clause of a JSON function does not begin with {parser._curr.text}")
                break
            found[_on(parser)] = exp.Null() if word == "NULL" else exp.var(word)
    return [exp.Kwarg(this=exp.var(name), expression=value) for name, value in found.items()]


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


def json_function(writer: ExpressionWriter, call: exp.Anonymous) -> str | None:
    """The call as Spark SQL; None if it is not a JSON function. Raises SqlRejected."""
    clauses = {one.this.name: one.expression for one in call.expressions if isinstance(one, exp.Kwarg)}
    arguments = [one for one in call.expressions if not isinstance(one, exp.Kwarg)]
    match call.name.upper():
        case "JSON_VALUE":
            return _value(writer, _Path.of(writer, call, arguments), clauses)
        case "JSON_QUERY":
            return _query(writer, _Path.of(writer, call, arguments), clauses)
        case "JSON_EXISTS":
            return _exists(writer, _Path.of(writer, call, arguments), clauses)
        case "JSON_OBJECT":
            return _object(writer, arguments, clauses)
        case "JSON_ARRAY":
            return _array(writer, arguments, clauses)
        case "JSON_STRING" if len(arguments) == 1:
            value = writer.write(arguments[0])
            return f"CASE WHEN {value} IS NOT NULL THEN {_json_text(writer, value)} END"
        case "JSON_QUOTE" if len(arguments) == 1:
            return _QUOTE.format(writer.write(arguments[0]))
        case "JSON_UNQUOTE" if len(arguments) == 1:
            value = writer.write(arguments[0])
            return f"coalesce({_UNQUOTE.format(value)}, {value})"
        case _:
            return None


def is_json(writer: ExpressionWriter, node: exp.Is) -> str | None:
    """x IS JSON [VALUE | SCALAR | ARRAY | OBJECT] as Spark SQL; None for another test."""
    if not isinstance(node.expression, exp.JSON):
        return None
    value = writer.write(node.this)
    kind = f"schema_of_variant(try_parse_json({value}))"
    match str(node.expression.this or "VALUE").upper():
        case "OBJECT":
            test = f"coalesce({kind} LIKE 'OBJECT%', false)"
        case "ARRAY":
            test = f"coalesce({kind} LIKE 'ARRAY%', false)"
        case "SCALAR":
            test = f"coalesce(NOT ({kind} LIKE 'OBJECT%' OR {kind} LIKE 'ARRAY%'), false)"
        case _:
            test = f"({kind} IS NOT NULL)"
    return test


class _Path:
    """A path in a JSON string. kind: the VARIANT type of the value at the path; NULL if there is none."""

    def __init__(self, json: str, path: str, *, is_lax: bool) -> None:
        self.json = json
        self.is_lax = is_lax
        self.parsed = f"try_parse_json({json})"
        self.found = f"get_json_object({json}, {text(path)})"
        self.variant = f"try_variant_get({self.parsed}, {text(path)}, 'variant')"
        self.kind = f"schema_of_variant({self.variant})"
        self.is_missing = f"({self.kind} IS NULL OR {self.kind} = 'VOID')"
        self.is_nested = f"({self.kind} LIKE 'OBJECT%' OR {self.kind} LIKE 'ARRAY%')"

    @classmethod
    def of(cls, writer: ExpressionWriter, call: exp.Anonymous, arguments: list[exp.Expr]) -> _Path:
        """The path in a call. Raises SqlRejected if it is not a literal."""
        literal = arguments[1].unnest() if len(arguments) == 2 else None
        if not isinstance(literal, exp.Literal) or not literal.is_string:
            message = f"{call.name.upper()} takes a JSON text and a path in quotes: {call.name.upper()}(j, '$.name')."
            raise SqlRejected(message, call)
        mode, _, rest = literal.name.strip().partition(" ")
        path = rest.strip() if mode.lower() in ("lax", "strict") else literal.name.strip()
        return cls(writer.write(arguments[0]), path, is_lax=mode.lower() == "lax")


def _value(writer: ExpressionWriter, path: _Path, clauses: dict[str, exp.Expr]) -> str:
    returning = clauses.get("returning")
    target = STRING if returning is None else writer.type_of(writer.write(exp.Cast(this=exp.Null(), to=returning)))
    found = path.found if target == STRING else f"TRY_CAST({path.found} AS {target.sql})"
    instead = _instead(writer, path, clauses, target)
    error = _branch(writer, clauses.get("on_error"), target)
    mismatch = f" WHEN {found} IS NULL THEN {error}" if target != STRING and error != "NULL" else ""
    return (
        f"CASE WHEN {path.json} IS NULL THEN NULL WHEN {path.is_missing} OR {path.is_nested} THEN {instead}"
        f"{mismatch} ELSE {found} END"
    )


def _exists(writer: ExpressionWriter, path: _Path, clauses: dict[str, exp.Expr]) -> str:
    """JSON_EXISTS. In strict mode, the default, a missing path is an error."""
    error = clauses.get("on_error")
    is_word = isinstance(error, exp.Var) and error.name in _KNOWN
    instead = _KNOWN[error.name] if is_word and error is not None else _branch(writer, error, BOOLEAN)
    otherwise = "FALSE" if path.is_lax or error is None else instead
    return (
        f"CASE WHEN {path.json} IS NULL THEN NULL WHEN {path.kind} IS NULL THEN {otherwise} "
        f"ELSE {path.kind} <> 'VOID' END"
    )


def _query(writer: ExpressionWriter, path: _Path, clauses: dict[str, exp.Expr]) -> str:
    instead = _instead(writer, path, clauses, STRING)
    wrapper = clauses.get("wrapper")
    scalar = f"to_json({path.variant})"
    if wrapper is None:
        found, missing = path.found, f"{path.is_missing} OR NOT {path.is_nested}"
    else:
        wrapped = f"concat('[', CASE WHEN {path.is_nested} THEN {path.found} ELSE {scalar} END, ']')"
        keeps = wrapper.name == "CONDITIONAL"
        found = f"CASE WHEN {path.kind} LIKE 'ARRAY%' THEN {path.found} ELSE {wrapped} END" if keeps else wrapped
        missing = path.is_missing
    made = f"CASE WHEN {path.json} IS NULL THEN NULL WHEN {missing} THEN {instead} ELSE {found} END"
    return f"from_json({made}, 'array<string>')" if "returning" in clauses else made


def _instead(writer: ExpressionWriter, path: _Path, clauses: dict[str, exp.Expr], target: Type) -> str:
    """The result for a path without a match: of ON EMPTY in lax mode, of ON ERROR in strict mode."""
    return _branch(writer, clauses.get("on_empty" if path.is_lax else "on_error"), target)


def _branch(writer: ExpressionWriter, given: exp.Expr | None, target: Type) -> str:
    """The result of an ON EMPTY or ON ERROR clause, by default NULL. ERROR ends the run."""
    if given is None or isinstance(given, exp.Null):
        return "NULL"
    if isinstance(given, exp.Var):
        return f"CAST(raise_error({text(_ENDS)}) AS {target.sql})"
    return f"CAST({writer.write(given)} AS {target.sql})"


def _object(writer: ExpressionWriter, arguments: list[exp.Expr], clauses: dict[str, exp.Expr]) -> str:
    given = list(zip(arguments[::2], arguments[1::2], strict=True))
    if any(not isinstance(key, exp.Literal) for key, _ in given):
        message = "JSON_OBJECT takes keys in quotes: JSON_OBJECT('name' VALUE name)."
        raise SqlRejected(message, arguments[0])
    fields = [
        f"concat({text(_quoted(key.name) + ':')}, {_member(writer, value)})"
        if "on_null" not in clauses or isinstance(clauses["on_null"], exp.Null)
        else f"concat({text(_quoted(key.name) + ':')}, nullif({_member(writer, value)}, 'null'))"
        for key, value in sorted(
            {key.name: (key, value) for key, value in given}.values(), key=lambda pair: pair[0].name
        )
    ]
    return f"concat('{{', concat_ws(',', {', '.join(fields)}), '}}')" if fields else "'{}'"


def _array(writer: ExpressionWriter, arguments: list[exp.Expr], clauses: dict[str, exp.Expr]) -> str:
    """JSON_ARRAY. By default NULLs are left out."""
    keeps = isinstance(clauses.get("on_null"), exp.Null)
    items = [_member(writer, value) for value in arguments]
    items = items if keeps else [f"nullif({item}, 'null')" for item in items]
    return f"concat('[', concat_ws(',', {', '.join(items)}), ']')" if items else "'[]'"


def _member(writer: ExpressionWriter, value: exp.Expr) -> str:
    """A value as JSON. The result of another JSON function is already JSON."""
    bare = value.unnest()
    is_made = isinstance(bare, exp.Anonymous) and bare.name.upper() in ("JSON_OBJECT", "JSON_ARRAY", "JSON")
    written = writer.write(value)
    return f"coalesce({written}, 'null')" if is_made else f"coalesce({_json_text(writer, written)}, 'null')"


def _json_text(writer: ExpressionWriter, value: str) -> str:
    type_ = writer.type_of(value)
    if type_.has_row or type_.has_map:
        value = in_order_of_names(value, type_)
    return f"regexp_extract(to_json(struct({value} AS v), map('ignoreNullFields', 'false')), '^.\"v\":(.*).$', 1)"


def collected(writer: ExpressionWriter, node: exp.Expr) -> str:
    """The nodes of `json_aggregates` as Spark SQL: a member, a pair of key and value, and the whole array or object."""
    match node:
        case exp.FormatJson():
            return _member(writer, node.this)
        case exp.JSONKeyValue():
            return f"concat({writer.write(node.this)}, ':', {writer.write(node.expression)})"
        case exp.JSONArray():
            return f"concat('[', coalesce({writer.write(node.expressions[0])}, ''), ']')"
        case _:
            given = writer.write(node.expressions[0])
            pairs = f"transform(array_sort({given}), x -> x.`EXPR$1`)"
            is_twice = f"size(array_distinct(transform({given}, x -> x.`EXPR$0`))) < size({given})"
            is_none = f"exists({given}, x -> x.`EXPR$0` IS NULL)"
            ends = " ".join(
                f"WHEN {so} THEN CAST(raise_error({text(why)}) AS STRING)"
                for so, why in ((is_none, _NO_KEY), (is_twice, _TWICE))
            )
            return f"CASE {ends} ELSE concat('{{', coalesce(array_join({pairs}, ','), ''), '}}') END"


def _quoted(key: str) -> str:
    escaped = key.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
