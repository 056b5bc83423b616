"""The types of Spark's functions: by name, what it takes and what it gives.

A line says `parameters -> result: names`. `x?` may be left out, `x*` may be repeated. A capital letter is any type, the
same wherever it stands: values of it are converted to their common type; of `E`, only whole numbers are. `Number` is
any type of numbers.

Functions whose result depends on more than types are in `calls`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from engine.expressions.coercion import accepts, alike, common, is_ordered
from engine.expressions.functions import names
from engine.model.type_texts import spark_type
from engine.model.types import (
    BIGINT,
    BINARY,
    DATE,
    INT,
    INTEGERS,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VARIANT,
    VOID,
    Array,
    Map,
    Plain,
    Row,
    Timestamp,
    Type,
)

_TABLE: Final = """
string -> string: lower upper lcase ucase initcap quote url_encode url_decode try_url_decode
string, string? -> string: ltrim rtrim btrim
string, int -> string: left right repeat
string, int, string? -> string: lpad rpad
string, string, string -> string: translate
string, string, string? -> string: replace
string, string, int -> string: substring_index split_part
string, int, int -> string: conv
int -> string: space
bigint -> string: bin chr char
string -> int: ascii
characters -> string: soundex
characters -> int: json_array_length
characters, characters, characters? -> string: parse_url try_parse_url
characters, characters -> string: get_json_object
text -> int: char_length character_length length len octet_length bit_length
string, string, int? -> int: locate position regexp_instr levenshtein
string, string -> int: instr regexp_count find_in_set
text, text -> boolean: startswith endswith contains
string, string -> boolean: regexp_like rlike regexp
string, string, int? -> string: regexp_extract
string, string -> string: regexp_substr
string, string, int? -> array<string>: regexp_extract_all split
string, string, string -> string: regexp_replace
characters, characters?, characters? -> map<string,string>: str_to_map
string, any* -> string: printf format_string
int, string, string* -> string: elt
hexed -> string: hex
string -> binary: unhex unbase64
binary -> string: md5 sha sha1 base64
binary, int -> string: sha2
binary -> bigint: crc32
string, string -> binary: encode
binary, string -> string: decode
any -> string: typeof
any -> boolean: isnull isnotnull
string -> void: raise_error

double -> double: sqrt cbrt exp expm1 ln log2 log10 log1p sin cos tan cot sec csc asin acos atan sinh cosh tanh
double -> double: asinh acosh atanh degrees radians rint
double, double -> double: power pow atan2 hypot
double, double? -> double: log
double -> double: sign signum
double -> boolean: isnan
-> double: pi e
int -> bigint: factorial
Number -> Number: abs negative positive
wide, int -> bigint: shiftleft shiftright shiftrightunsigned
int, int -> int: shiftleft shiftright shiftrightunsigned

date, days -> date: dateadd
string, timestamp -> timestamp: date_trunc
timestamp, string -> string: date_format
timestamp -> int: hour minute second
date -> int: year quarter month day dayofmonth dayofweek weekday dayofyear weekofyear
date -> string: dayname monthname
date -> date: last_day
date, int -> date: add_months
date, days -> date: date_add date_sub
date, date -> int: datediff date_diff
date, string -> date: next_day trunc
timestamp, timestamp, boolean? -> double: months_between
int, int, int -> date: make_date
day -> int: unix_date
int -> date: date_from_unix_date
instant -> bigint: unix_seconds unix_millis unix_micros
whole -> timestamp: timestamp_millis timestamp_micros
Number -> timestamp: timestamp_seconds
bigint, string? -> string: from_unixtime
moment, string? -> timestamp: to_timestamp try_to_timestamp to_timestamp_ltz
string, string? -> timestamp_ntz: to_timestamp_ntz
string, string? -> date: to_date try_to_date
moment, characters? -> bigint: unix_timestamp to_unix_timestamp
timestamp, string -> timestamp: from_utc_timestamp to_utc_timestamp
string, string, timestamp_ntz -> timestamp_ntz: convert_timezone
string, timestamp_ntz -> timestamp_ntz: convert_timezone
int, int, int, int, int, decimal(16,6) -> timestamp_ntz: make_timestamp_ntz try_make_timestamp_ntz
int, int?, int?, int?, int?, int?, decimal(18,6)? -> interval: make_interval try_make_interval

characters -> variant: parse_json try_parse_json
variant -> string: schema_of_variant
object -> string: to_json
object, map<characters,characters> -> string: to_json
characters -> array<string>: json_object_keys

