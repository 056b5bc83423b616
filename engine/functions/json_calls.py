"""JSON functions as Spark SQL.

JSON_VALUE, JSON_QUERY, JSON_EXISTS, JSON_OBJECT, JSON_ARRAY, JSON_STRING, JSON_QUOTE, JSON_UNQUOTE, IS JSON.

`json_syntax` parses their clauses (RETURNING, ON EMPTY, ON ERROR, wrappers) into `Kwarg`s of the call.
Spark's `get_json_object` returns a value's text; the same path in a VARIANT returns its type.
Source: Flink SqlJsonUtils, Calcite JsonFunctions.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from engine.functions.function import BadCall, Writing, given, text
from engine.functions.rows import struct
from engine.model.type_texts import type_from
from engine.model.types import BOOLEAN, STRING, Array, Map, Row, Timestamp, Type, quote

# A character above U+FFFF is written as its code point and its low surrogate, as in Flink.
_HEX: Final = "lower(hex(ascii(c)))"
QUOTE: Final = (
    """CASE WHEN {0} IS NOT NULL THEN concat('"', array_join(transform(split({0}, ''), c -> CASE """
    r"""WHEN c IN ('"', '\\', '/') THEN concat('\\', c) """
    + "".join(rf"WHEN c = '\{what}' THEN '\\{what}' " for what in "bnrt")
    + r"""WHEN c = chr(12) THEN '\\f' """
    rf"""WHEN ascii(c) > 65535 THEN concat('\\u', {_HEX}, '\\u', lower(hex(56320 + (ascii(c) & 1023)))) """
    rf"""WHEN ascii(c) > 127 THEN concat('\\u', lpad({_HEX}, 4, '0')) ELSE c END), ''), '"') END"""
)
UNQUOTE: Final = (
    """coalesce(CASE WHEN {0} LIKE '"%"' THEN try_variant_get(try_parse_json({0}), '$', 'string') END, {0})"""
)
_DIGITS: Final = """yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSS"""
_MOMENT: Final = (
    """regexp_replace(regexp_extract(to_json(struct({0} AS v), map('timestampFormat', '"""
    + _DIGITS
    + """XXX', 'timestampNTZFormat', '"""
    + _DIGITS
    + """')), '^."v":"(.*)".$', 1), '[.]?0+(Z?)$', '$1')"""
)
_KNOWN: Final = {"TRUE": "TRUE", "FALSE": "FALSE", "UNKNOWN": "NULL"}
_ENDS: Final = "a JSON function found nothing that fits, and ERROR ON EMPTY or ON ERROR ends the run"
_TWICE: Final = "JSON_OBJECTAGG has got a key twice, which ends the run"
_NO_KEY: Final = "JSON_OBJECTAGG has got a key that is NULL, which ends the run"


def json_value(writer: Writing, call: exp.Anonymous) -> str:
    """JSON_VALUE."""
    path, clauses = _Path.of(writer, call), _clauses(call)
    returning = clauses.get("returning")
    target = STRING if returning is None else _declared(returning, call)
    value = path.found if target == STRING else f"TRY_CAST({path.found} AS {target.sql})"
    instead = _instead(writer, path, clauses, target)
    error = _branch(writer, clauses.get("on_error"), target)
    mismatch = f" WHEN {value} IS NULL THEN {error}" if target != STRING and error != "NULL" else ""
    return (
        f"CASE WHEN {path.json} IS NULL THEN NULL WHEN {path.is_missing} OR {path.is_nested} THEN {instead}"
        f"{mismatch} ELSE {value} END"
    )


def is_json(writer: Writing, node: exp.Is) -> str | None:
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
    def of(cls, writer: Writing, call: exp.Anonymous) -> _Path:
        """The path in a call. Raises BadCall if it is not a literal."""
        arguments = given(call)
        literal = arguments[1].unnest() if len(arguments) == 2 else None
        if not isinstance(literal, exp.Literal) or not literal.is_string:
            message = f"{call.name.upper()} takes a JSON text and a path in quotes: {call.name.upper()}(j, '$.name')."
            raise BadCall(message, call)
        mode, _, rest = literal.name.strip().partition(" ")
        path = rest.strip() if mode.lower() in ("lax", "strict") else literal.name.strip()
        return cls(writer.write(arguments[0]), path, is_lax=mode.lower() == "lax")


def json_exists(writer: Writing, call: exp.Anonymous) -> str:
    """JSON_EXISTS. In strict mode, the default, a missing path is an error."""
    path, clauses = _Path.of(writer, call), _clauses(call)
    error = clauses.get("on_error")
    is_word = isinstance(error, exp.Var) and error.name in _KNOWN
    instead = _KNOWN[error.name] if is_word and error is not None else _branch(writer, error, BOOLEAN)
    otherwise = "FALSE" if path.is_lax or error is None else instead
    return (
        f"CASE WHEN {path.json} IS NULL THEN NULL WHEN {path.kind} IS NULL THEN {otherwise} "
        f"ELSE {path.kind} <> 'VOID' END"
    )


def json_query(writer: Writing, call: exp.Anonymous) -> str:
    """JSON_QUERY."""
    path, clauses = _Path.of(writer, call), _clauses(call)
    instead = _instead(writer, path, clauses, STRING)
    wrapper = clauses.get("wrapper")
    scalar = f"to_json({path.variant})"
    if wrapper is None:
        value, missing = path.found, f"{path.is_missing} OR NOT {path.is_nested}"
    else:
        wrapped = f"concat('[', CASE WHEN {path.is_nested} THEN {path.found} ELSE {scalar} END, ']')"
        keeps = wrapper.name == "CONDITIONAL"
        value = f"CASE WHEN {path.kind} LIKE 'ARRAY%' THEN {path.found} ELSE {wrapped} END" if keeps else wrapped
        missing = path.is_missing
    sql = f"CASE WHEN {path.json} IS NULL THEN NULL WHEN {missing} THEN {instead} ELSE {value} END"
    return f"from_json({sql}, 'array<string>')" if "returning" in clauses else sql


def _instead(writer: Writing, path: _Path, clauses: dict[str, exp.Expr], target: Type) -> str:
    """The result for a path without a match: of ON EMPTY in lax mode, of ON ERROR in strict mode."""
    return _branch(writer, clauses.get("on_empty" if path.is_lax else "on_error"), target)


def _branch(writer: Writing, given: exp.Expr | None, target: Type) -> str:
    """The result of an ON EMPTY or ON ERROR clause, by default NULL. ERROR ends the run."""
    if given is None or isinstance(given, exp.Null):
        return "NULL"
    if isinstance(given, exp.Var):
        return f"CAST(raise_error({text(_ENDS)}) AS {target.sql})"
    return f"CAST({writer.write(given)} AS {target.sql})"


def json_object(writer: Writing, call: exp.Anonymous) -> str:
    """JSON_OBJECT."""
    arguments, clauses = given(call), _clauses(call)
    pairs = list(zip(arguments[::2], arguments[1::2], strict=False))
    if len(arguments) % 2 or any(not isinstance(key, exp.Literal) for key, _ in pairs):
        message = "JSON_OBJECT takes keys in quotes, each with a value: JSON_OBJECT('name' VALUE name)."
        raise BadCall(message, arguments[0])
    fields = [
        f"concat({text(_quoted(key.name) + ':')}, {_member(writer, value)})"
        if "on_null" not in clauses or isinstance(clauses["on_null"], exp.Null)
        else f"concat({text(_quoted(key.name) + ':')}, nullif({_member(writer, value)}, 'null'))"
        for key, value in sorted(
            {key.name: (key, value) for key, value in pairs}.values(), key=lambda pair: pair[0].name
        )
    ]
    return f"concat('{{', concat_ws(',', {', '.join(fields)}), '}}')" if fields else "'{}'"


def json_array(writer: Writing, call: exp.Anonymous) -> str:
    """JSON_ARRAY. By default NULLs are left out."""
    keeps = isinstance(_clauses(call).get("on_null"), exp.Null)
    items = [_member(writer, value) for value in given(call)]
    items = items if keeps else [f"nullif({item}, 'null')" for item in items]
    return f"concat('[', concat_ws(',', {', '.join(items)}), ']')" if items else "'[]'"


def json_string(writer: Writing, call: exp.Anonymous) -> str:
    """JSON_STRING."""
    value = writer.write(call.expressions[0])
    return f"CASE WHEN {value} IS NOT NULL THEN {_json_text(writer, value)} END"


def _member(writer: Writing, value: exp.Expr) -> str:
    """A value as JSON. The result of another JSON function is already JSON."""
    bare = value.unnest()
    is_made = isinstance(bare, exp.Anonymous) and bare.name.upper() in ("JSON_OBJECT", "JSON_ARRAY", "JSON")
    written = writer.write(value)
    return f"coalesce({written}, 'null')" if is_made else f"coalesce({_json_text(writer, written)}, 'null')"


def _json_text(writer: Writing, value: str) -> str:
    value = _as_flinks(value, writer.type_of(value))
    return f"regexp_extract(to_json(struct({value} AS v), map('ignoreNullFields', 'false')), '^.\"v\":(.*).$', 1)"


def collected(writer: Writing, node: exp.Expr) -> str:
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


def _declared(returning: exp.Expr, call: exp.Anonymous) -> Type:
    """The type of RETURNING. Raises BadCall for one that is not supported."""
    if isinstance(returning, exp.DataType) and returning.is_type(*exp.DataType.TEXT_TYPES):
        return STRING
    written = returning.sql(dialect="spark")
    try:
        return type_from(written)
    except ValueError as error:
        message = f"{call.name.upper()} does not return {written}. RETURNING takes STRING, INTEGER, DOUBLE or BOOLEAN."
        raise BadCall(message, call) from error


def _clauses(call: exp.Anonymous) -> dict[str, exp.Expr]:
    return {clause.this.name: clause.expression for clause in call.expressions if isinstance(clause, exp.Kwarg)}


def _as_flinks(value: str, type_: Type, depth: int = 0) -> str:
    """A value as in Flink's JSON: fields of rows and keys of maps sorted by name, moments with the digits they need."""
    item = f"o{depth}"
    if isinstance(type_, Timestamp):
        # Also in another time zone an instant is written in UTC.
        return f"CASE WHEN {value} IS NOT NULL THEN {_MOMENT.format(value)} END"
    if isinstance(type_, Row):
        fields = sorted(type_.fields, key=lambda known: known[0])
        parts = ((name, _as_flinks(f"({value}).{quote(name)}", inner, depth)) for name, inner in fields)
        return f"CASE WHEN {value} IS NOT NULL THEN {struct(parts)} END"
    if isinstance(type_, Array) and (element_sql := _as_flinks(item, type_.element, depth + 1)) != item:
        return f"transform({value}, {item} -> {element_sql})"
    if isinstance(type_, Map):
        keys = f"array_sort(map_keys({value}))"
        inner = _as_flinks(f"element_at({value}, {item})", type_.value, depth + 1)
        return f"map_from_arrays({keys}, transform({keys}, {item} -> {inner}))"
    return value
