"""JSON functions as Spark SQL.

JSON_VALUE, JSON_QUERY, JSON_EXISTS, JSON_OBJECT, JSON_ARRAY, JSON_STRING, JSON_QUOTE, JSON_UNQUOTE, IS JSON.

`json_syntax` parses their clauses (RETURNING, ON EMPTY, ON ERROR, wrappers) into `Kwarg`s of the call.
Spark's `get_json_object` returns a value's text; the same path in a VARIANT returns its type.
Source: Flink SqlJsonUtils, Calcite JsonFunctions.
"""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp

from engine.functions.function import BadCall, Writing, given
from engine.functions.rows import struct
from engine.functions.spark_text import as_type, literal, spark_sql, text
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
_MODE: Final = re.compile(r"\s*(lax|strict)\s+(?=\S)", re.IGNORECASE)
_STEP: Final = re.compile(r"""\.?\[\s*(?:(\d{1,9})|'([^'?\\]+)'|"([^"'?\\]+)")\s*\]|\.([^\s.\[\]()*?@'"\\]+)""")
"""A step of a path: [0], ['name'], ["name"] or .name."""
_KNOWN: Final = {"TRUE": "TRUE", "FALSE": "FALSE", "UNKNOWN": "NULL"}
_ENDS: Final = "a JSON function found nothing that fits, and ERROR ON EMPTY or ON ERROR ends the run"
_TWICE: Final = "JSON_OBJECTAGG has got a key twice, which ends the run"
_NO_KEY: Final = "JSON_OBJECTAGG has got a key that is NULL, which ends the run"
_PAIRS: Final = "transform(array_sort({0}), x -> x.`EXPR$1`)"
_MEMBERS: Final = (
    f"CASE WHEN exists({{0}}, x -> x.`EXPR$0` IS NULL) THEN CAST(raise_error({text(_NO_KEY)}) AS STRING) "
    "WHEN size(array_distinct(transform({0}, x -> x.`EXPR$0`))) < size({0}) "
    f"THEN CAST(raise_error({text(_TWICE)}) AS STRING) "
    f"ELSE concat('{{{{', coalesce(array_join({_PAIRS}, ','), ''), '}}}}') END"
)
"""Of a list of keys with values, an object."""


def json_value(writer: Writing, call: exp.Anonymous) -> str:
    """JSON_VALUE."""
    path, clauses = _Path.of(writer, call), _clauses(call)
    returning = clauses.get("returning")
    target = STRING if returning is None else _declared(returning, call)
    value = path.found if target == STRING else as_type(path.found, target, "TRY_CAST")
    instead = _instead(writer, path, clauses, target)
    error = _branch(writer, clauses.get("on_error"), target)
    mismatch = " WHEN {4} IS NULL THEN {5}" if target != STRING and error != "NULL" else ""
    template = f"CASE WHEN {{0}} IS NULL THEN NULL WHEN {{1}} OR {{2}} THEN {{3}}{mismatch} ELSE {{4}} END"
    rest = [error] if mismatch else []
    return spark_sql(template, path.json, path.is_missing, path.is_nested, instead, value, *rest)


def is_json(writer: Writing, node: exp.Is) -> str | None:
    """x IS JSON [VALUE | SCALAR | ARRAY | OBJECT] as Spark SQL; None for another test."""
    if not isinstance(node.expression, exp.JSON):
        return None
    value = writer.write(node.this)
    kind = spark_sql("schema_of_variant(try_parse_json({}))", value)
    match str(node.expression.this or "VALUE").upper():
        case "OBJECT":
            test = "coalesce({} LIKE 'OBJECT%', false)"
        case "ARRAY":
            test = "coalesce({} LIKE 'ARRAY%', false)"
        case "SCALAR":
            test = "coalesce(NOT ({0} LIKE 'OBJECT%' OR {0} LIKE 'ARRAY%'), false)"
        case _:
            test = "({} IS NOT NULL)"
    return spark_sql(test, kind)


