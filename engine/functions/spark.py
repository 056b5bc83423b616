"""The functions of Spark SQL by name: the ones that an expression may call, and the reasons to refuse the others.

A new release of Spark brings new names. A test compares the lists with Spark's registry, so that each new name has to
be decided; names outside ALLOWED are refused.

A function is allowed if it depends only on its arguments, one record at a time, and accesses nothing else.
"""

from __future__ import annotations

from typing import Final

from engine.functions import ROWS
from engine.functions.function import names

_TYPED: Final = """
int, string, string* -> string: elt
string -> string: lcase ucase initcap quote try_url_decode
string, string? -> string: ltrim rtrim btrim
string, int -> string: left right
string, int, string? -> string: lpad rpad
string, string, string? -> string: replace
string, string, int -> string: substring_index split_part
string, int, int -> string: conv
int -> string: space
bigint -> string: chr char
string -> int: ascii
characters -> string: soundex
characters -> int: json_array_length
characters, characters, characters? -> string: parse_url try_parse_url
characters, characters -> string: get_json_object
text -> int: char_length character_length length len octet_length bit_length
string, string, int? -> int: locate position regexp_instr levenshtein
string, string -> int: instr find_in_set
text, text -> boolean: contains
string, string -> boolean: regexp_like rlike regexp
string, string, int? -> string: regexp_extract
string, string, int? -> array<string>: split
characters, characters?, characters? -> map<string,string>: str_to_map
string, any* -> string: format_string
string -> binary: unbase64
binary -> string: sha base64
binary -> bigint: crc32
any -> string: typeof
any -> boolean: isnull isnotnull
string -> void: raise_error

double -> double: cbrt expm1 ln log2 log10 log1p sec csc
double -> double: asinh acosh atanh rint
double, double -> double: pow hypot
double, double? -> double: log
double -> double: sign signum
double -> boolean: isnan
int -> bigint: factorial
Number -> Number: negative positive
wide, int -> bigint: shiftleft shiftright shiftrightunsigned
int, int -> int: shiftleft shiftright shiftrightunsigned

date, days -> date: dateadd
string, timestamp -> timestamp: date_trunc
timestamp -> int: hour minute second
time(0) -> int: hour minute second
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
moment, string? -> timestamp: to_timestamp try_to_timestamp to_timestamp_ltz
string, string? -> timestamp_ntz: to_timestamp_ntz
string, string? -> date: to_date try_to_date
moment, characters? -> bigint: unix_timestamp to_unix_timestamp
timestamp, string -> timestamp: from_utc_timestamp to_utc_timestamp
string, string, timestamp_ntz -> timestamp_ntz: convert_timezone
date, time(0) -> timestamp_ntz: make_timestamp_ntz
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
array<E>, E -> array<E>: array_remove
array<E>, array<E> -> boolean: arrays_overlap
array<T> -> array<T>: array_compact array_sort sort_array
array<T>, int, int -> array<T>: slice
array<array<T>> -> array<T>: flatten
T, count -> array<T>: array_repeat
array<T>, index -> T: get element_at try_element_at
map<K,V>, K -> V: element_at try_element_at
map<K,V>, map<K,V>* -> map<K,V>: map_concat
map<E,V>, E -> boolean: map_contains_key

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
T, T -> T: nvl ifnull
any, T, T -> T: nvl2
"""
"""The types of functions that Flink does not have, or that take more in Spark than in Flink.

A line says `parameters -> result: names`. `x?` may be left out, `x*` may be repeated. A capital letter is any type, the
same wherever it stands: values of it are converted to their common type; of `E`, only whole numbers are. `Number` is
any type of numbers; `engine.expressions.signatures` has the other words.
"""

_BY_RULE: Final = names(
    """
    aggregate and array arrays_zip between bigint binary boolean bround case cast ceil ceiling concat concat_ws
    date date_part datepart decimal div double exists extract filter float floor forall from_json greatest ilike
    in int least like map map_filter map_from_entries map_zip_with mod named_struct not nullif or overlay pmod
    reduce round smallint string struct substr substring time time_bucket timestamp tinyint transform transform_keys
    transform_values trim try_add try_divide try_mod try_multiply try_subtract try_variant_array_append
    try_variant_get try_variant_insert try_variant_set variant_array_append variant_delete variant_get
    variant_insert variant_set when zeroifnull zip_with
    """
)
"""Syntax, and functions whose type depends on more than the types of their arguments: `engine.expressions.calls`."""


def _typed() -> dict[str, list[str]]:
    shapes: dict[str, list[str]] = {}
    for line in filter(None, _TYPED.splitlines()):
        shape, _, listed = line.rpartition(":")
        for name in listed.split():
            shapes.setdefault(name, []).append(shape)
    same = {row.name.lower(): [row.types] for row in ROWS if row.spark == ""}
    return {**{name: types for name, types in same.items() if name not in _BY_RULE}, **shapes}