string -> string: reverse
array<T> -> array<T>: reverse
sized -> int: size cardinality
array<T> -> int: array_size
array<E>, E -> boolean: array_contains
array<E>, E -> bigint: array_position
array<E>, E -> array<E>: array_append array_prepend array_remove
array<E>, array<E> -> array<E>: array_union array_except array_intersect
array<E>, array<E> -> boolean: arrays_overlap
array<T> -> array<T>: array_distinct array_compact array_sort sort_array
array<T>, int, int -> array<T>: slice
array<T> -> T: array_max array_min
array<array<T>> -> array<T>: flatten
array<string>, characters, characters? -> string: array_join
T, count -> array<T>: array_repeat
array<T>, index -> T: get element_at try_element_at
map<K,V>, K -> V: element_at try_element_at
map<K,V> -> array<K>: map_keys
map<K,V> -> array<V>: map_values
map<K,V> -> array<struct<`key`:K,`value`:V>>: map_entries
map<K,V>, map<K,V>* -> map<K,V>: map_concat
map<E,V>, E -> boolean: map_contains_key
array<K>, array<V> -> map<K,V>: map_from_arrays

hashed, hashed* -> int: hash
hashed, hashed* -> bigint: xxhash64
T, T -> boolean: equal_null
binary, binary, string?, string?, binary? -> binary: aes_decrypt try_aes_decrypt
binary, binary, string? -> binary: hmac
binary -> string: to_base32
string -> binary: from_base32
string -> binary: to_binary try_to_binary
string -> string: validate_utf8 try_validate_utf8 make_valid_utf8
string -> boolean: is_valid_utf8 luhn_check
string, string -> double: jaro_winkler_similarity
string, string?, string? -> array<array<string>>: sentences
characters -> string: collation mask
variant -> boolean: is_variant_null is_valid_variant
variant -> variant: variant_strip_nulls
object -> variant: to_variant_object
row, map<characters,characters>? -> string: to_csv to_xml
boolean -> int: bit_count
whole -> int: bit_count
whole, int -> tinyint: bit_get getbit
bigint -> bigint: bitmap_bit_position bitmap_bucket_number
bytes -> bigint: bitmap_count
Number, count -> string: format_number
Number, characters -> string: format_number
double, double -> double: nanvl
Number -> Number: nullifzero
double, double, double, bigint -> bigint: width_bucket
int?, int?, int?, decimal(18,6)? -> interval day to second: make_dt_interval
int?, int? -> interval year to month: make_ym_interval
int, int, int, int, int, decimal(16,6), string? -> timestamp: make_timestamp try_make_timestamp
int, int, int, int, int, decimal(16,6), string? -> timestamp: make_timestamp_ltz try_make_timestamp_ltz
array<E>, count, E -> array<E>: array_insert
E, E, E? -> array<E>: sequence
array<float>, array<float> -> float: vector_cosine_similarity vector_inner_product vector_l2_distance
array<float>, float? -> float: vector_norm
array<float>, float? -> array<float>: vector_normalize