class _Path:
    """A path in a JSON string. kind: the VARIANT type of the value at the path; NULL if there is none."""

    def __init__(self, json: str, path: str, *, is_lax: bool) -> None:
        self.json = json
        self.is_lax = is_lax
        self.found = spark_sql("get_json_object({})", [json, literal(path)])
        self.variant = spark_sql("try_variant_get(try_parse_json({}), {}, 'variant')", json, literal(path))
        self.kind = spark_sql("schema_of_variant({})", self.variant)
        self.is_missing = spark_sql("({0} IS NULL OR {0} = 'VOID')", self.kind)
        self.is_nested = spark_sql("({0} LIKE 'OBJECT%' OR {0} LIKE 'ARRAY%')", self.kind)

    @classmethod
    def of(cls, writer: Writing, call: exp.Anonymous) -> _Path:
        """The path in a call. Raises BadCall if it is not a literal."""
        arguments = given(call)
        literal = arguments[1].unnest() if len(arguments) == 2 else None
        if not isinstance(literal, exp.Literal) or not literal.is_string:
            message = f"{call.name.upper()} takes a JSON text and a path in quotes: {call.name.upper()}(j, '$.name')."
            raise BadCall(message, call)
        mode = _MODE.match(literal.name)
        path = _as_sparks(literal.name[mode.end() if mode else 0 :].rstrip(), call, literal)
        return cls(writer.write(arguments[0]), path, is_lax=mode is not None and mode[1].lower() == "lax")


def _as_sparks(path: str, call: exp.Anonymous, written: exp.Expr) -> str:
    """A path as Spark reads it. Raises BadCall for one that is none here.

    As in Flink, $. may be left out. Paths to several values (*, .., filters) are not there.
    """
    whole = path if path.startswith("$") else f"$.{path}"
    steps, at = ["$"], 1
    while at < len(whole):
        step = _STEP.match(whole, at)
        name = next(filter(None, step.groups()[1:]), "") if step is not None else ""
        if step is None or name != name.lstrip():
            rest = path if path != whole and at == 1 else whole[at:]
            message = (
                f"the path of {call.name.upper()} cannot be read from {rest!r} on. Write the names and the places "
                "in lists that lead to one value: '$.a.b' or '$.a[0].b'."
            )
            raise BadCall(message, written)
        steps.append(f"[{step[1]}]" if not name else f"['{name}']" if set(name) & set(".[") else f".{name}")
        at = step.end()
    return "".join(steps)


def json_exists(writer: Writing, call: exp.Anonymous) -> str:
    """JSON_EXISTS. In strict mode, the default, a missing path is an error."""
    path, clauses = _Path.of(writer, call), _clauses(call)
    error = clauses.get("on_error")
    is_word = isinstance(error, exp.Var) and error.name in _KNOWN
    instead = _KNOWN[error.name] if is_word and error is not None else _branch(writer, error, BOOLEAN)
    otherwise = "FALSE" if path.is_lax or error is None else instead
    template = "CASE WHEN {0} IS NULL THEN NULL WHEN {1} IS NULL THEN {2} ELSE {1} <> 'VOID' END"
    return spark_sql(template, path.json, path.kind, otherwise)


def json_query(writer: Writing, call: exp.Anonymous) -> str:
    """JSON_QUERY."""
    path, clauses = _Path.of(writer, call), _clauses(call)
    instead = _instead(writer, path, clauses, STRING)
    wrapper = clauses.get("wrapper")
    value, missing = path.found, path.is_missing
    if wrapper is None:
        missing = spark_sql("{} OR NOT {}", missing, path.is_nested)
    else:
        whole = "concat('[', CASE WHEN {} THEN {} ELSE to_json({}) END, ']')"
        value = spark_sql(whole, path.is_nested, path.found, path.variant)
        if wrapper.name == "CONDITIONAL":
            value = spark_sql("CASE WHEN {} LIKE 'ARRAY%' THEN {} ELSE {} END", path.kind, path.found, value)
    sql = spark_sql("CASE WHEN {} IS NULL THEN NULL WHEN {} THEN {} ELSE {} END", path.json, missing, instead, value)
    return spark_sql("from_json({}, 'array<string>')", sql) if "returning" in clauses else sql


def _instead(writer: Writing, path: _Path, clauses: dict[str, exp.Expr], target: Type) -> str:
    """The result for a path without a match: of ON EMPTY in lax mode, of ON ERROR in strict mode."""
    return _branch(writer, clauses.get("on_empty" if path.is_lax else "on_error"), target)