TYPED: Final = _typed()
"""By function, the ways to call it: the types that it takes, and the one that it gives."""

ALLOWED: Final = _BY_RULE | TYPED.keys()
"""All that an expression may call."""

_WHY_NOT: Final = {
    "calls Java, but an expression computes with the record alone": """
        java_method reflect try_reflect
    """,
    "may read files, but an expression computes with the record alone": """
        from_avro from_protobuf from_xml input_file_block_length input_file_block_start input_file_name
        schema_of_avro schema_of_xml to_avro to_protobuf xpath xpath_boolean xpath_double xpath_float xpath_int
        xpath_long xpath_number xpath_short xpath_string
    """,
    "gives another result each time, but the same input must give the same changelog": """
        aes_encrypt curdate current_date current_time current_timestamp localtime localtimestamp
        monotonically_increasing_id now rand randn random randstr shuffle spark_partition_id uniform uuid
    """,
    "tells of the engine, but an expression computes with the record alone": """
        current_catalog current_database current_path current_schema current_timezone current_user session_user user
        version
    """,
    "makes several rows, but an expression gives one value for each record": """
        collations explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer
        python_worker_logs range sql_keywords stack variant_explode variant_explode_outer
    """,
    "looks at several rows, but an expression sees one record at a time": """
        counter_diff cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number session_window
        window window_time
    """,
    "aggregates several rows, but an expression sees one record at a time": """
        any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate
        approx_top_k_combine array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg bitmap_or_agg
        bool_and bool_or collect_list collect_set collect_union corr count count_if count_min_sketch covar_pop
        covar_samp every first first_value grouping grouping_id histogram_numeric hll_sketch_agg hll_union_agg
        kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double
        kll_sketch_agg_float kurtosis last last_value listagg max max_by mean measure median min min_by mode
        percentile percentile_approx percentile_cont percentile_disc regr_avgx regr_avgy regr_count regr_intercept
        regr_r2 regr_slope regr_sxx regr_sxy regr_syy schema_of_variant_agg skewness some std stddev stddev_pop
        stddev_samp string_agg sum theta_intersection_agg theta_sketch_agg theta_union_agg try_avg try_sum
        tuple_intersection_agg_double tuple_intersection_agg_integer tuple_sketch_agg_double
        tuple_sketch_agg_integer tuple_union_agg_double tuple_union_agg_integer var_pop var_samp variance vector_avg
        vector_sum
    """,
    "works on sketches, which no aggregate function of the studio makes": """
        approx_top_k_estimate hll_sketch_estimate hll_union kll_sketch_get_n_bigint kll_sketch_get_n_double
        kll_sketch_get_n_float kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double
        kll_sketch_get_quantile_float kll_sketch_get_rank_bigint kll_sketch_get_rank_double
        kll_sketch_get_rank_float kll_sketch_merge_bigint kll_sketch_merge_double kll_sketch_merge_float
        kll_sketch_to_string_bigint kll_sketch_to_string_double kll_sketch_to_string_float theta_difference
        theta_intersection theta_sketch_estimate theta_union tuple_difference_double tuple_difference_integer
        tuple_difference_theta_double tuple_difference_theta_integer tuple_intersection_double
        tuple_intersection_integer tuple_intersection_theta_double tuple_intersection_theta_integer
        tuple_sketch_estimate_double tuple_sketch_estimate_integer tuple_sketch_summary_double
        tuple_sketch_summary_integer tuple_sketch_theta_double tuple_sketch_theta_integer tuple_union_double
        tuple_union_integer tuple_union_theta_double tuple_union_theta_integer
    """,
    "works on types that no column of the studio has": """
        collate st_asbinary st_geogfromwkb st_geomfromwkb st_setsrid st_srid timestamp_nanos unix_nanos
    """,
    "is Spark's alone. A text is CAST AS TIME, and a TIME is computed with like a TIMESTAMP": """
        make_time time_diff time_from_micros time_from_millis time_from_seconds time_to_micros time_to_millis
        time_to_seconds time_trunc to_time try_to_time
    """,
    "has a type, or a meaning, that a format decides. Use a CAST, DATE_FORMAT, or a source that reads the format": """
        from_csv schema_of_csv schema_of_json to_char to_number to_varchar try_to_number
    """,
    "gives no value; RAISE_ERROR in a CASE ends a run as well": """
        assert_true
    """,
}

REFUSED: Final = {name: reason for reason, names in _WHY_NOT.items() for name in names.split()}
"""By function, why an expression may not call it: the end of a sentence that begins with the name."""

NEVER_BARE: Final = names(
    """
    current_catalog current_database current_date current_path current_schema current_time current_timestamp
    current_user grouping__id localtime localtimestamp session_user user
    """
)
"""Functions that Spark also calls without parentheses, unless a column has the name."""

NEVER_EMPTY: Final = frozenset({"unix_timestamp", "to_unix_timestamp"})
"""Functions that return the current time without arguments."""
