"""Functions of values of any type: conditions, conversions, and JSON."""

from __future__ import annotations

from typing import Final

from engine.functions import json_calls
from engine.functions.function import Function


def _extreme(name: str, which: str, result: str) -> Function:
    """NULL if any argument is; Spark skips NULLs."""
    spark = f"CASE WHEN {{&}} THEN {name.lower()}({{*}}) END"
    sentence = f"The {which} value; NULL if one is NULL."
    return Function(name, "value T, value T, value T* -> T", sentence, f"{name}(1, 3, 2)", result, spark)


_JSON: Final = '\'{"a": [1, 2], "b": "x"}\''

ROWS: Final = (
    Function(
        "COALESCE", "value T, value T* -> T", "The first value that is not NULL.", "COALESCE(1, 2)", "1", null="2"
    ),
    Function(
        *("IFNULL", "value T, instead T -> T", "The value, or another one if it is NULL.", "IFNULL(1, 2)", "1"),
        spark="coalesce({0}, {1})",
        null="2",
    ),
    Function("NULLIF", "value T, other any -> T", "The value, or NULL if it is the other one.", "NULLIF(1, 2)", "1"),
    Function(
        *("IF", "condition boolean, then T, else T -> T", "One value if a condition is true, else another."),
        *("IF(TRUE, 'a', 'b')", "a", "if({0}, {1}, {2})"),
        null="b",
    ),
    _extreme("GREATEST", "largest", "3"),
    _extreme("LEAST", "smallest", "1"),
    Function(
        *("CAST", "value any -> any", "The value as another type.", "CAST('12' AS INT) + 1", "13", None),
        syntax="CAST(value AS type)",
    ),
    Function(
        *("TRY_CAST", "value any -> any", "The value as another type, or NULL if it is none.", "TRY_CAST('x' AS INT)"),
        *("NULL", None),
        syntax="TRY_CAST(value AS type)",
    ),
    Function(
        "TYPEOF",
        "value any, longest boolean? -> string",
        "The type of a value.",
        "TYPEOF(1)",
        "INT NOT NULL",
        None,
        null="INT",
    ),
    Function(
        *("JSON_VALUE", "json string, path string -> string", "The text or number at a path of a JSON text."),
        *(f"JSON_VALUE({_JSON}, '$.b')", "x"),
        spark=None,
        write=json_calls.json_value,
        syntax="JSON_VALUE(json, path)",
        bad=("JSON_VALUE('no JSON', '$.a')", "NULL"),
    ),
    Function(
        *("JSON_QUERY", "json string, path string -> string", "The object or list at a path of a JSON text."),
        *(f"JSON_QUERY({_JSON}, '$.a')", "[1,2]"),
        spark=None,
        write=json_calls.json_query,
        syntax="JSON_QUERY(json, path)",
        bad=("JSON_QUERY('no JSON', '$.a')", "NULL"),
    ),
    Function(
        *("JSON_EXISTS", "json string, path string -> boolean", "Whether a JSON text has something at a path."),
        *(f"JSON_EXISTS({_JSON}, '$.a')", "TRUE"),
        spark=None,
        write=json_calls.json_exists,
        syntax="JSON_EXISTS(json, path)",
    ),
    Function(
        *("JSON_OBJECT", "value any* -> string", "An object as JSON.", "JSON_OBJECT('a' VALUE 1)", '{"a":1}', None),
        write=json_calls.json_object,
        syntax="JSON_OBJECT('name' VALUE value, …)",
        null="",
    ),
    Function(
        *("JSON_ARRAY", "value any* -> string", "A list as JSON.", "JSON_ARRAY(1, 'a')", '[1,"a"]', None),
        write=json_calls.json_array,
        syntax="JSON_ARRAY(value, …)",
        null='["a"]',
    ),
    Function(
        *("JSON_STRING", "value any -> string", "The value as JSON.", "JSON_STRING('a')", '"a"'),
        spark=None,
        write=json_calls.json_string,
    ),
    Function(
        *("JSON_QUOTE", "text string -> string", "The text as a text of JSON.", "JSON_QUOTE('a\"b')", r'"a\"b"'),
        spark=json_calls.QUOTE,
    ),
    Function(
        *("JSON_UNQUOTE", "json string -> string", "The text of a text of JSON.", "JSON_UNQUOTE('\"a\"')", "a"),
        spark=json_calls.UNQUOTE,
    ),
)