def _branch(writer: Writing, given: exp.Expr | None, target: Type) -> str:
    """The result of an ON EMPTY or ON ERROR clause, by default NULL. ERROR ends the run."""
    if given is None or isinstance(given, exp.Null):
        return "NULL"
    if isinstance(given, exp.Var):
        return as_type(spark_sql("raise_error({})", literal(_ENDS)), target)
    return as_type(writer.write(given), target)


def json_object(writer: Writing, call: exp.Anonymous) -> str:
    """JSON_OBJECT."""
    arguments, clauses = given(call), _clauses(call)
    pairs = list(zip(arguments[::2], arguments[1::2], strict=False))
    if len(arguments) % 2 or any(not isinstance(key, exp.Literal) for key, _ in pairs):
        message = "JSON_OBJECT takes keys in quotes, each with a value: JSON_OBJECT('name' VALUE name)."
        raise BadCall(message, arguments[0])
    keeps = "on_null" not in clauses or isinstance(clauses["on_null"], exp.Null)
    template = "concat({}, {})" if keeps else "concat({}, nullif({}, 'null'))"
    fields = [
        spark_sql(template, literal(_quoted(key.name) + ":"), _member(writer, value))
        for key, value in sorted(
            {key.name: (key, value) for key, value in pairs}.values(), key=lambda pair: pair[0].name
        )
    ]
    return spark_sql("concat('{{', concat_ws(',', {}), '}}')", fields) if fields else literal("{}")


def json_array(writer: Writing, call: exp.Anonymous) -> str:
    """JSON_ARRAY. By default NULLs are left out."""
    keeps = isinstance(_clauses(call).get("on_null"), exp.Null)
    items = [_member(writer, value) for value in given(call)]
    items = items if keeps else [spark_sql("nullif({}, 'null')", item) for item in items]
    return spark_sql("concat('[', concat_ws(',', {}), ']')", items) if items else literal("[]")


def json_string(writer: Writing, call: exp.Anonymous) -> str:
    """JSON_STRING."""
    value = writer.write(call.expressions[0])
    return spark_sql("CASE WHEN {} IS NOT NULL THEN {} END", value, _json_text(writer, value))


def _member(writer: Writing, value: exp.Expr) -> str:
    """A value as JSON. The result of another JSON function is already JSON."""
    bare = value.unnest()
    is_made = isinstance(bare, exp.Anonymous) and bare.name.upper() in ("JSON_OBJECT", "JSON_ARRAY", "JSON")
    written = writer.write(value)
    return spark_sql("coalesce({}, 'null')", written if is_made else _json_text(writer, written))


def _json_text(writer: Writing, value: str) -> str:
    value = _as_flinks(value, writer.type_of(value))
    template = "regexp_extract(to_json(struct({} AS v), map('ignoreNullFields', 'false')), '^.\"v\":(.*).$', 1)"
    return spark_sql(template, value)


def collected(writer: Writing, node: exp.Expr) -> str:
    """The nodes of `json_aggregates` as Spark SQL: a member, a pair of key and value, and the whole array or object."""
    match node:
        case exp.FormatJson():
            return _member(writer, node.this)
        case exp.JSONKeyValue():
            return spark_sql("concat({}, ':', {})", writer.write(node.this), writer.write(node.expression))
        case exp.JSONArray():
            return spark_sql("concat('[', coalesce({}, ''), ']')", writer.write(node.expressions[0]))
        case _:
            given = writer.write(node.expressions[0])
            return spark_sql(_MEMBERS, given)


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
        return spark_sql(f"CASE WHEN {{0}} IS NOT NULL THEN {_MOMENT} END", value)
    if isinstance(type_, Row):
        fields = sorted(type_.fields, key=lambda known: known[0])
        parts = ((name, _as_flinks(f"({value}).{quote(name)}", inner, depth)) for name, inner in fields)
        return spark_sql("CASE WHEN {} IS NOT NULL THEN {} END", value, struct(parts))
    if isinstance(type_, Array) and (element_sql := _as_flinks(item, type_.element, depth + 1)) != item:
        return f"transform({value}, {item} -> {element_sql})"
    if isinstance(type_, Map):
        keys = f"array_sort(map_keys({value}))"
        inner = _as_flinks(f"element_at({value}, {item})", type_.value, depth + 1)
        return f"map_from_arrays({keys}, transform({keys}, {item} -> {inner}))"
    return value
