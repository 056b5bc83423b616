"""The functions of Spark SQL by name: the ones that an expression may call, and the reasons to refuse the others.

A new release of Spark brings new names. A test compares the lists with Spark's registry, so that each new name has to
be decided; names outside ALLOWED are refused.

A function is allowed if it depends only on its arguments, one record at a time, and accesses nothing else.
"""

from __future__ import annotations

from typing import Final


def names(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


ALLOWED: Final = names(
    """
    abs acos acosh add_months aes_decrypt aggregate and array array_append array_compact array_contains
    array_distinct array_except array_insert array_intersect array_join array_max array_min array_position
    array_prepend array_remove array_repeat array_size array_sort array_union arrays_overlap arrays_zip ascii
    asin asinh atan atan2 atanh base64 between bigint bin binary bit_count bit_get bit_length
    bitmap_bit_position bitmap_bucket_number bitmap_count boolean bround btrim cardinality case cast cbrt ceil
    ceiling char char_length character_length chr coalesce collation concat concat_ws contains conv
    convert_timezone cos cosh cot crc32 csc date date_add date_diff date_format date_from_unix_date date_part
    date_sub date_trunc dateadd datediff datepart day dayname dayofmonth dayofweek dayofyear decimal decode
    degrees div double e element_at elt encode endswith equal_null exists exp expm1 extract factorial filter
    find_in_set flatten float floor forall format_number format_string from_base32 from_json from_unixtime
    from_utc_timestamp get get_json_object getbit greatest hash hex hmac hour hypot if ifnull ilike in initcap
    instr int is_valid_utf8 is_valid_variant is_variant_null isnan isnotnull isnull jaro_winkler_similarity
    json_array_length json_object_keys last_day lcase least left len length levenshtein like ln locate log log10
    log1p log2 lower lpad ltrim luhn_check make_date make_dt_interval make_interval make_timestamp
    make_timestamp_ltz make_timestamp_ntz make_valid_utf8 make_ym_interval map map_concat map_contains_key
    map_entries map_filter map_from_arrays map_from_entries map_keys map_values map_zip_with mask md5 minute mod
    month monthname months_between named_struct nanvl negative next_day not nullif nullifzero nvl nvl2
    octet_length or overlay parse_json parse_url pi pmod position positive pow power printf quarter quote
    radians raise_error reduce regexp regexp_count regexp_extract regexp_extract_all regexp_instr regexp_like
    regexp_replace regexp_substr repeat replace reverse right rint rlike round rpad rtrim schema_of_variant sec
    second sentences sequence sha sha1 sha2 shiftleft shiftright shiftrightunsigned sign signum sin sinh size
    slice smallint sort_array soundex space split split_part sqrt startswith str_to_map string struct substr
    substring substring_index tan tanh time_bucket timestamp timestamp_micros timestamp_millis timestamp_seconds
    tinyint to_base32 to_binary to_csv to_date to_json to_timestamp to_timestamp_ltz to_timestamp_ntz
    to_unix_timestamp to_utc_timestamp to_variant_object to_xml transform transform_keys transform_values
    translate trim trunc try_add try_aes_decrypt try_divide try_element_at try_make_interval try_make_timestamp
    try_make_timestamp_ltz try_make_timestamp_ntz try_mod try_multiply try_parse_json try_parse_url try_subtract
    try_to_binary try_to_date try_to_timestamp try_url_decode try_validate_utf8 try_variant_array_append
    try_variant_get try_variant_insert try_variant_set typeof ucase unbase64 unhex unix_date unix_micros
    unix_millis unix_seconds unix_timestamp upper url_decode url_encode validate_utf8 variant_array_append
    variant_delete variant_get variant_insert variant_set variant_strip_nulls vector_cosine_similarity
    vector_inner_product vector_l2_distance vector_norm vector_normalize weekday weekofyear when width_bucket
    xxhash64 year zeroifnull zip_with
    """
)

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
        collate make_time st_asbinary st_geogfromwkb st_geomfromwkb st_setsrid st_srid time time_diff
        time_from_micros time_from_millis time_from_seconds time_to_micros time_to_millis time_to_seconds time_trunc
        timestamp_nanos to_time try_to_time unix_nanos
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
