"""The words of Flink SQL that the editor colours and completes: keywords, types, functions with their signatures."""

from __future__ import annotations

from functools import cache
from typing import Final

from engine.aggregates.registry import functions
from engine.expressions.allowed import refusal
from engine.expressions.scalars import SCALARS
from engine.expressions.spellings import as_spark
from engine.model.schema import Schema
from engine.script.reserved import RESERVED

TYPES: Final = tuple(
    "ARRAY BIGINT BINARY BOOLEAN BYTES CHAR DATE DECIMAL DOUBLE FLOAT INT INTEGER INTERVAL MAP NUMERIC REAL ROW "  # noqa: SIM905
    "SMALLINT STRING TIME TIMESTAMP TIMESTAMP_LTZ TINYINT VARBINARY VARCHAR".split()
)
_NOT_RESERVED: Final = tuple(
    "CATALOG CUMULATE DATABASE DESCRIPTOR ENFORCED FIRST FUNCTION HOP IF INCLUDING EXCLUDING INTERVAL JSON KEY LAST "  # noqa: SIM905
    "METADATA OVERWRITE OPTIONS SESSION SETS TEMPORARY TUMBLE VIEW VIRTUAL WATERMARK WITH WITHIN".split()
)
_SYNTAX: Final = {
    "CAST": "CAST(value AS type)",
    "TRY_CAST": "TRY_CAST(value AS type)",
    "EXTRACT": "EXTRACT(unit FROM time)",
    "FLOOR": "FLOOR(number) or FLOOR(time TO unit)",
    "CEIL": "CEIL(number) or CEIL(time TO unit)",
    "SUBSTRING": "SUBSTRING(text FROM start FOR length)",
    "TRIM": "TRIM(text)",
    "TIMESTAMPADD": "TIMESTAMPADD(unit, count, time)",
    "TIMESTAMPDIFF": "TIMESTAMPDIFF(unit, start, end)",
}
"""Functions with a syntax of their own."""

ARGUMENTS: Final = {
    "ABS SQRT EXP SIN COS TAN COT ASIN ACOS ATAN SINH COSH TANH SIGN CEILING LN LOG10 LOG2 BIN HEX": "number",
    "RADIANS": "degrees",
    "DEGREES": "radians",
    "PI E": "",
    "LOG": "base, number",
    "POWER": "number, exponent",
    "MOD": "number, divisor",
    "ATAN2": "y, x",
    "ROUND TRUNCATE": "number, digits",
    "COALESCE GREATEST LEAST": "value, value, …",
    "ARRAY": "value, …",
    "NULLIF": "value, other",
    "IFNULL": "value, instead",
    "IF": "condition, then, else",
    "TYPEOF": "value",
    "UPPER LOWER REVERSE INITCAP CHAR_LENGTH CHARACTER_LENGTH ASCII UNHEX URL_ENCODE URL_DECODE": "text",
    "MD5 SHA1 SHA224 SHA256 SHA384 SHA512 TO_BASE64 FROM_BASE64 IS_DIGIT IS_ALPHA IS_DECIMAL": "text",
    "SHA2": "text, bits",
    "CHR": "code",
    "CONCAT": "text, text, …",
    "CONCAT_WS": "separator, text, …",
    "REPLACE": "text, part, replacement",
    "TRANSLATE TRANSLATE3": "text, from, to",
    "REGEXP REGEXP_COUNT REGEXP_INSTR REGEXP_SUBSTR": "text, pattern",
    "REGEXP_EXTRACT REGEXP_EXTRACT_ALL": "text, pattern, group",
    "REGEXP_REPLACE": "text, pattern, replacement",
    "STARTSWITH": "text, start",
    "ENDSWITH": "text, end",
    "REPEAT": "text, times",
    "ELT": "number, text, …",
    "PRINTF": "format, value, …",
    "SUBSTR": "text, start, length",
    "LEFT RIGHT": "text, length",
    "INSTR": "text, part",
    "LOCATE": "part, text, start",
    "LTRIM RTRIM BTRIM": "text, characters",
    "LPAD RPAD": "text, length, pad",
    "SPLIT": "text, delimiter",
    "SPLIT_INDEX": "text, delimiter, index",
    "STR_TO_MAP": "text, between_entries, between_key_and_value",
    "PARSE_URL": "url, part, key",
    "ENCODE DECODE": "value, charset",
    "INET_ATON": "address",
    "INET_NTOA": "number",
    "DATE_FORMAT": "time, format",
    "FROM_UNIXTIME": "seconds, format",
    "UNIX_TIMESTAMP TO_TIMESTAMP TO_DATE": "text, format",
    "TO_TIMESTAMP_LTZ": "number, precision",
    "CONVERT_TZ": "text, from_zone, to_zone",
    "YEAR QUARTER MONTH WEEK DAYOFYEAR DAYOFMONTH DAYOFWEEK": "date",
    "HOUR MINUTE SECOND": "time",
    "CARDINALITY": "array_or_map",
    "ELEMENT ARRAY_DISTINCT ARRAY_MAX ARRAY_MIN ARRAY_REVERSE ARRAY_SORT": "array",
    "ARRAY_JOIN": "array, delimiter, instead_of_null",
    "ARRAY_APPEND ARRAY_PREPEND ARRAY_CONTAINS ARRAY_REMOVE ARRAY_POSITION": "array, element",
    "ARRAY_UNION ARRAY_EXCEPT ARRAY_INTERSECT": "array, array",
    "ARRAY_CONCAT": "array, …",
    "ARRAY_SLICE": "array, start, end",
    "MAP": "key, value, …",
    "MAP_FROM_ARRAYS": "keys, values",
    "MAP_KEYS MAP_VALUES MAP_ENTRIES": "map",
    "MAP_UNION": "map, map",
}
"""The arguments of functions that share them, as names."""


@cache
def signatures() -> dict[str, str]:
    """The signature of every function, by name."""
    scalars = {name: f"{name}({arguments})" for names, arguments in ARGUMENTS.items() for name in names.split()}
    aggregates = {name: f"{name}(value)" for name in functions()}
    return dict(sorted({**aggregates, **scalars, **_SYNTAX}.items()))


@cache
def in_expressions() -> dict[str, str]:
    """The signatures of the functions that the expression of a form may call."""
    asked = {name: f"{name}({', '.join(['1'] * SCALARS[name].least)})" for name in SCALARS}
    return {
        name: signature
        for name, signature in signatures().items()
        if name in _SYNTAX or (name in asked and refusal(as_spark(asked[name]), Schema(())) is None)
    }


KEYWORDS: Final = tuple(sorted({*RESERVED, *_NOT_RESERVED} - {*TYPES} - {*signatures()}))
