"""The scalar functions of Flink SQL as equivalent Spark SQL.

{0}, {1} are the arguments, {*} is all of them, {&} the condition that none is NULL. Other functions are refused,
unless `expressions` writes them itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_PLACEHOLDER: Final = re.compile(r"\{(\d|[*&])\}")


@dataclass(frozen=True)
class Scalar:
    """Spark SQL for a call with `least` to `most` arguments (most None: any number).

    fuller: the template for a call with more than `least` arguments, if it differs.
    """

    template: str
    least: int
    most: int | None
    fuller: str = ""

    def written(self, arguments: list[str]) -> str:
        """The call in Spark SQL."""
        template = self.fuller if self.fuller and len(arguments) > self.least else self.template
        values = {str(at): argument for at, argument in enumerate(arguments)}
        values["*"] = ", ".join(arguments)
        values["&"] = " AND ".join(f"{argument} IS NOT NULL" for argument in arguments)
        # In one pass: an argument may contain what looks like a placeholder, such as the pattern '[0-9]{2}'.
        return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), template)


def _same(name: str, least: int, most: int | None) -> Scalar:
    return Scalar(f"{name}({{*}})", least, most)


def _never_null(name: str) -> Scalar:
    """A function that is NULL if any argument is NULL; Spark skips NULLs."""
    return Scalar(f"CASE WHEN {{&}} THEN {name}({{*}}) END", 2, None)


_LOGARITHM: Final = (
    "CASE WHEN {0} > 0 THEN %s({0}) WHEN {0} = 0 THEN double('-Infinity') WHEN {0} < 0 THEN double('NaN') END"
)


def _looks(pattern: str) -> Scalar:
    """Whether a whole string matches a pattern; FALSE for NULL."""
    return Scalar(rf"coalesce({{0}} rlike r'^{pattern}\z', FALSE)", 1, 1)


# Digits of any script, or a string that Java parses as a DOUBLE, including surrounding blanks.
_BLANKS: Final = r"[\x00-\x20]*"
_DIGITS: Final = r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
_HEX: Final = r"0[xX]([0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+"
_DECIMAL: Final = rf"(\p{{Nd}}+|{_BLANKS}[+-]?(NaN|Infinity|({_DIGITS}|{_HEX})[fFdD]?){_BLANKS})"

_SAME: Final = {
    "COALESCE": (1, None),
    "NULLIF": (2, 2),
    "ABS": (1, 1),
    "SQRT": (1, 1),
    "EXP": (1, 1),
    "POWER": (2, 2),
    "SIN": (1, 1),
    "COS": (1, 1),
    "TAN": (1, 1),
    "COT": (1, 1),
    "ASIN": (1, 1),
    "ACOS": (1, 1),
    "ATAN": (1, 1),
    "ATAN2": (2, 2),
    "SINH": (1, 1),
    "COSH": (1, 1),
    "TANH": (1, 1),
    "DEGREES": (1, 1),
    "RADIANS": (1, 1),
    "PI": (0, 0),
    "E": (0, 0),
    "SIGN": (1, 1),
    "MOD": (2, 2),
    "CEILING": (1, 1),
    "TRUNCATE": (1, 2),
    "ROUND": (1, 2),
    "HEX": (1, 1),
    "UNHEX": (1, 1),
    "BIN": (1, 1),
    "UPPER": (1, 1),
    "LOWER": (1, 1),
    "CONCAT": (1, None),
    "CONCAT_WS": (2, None),
    "REPLACE": (3, 3),
    "TRANSLATE": (3, 3),
    "REGEXP_REPLACE": (3, 3),
    "REGEXP_COUNT": (2, 2),
    "REGEXP_INSTR": (2, 2),
    "REGEXP_SUBSTR": (2, 2),
    "STARTSWITH": (2, 2),
    "ENDSWITH": (2, 2),
    "REVERSE": (1, 1),
    "REPEAT": (2, 2),
    "ELT": (2, None),
    "PRINTF": (1, None),
    "MD5": (1, 1),
    "SHA1": (1, 1),
    "SHA2": (2, 2),
    "PARSE_URL": (2, 3),
    "URL_ENCODE": (1, 1),
    "URL_DECODE": (1, 1),
    "DATE_FORMAT": (2, 2),
    "FROM_UNIXTIME": (1, 2),
    "UNIX_TIMESTAMP": (1, 2),
    "TO_TIMESTAMP_LTZ": (1, 2),
    "TO_TIMESTAMP": (1, 2),
    "TO_DATE": (1, 2),
    "ARRAY": (0, None),
    "ARRAY_DISTINCT": (1, 1),
    "ARRAY_JOIN": (2, 3),
    "ARRAY_APPEND": (2, 2),
    "ARRAY_EXCEPT": (2, 2),
    "ARRAY_INTERSECT": (2, 2),
    "ARRAY_PREPEND": (2, 2),
    "ARRAY_UNION": (2, 2),
    "ARRAY_MAX": (1, 1),
    "ARRAY_MIN": (1, 1),
    "MAP": (2, None),
    "MAP_FROM_ARRAYS": (2, 2),
    "MAP_KEYS": (1, 1),
    "MAP_VALUES": (1, 1),
    "MAP_ENTRIES": (1, 1),
    "ENCODE": (2, 2),
    "DECODE": (2, 2),
    "REGEXP_EXTRACT_ALL": (2, 3),
}

# Positions count from 1; negative positions count from the end.
_FROM: Final = "greatest(CASE WHEN {1} < 0 THEN size({0}) + {1} + 1 ELSE {1} END, 1)"
_TO: Final = "CASE WHEN {2} < 0 THEN size({0}) + {2} + 1 ELSE {2} END"

_WORD: Final = (
    "aggregate(split(lower({0}), ''), struct('' AS t, FALSE AS w), "
    "(a, c) -> struct(concat(a.t, if(a.w, c, upper(c))) AS t, c rlike '[0-9A-Za-z]' AS w), a -> a.t)"
)

_PARTS: Final = "split({0}, '[.]')"
# With fewer than four parts the last part is the last byte: 127.1 is 127.0.0.1.
_ADDRESS: Final = (
    "CASE WHEN {0} rlike '^[0-9]{1,3}([.][0-9]{1,3}){0,3}$' AND forall(PARTS, __x -> CAST(__x AS INT) < 256) "
    "THEN aggregate(transform(PARTS, (__x, __i) -> shiftleft(CAST(__x AS BIGINT), if(__i = size(PARTS) - 1, 0, "
    "24 - 8 * __i))), CAST(0 AS BIGINT), (__a, __x) -> __a + __x) END"
).replace("PARTS", _PARTS)
_BYTES: Final = ", ".join(f"CAST(shiftright({{0}}, {bits}) & 255 AS STRING)" for bits in (24, 16, 8, 0))

SCALARS: Final[dict[str, Scalar]] = {
    **{name: _same(name, least, most) for name, (least, most) in _SAME.items()},
    "GREATEST": _never_null("greatest"),
    "LEAST": _never_null("least"),
    "IFNULL": Scalar("coalesce({0}, {1})", 2, 2),
    "IF": Scalar("if({0}, {1}, {2})", 3, 3),
    "TRANSLATE3": Scalar("translate({*})", 3, 3),
    "LN": Scalar(_LOGARITHM % "ln", 1, 1),
    "LOG10": Scalar(_LOGARITHM % "log10", 1, 1),
    "LOG2": Scalar(_LOGARITHM % "log2", 1, 1),
    "LOG": Scalar(_LOGARITHM % "ln", 1, 2, "log({0}, {1})"),
    "CHAR_LENGTH": Scalar("char_length({0})", 1, 1),
    "CHARACTER_LENGTH": Scalar("char_length({0})", 1, 1),
    "SUBSTR": Scalar("substr({*})", 2, 3),
    "LEFT": Scalar("left({0}, {1})", 2, 2),
    "RIGHT": Scalar("right({0}, {1})", 2, 2),
    "INSTR": Scalar("instr({0}, {1})", 2, 2),
    "LOCATE": Scalar("locate({*})", 2, 3),
    "LTRIM": Scalar("ltrim({0})", 1, 2, "trim(LEADING {1} FROM {0})"),
    "RTRIM": Scalar("rtrim({0})", 1, 2, "trim(TRAILING {1} FROM {0})"),
    "BTRIM": Scalar("trim({0})", 1, 2, "trim(BOTH {1} FROM {0})"),
    "LPAD": Scalar("CASE WHEN {1} >= 0 AND {2} <> '' THEN lpad({*}) END", 3, 3),
    "RPAD": Scalar("CASE WHEN {1} >= 0 AND {2} <> '' THEN rpad({*}) END", 3, 3),
    "INITCAP": Scalar(_WORD, 1, 1),
    # The first byte of the text in UTF-8, with its sign.
    "ASCII": Scalar(
        "CASE WHEN ascii({0}) < 128 THEN ascii({0}) "
        "ELSE CAST(conv(hex(substring(CAST({0} AS BINARY), 1, 1)), 16, 10) AS INT) - 256 END",
        1,
        1,
    ),
    "CHR": Scalar("chr({0})", 1, 1),
    "SHA224": Scalar("sha2({0}, 224)", 1, 1),
    "SHA256": Scalar("sha2({0}, 256)", 1, 1),
    "SHA384": Scalar("sha2({0}, 384)", 1, 1),
    "SHA512": Scalar("sha2({0}, 512)", 1, 1),
    "TO_BASE64": Scalar("base64({0})", 1, 1),
    "FROM_BASE64": Scalar("CAST(unbase64({0}) AS STRING)", 1, 1),
    "STR_TO_MAP": Scalar("str_to_map({0}, ',', '=')", 1, 3, "str_to_map({*})"),
    "SPLIT": Scalar("split({0}, concat('\\\\Q', {1}, '\\\\E'))", 2, 2),
    "SPLIT_INDEX": Scalar(
        "CASE WHEN {2} >= 0 AND {0} <> '' THEN try_element_at(split({0}, concat('\\\\Q', {1}, '\\\\E')), {2} + 1) END",
        3,
        3,
    ),
    "REGEXP": Scalar("({0} rlike {1})", 2, 2),
    "REGEXP_EXTRACT": Scalar(
        "CASE WHEN {0} rlike {1} THEN regexp_extract({0}, {1}, 0) END",
        2,
        3,
        "CASE WHEN {0} rlike {1} THEN regexp_extract({*}) END",
    ),
    "YEAR": Scalar("CAST(year({0}) AS BIGINT)", 1, 1),
    "QUARTER": Scalar("CAST(quarter({0}) AS BIGINT)", 1, 1),
    "MONTH": Scalar("CAST(month({0}) AS BIGINT)", 1, 1),
    "WEEK": Scalar("CAST(weekofyear({0}) AS BIGINT)", 1, 1),
    "DAYOFYEAR": Scalar("CAST(dayofyear({0}) AS BIGINT)", 1, 1),
    "DAYOFMONTH": Scalar("CAST(dayofmonth({0}) AS BIGINT)", 1, 1),
    "DAYOFWEEK": Scalar("CAST(dayofweek({0}) AS BIGINT)", 1, 1),
    "HOUR": Scalar("CAST(hour({0}) AS BIGINT)", 1, 1),
    "MINUTE": Scalar("CAST(minute({0}) AS BIGINT)", 1, 1),
    "SECOND": Scalar("CAST(second({0}) AS BIGINT)", 1, 1),
    "CARDINALITY": Scalar("CAST(size({0}) AS INT)", 1, 1),
    "ARRAY_CONCAT": Scalar("concat({*})", 1, None),
    # NULL is a value like any other.
    "ARRAY_CONTAINS": Scalar("exists({0}, __e -> __e <=> {1})", 2, 2),
    "ARRAY_REMOVE": Scalar("filter({0}, __e -> NOT __e <=> {1})", 2, 2),
    "ARRAY_POSITION": Scalar("CAST(array_position({0}, {1}) AS INT)", 2, 2),
    "ARRAY_SLICE": Scalar(
        f"slice({{0}}, {_FROM}, greatest(size({{0}}), 0))",
        2,
        3,
        f"slice({{0}}, {_FROM}, greatest({_TO} - {_FROM} + 1, 0))",
    ),
    "ELEMENT": Scalar("try_element_at({0}, 1)", 1, 1),
    "ARRAY_SORT": Scalar("sort_array({0})", 1, 1),
    "ARRAY_REVERSE": Scalar("reverse({0})", 1, 1),
    "CONVERT_TZ": Scalar("", 3, 3),
    "TYPEOF": Scalar("", 1, 2),
    "INET_ATON": Scalar(_ADDRESS, 1, 1),
    "INET_NTOA": Scalar(f"CASE WHEN {{0}} BETWEEN 0 AND 4294967295 THEN concat_ws('.', {_BYTES}) END", 1, 1),
    # For a key in both maps, the second map's value counts.
    "MAP_UNION": Scalar(
        "CASE WHEN {&} THEN map_concat(map_filter({0}, (__k, __v) -> NOT array_contains(map_keys({1}), __k)), {1}) END",
        2,
        2,
    ),
    "IS_DIGIT": _looks(r"\p{Nd}+"),
    "IS_ALPHA": _looks(r"\p{L}+"),
    "IS_DECIMAL": _looks(_DECIMAL),
}
"""By name; an empty template is written elsewhere. REGEXP_EXTRACT without a match is NULL in Flink, empty in Spark."""