boolean, T, T -> T: if
T, T* -> T: coalesce
T, T -> T: nvl ifnull
any, T, T -> T: nvl2
"""

_LETTER: Final = re.compile(r"[A-Z]")
_GROUPS: Final = {
    "text": (STRING, BINARY, VOID),
    "hexed": (BIGINT, INT, SMALLINT, TINYINT, BINARY, STRING, VOID),
    "instant": (TIMESTAMP, TIMESTAMP_NTZ, VOID),
    "day": (DATE, VOID),
    "days": (TINYINT, SMALLINT, INT, STRING, VOID),
    "wide": (BIGINT,),
    "bytes": (BINARY,),
    "characters": (STRING, VOID),
    "count": (INT,),
    "index": (TINYINT, SMALLINT, INT),
    "whole": (TINYINT, SMALLINT, INT, BIGINT, VOID),
    "moment": (TIMESTAMP, TIMESTAMP_NTZ, DATE, STRING, VOID),
}
_IN_WORDS: Final = {
    **{"any": "any value", "T": "a value", "E": "a value", "K": "a key", "V": "a value", "Number": "a number"},
    **{"text": "STRING or BYTES", "hexed": "a number, STRING or BYTES", "characters": "STRING", "bytes": "BYTES"},
    **{"instant": "TIMESTAMP", "day": "DATE", "moment": "a time", "days": "INT", "count": "INT", "index": "INT"},
    **{"whole": "a whole number", "wide": "BIGINT", "sized": "ARRAY or MAP", "object": "ARRAY, MAP or ROW"},
    **{"row": "ROW", "hashed": "any value without a MAP"},
}
# These have no order, so that none of their values can be found, compared or sorted.
_ORDERS: Final = names(
    """
    array_contains array_position array_remove array_union array_except array_intersect arrays_overlap array_distinct
    array_sort sort_array array_max array_min
    """
)


@dataclass(frozen=True)
class Signature:
    """One way to call a function. least: how many arguments it needs. repeats: whether the last may be repeated."""

    parameters: tuple[Type, ...]
    least: int
    repeats: bool
    result: Type

    def __str__(self) -> str:
        """What it takes, in words."""
        words = [_IN_WORDS.get(str(each), each.flink) for each in self.parameters]
        optional = [f"[{word}]" if at >= self.least else word for at, word in enumerate(words)]
        return ", ".join(optional) + (", ..." if self.repeats else "")

    def result_of(self, arguments: Sequence[Type], *, ordered: bool) -> Type | None:
        """The type of a call; None if the function does not take these arguments. ordered: it compares them."""
        if len(arguments) < self.least or (len(arguments) > len(self.parameters) and not self.repeats):
            return None
        places = range(len(arguments))
        parameters = [self.parameters[min(at, len(self.parameters) - 1)] for at in places]
        known: dict[str, Type] = {}
        for parameter, argument in zip(parameters, arguments, strict=True):
            if not _fits(parameter, argument, known):
                return None
        if ordered and not all(map(is_ordered, known.values())):
            return None
        return _filled(self.result, known)


def result_of(name: str, arguments: Sequence[Type]) -> Type | None:
    """The type of a call by the function's name in lower case; None if it is not known."""
    for signature in signatures().get(name, ()):
        result = signature.result_of(arguments, ordered=name in _ORDERS)
        if result is not None:
            return result
    return None


@cache
def signatures() -> dict[str, list[Signature]]:
    """By name, the ways to call a function."""
    table: dict[str, list[Signature]] = {}
    for line in filter(None, _TABLE.splitlines()):
        shape, _, names = line.rpartition(":")
        given, _, result = shape.partition("->")
        words = re.split(r", ", given.strip()) if given.strip() else []
        least = sum(not word.endswith(("?", "*")) for word in words)
        types = tuple(spark_type(word.rstrip("?*")) for word in words)
        signature = Signature(types, least, given.strip().endswith("*"), spark_type(result.strip()))
        for name in names.split():
            table.setdefault(name, []).append(signature)
    return table


def _fits(parameter: Type, argument: Type, known: dict[str, Type]) -> bool:
    """Whether an argument fits. known: the types of the letters so far, to which the argument may add."""
    match parameter:
        case Plain(name="any"):
            return True
        case Plain(name="Number"):
            known["Number"] = argument
            return argument.is_number
        case Plain(name="sized"):
            return isinstance(argument, Array | Map)
        case Plain(name="hashed"):
            return not argument.has_map
        case Plain(name="row"):
            return isinstance(argument, Row)
        case Plain(name="object"):
            return isinstance(argument, Array | Map | Row) or argument == VARIANT
        case Plain(name=name) if name in _GROUPS:
            group = _GROUPS[name]
            return argument in group or (isinstance(argument, Timestamp) and TIMESTAMP in group)
        case Plain(name=name) if _LETTER.fullmatch(name):
            joined = common if name == "T" else alike
            shared = joined(known[name], argument) if name in known else argument
            is_same = name != "E" or shared == argument == known.get(name, argument) or shared in INTEGERS
            if shared is None or not is_same or (name == "E" and argument == VOID):
                return False
            known[name] = shared
            return True
        case Array():
            return isinstance(argument, Array) and _fits(parameter.element, argument.element, known)
        case Map():
            if not isinstance(argument, Map):
                return False
            return _fits(parameter.key, argument.key, known) and _fits(parameter.value, argument.value, known)
        case _:
            return accepts(parameter, argument)


def _filled(result: Type, known: dict[str, Type]) -> Type:
    """The result with the types of its letters."""
    match result:
        case Plain():
            return known.get(result.name, result)
        case Array():
            return Array(_filled(result.element, known))
        case Map():
            return Map(_filled(result.key, known), _filled(result.value, known))
        case Row():
            return Row(tuple((name, _filled(each, known)) for name, each in result.fields))
        case _:
            return result
