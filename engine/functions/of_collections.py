"""Functions of arrays, maps and rows. Places count from 1."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from engine.functions.function import Function, Writing, given
from engine.functions.rows import row
from engine.functions.spark_text import spark_sql

# Negative positions count from the end.
_FROM: Final = "greatest(CASE WHEN {1} < 0 THEN size({0}) + {1} + 1 ELSE {1} END, 1)"
_TO: Final = "CASE WHEN {2} < 0 THEN size({0}) + {2} + 1 ELSE {2} END"

_ONE: Final = "array array<T> -> array<T>"
_BOTH: Final = "array array<E>, array array<E> -> array<E>"
_ELEMENT: Final = "array array<E>, element E -> array<E>"


def _sort(writing: Writing, call: exp.Anonymous) -> str | None:
    """ARRAY_SORT whose order is told; sort_array takes it as a constant only."""
    array, *order = map(writing.write, given(call))
    if not order:
        return None
    ascending, nulls_first = order[0], order[-1]
    values, nulls = (spark_sql("filter({}, __e -> __e IS {which}NULL)", array, which=which) for which in ("NOT ", ""))
    in_order = spark_sql("CASE WHEN {0} THEN sort_array({1}) ELSE reverse(sort_array({1})) END", ascending, values)
    return spark_sql(
        "CASE WHEN {0} IS NULL THEN NULL WHEN {1} THEN concat({2}, {3}) WHEN NOT {1} THEN concat({3}, {2}) END",
        *(ascending, nulls_first, nulls, in_order),
    )


ROWS: Final = (
    Function("ARRAY", "value T* -> array<T>", "An array of values.", "ARRAY[1, 2]", "[1, 2]", null="[NULL, 2]"),
    Function(
        "MAP", "key K, value V, value any* -> map<K,V>", "A map of keys and values.", "MAP['a', 1]", "{a=1}", null=""
    ),
    Function(
        *("ROW", "value any* -> row", "A row of values.", "ROW(1, 'a')", "(1, a)", None, row),
        syntax="ROW(value, …)",
        null="(NULL, a)",
    ),
    Function(
        *("CARDINALITY", "array_or_map sized -> int", "The number of elements or entries.", "CARDINALITY(ARRAY[1, 2])"),
        *("2", "CAST(size({0}) AS INT)"),
    ),
    Function("ELEMENT", "array array<T> -> T", "The only element.", "ELEMENT(ARRAY[1])", "1", "try_element_at({0}, 1)"),
    Function(
        "ARRAY_APPEND", _ELEMENT, "The array with an element at its end.", "ARRAY_APPEND(ARRAY[1, 2], 3)", "[1, 2, 3]"
    ),
    Function(
        "ARRAY_PREPEND",
        _ELEMENT,
        "The array with an element at its beginning.",
        "ARRAY_PREPEND(ARRAY[1, 2], 0)",
        "[0, 1, 2]",
    ),
    Function(
        *("ARRAY_CONCAT", "array array<T>, array array<T>* -> array<T>", "The arrays one after another."),
        *("ARRAY_CONCAT(ARRAY[1], ARRAY[2, 3])", "[1, 2, 3]", "concat({*})"),
    ),
    # NULL is a value like any other.
    Function(
        *("ARRAY_CONTAINS", "array array<E>, element E -> boolean", "Whether an element is in the array."),
        *("ARRAY_CONTAINS(ARRAY[1, 2], 2)", "TRUE", "exists({0}, __e -> __e <=> {1})"),
    ),
    Function(
        *("ARRAY_REMOVE", _ELEMENT, "The array without an element.", "ARRAY_REMOVE(ARRAY[1, 2, 1], 1)", "[2]"),
        spark="filter({0}, __e -> NOT __e <=> {1})",
    ),
    Function(
        *("ARRAY_POSITION", "array array<E>, element E -> int", "Where an element first stands; 0 if it does not."),
        *("ARRAY_POSITION(ARRAY[5, 7], 7)", "2", "CAST(array_position({0}, {1}) AS INT)"),
    ),
    Function(
        "ARRAY_DISTINCT", _ONE, "The array without repeated elements.", "ARRAY_DISTINCT(ARRAY[1, 2, 1])", "[1, 2]"
    ),
    Function("ARRAY_REVERSE", _ONE, "The array from its end.", "ARRAY_REVERSE(ARRAY[1, 2])", "[2, 1]", "reverse({0})"),
    Function(
        *("ARRAY_SORT", "array array<T>, ascending boolean?, nulls_first boolean? -> array<T>"),
        *("The array in order; NULLs come first if it is ascending.", "ARRAY_SORT(ARRAY[2, 1])", "[1, 2]"),
        spark="sort_array({0})",
        write=_sort,
    ),
    Function(
        "ARRAY_UNION", _BOTH, "The elements of either array, once.", "ARRAY_UNION(ARRAY[1], ARRAY[1, 2])", "[1, 2]"
    ),
    Function(
        "ARRAY_EXCEPT", _BOTH, "The elements of the first array only.", "ARRAY_EXCEPT(ARRAY[1, 2], ARRAY[1])", "[2]"
    ),
    Function("ARRAY_INTERSECT", _BOTH, "The elements of both arrays.", "ARRAY_INTERSECT(ARRAY[1, 2], ARRAY[1])", "[1]"),
    Function("ARRAY_MAX", "array array<T> -> T", "The largest element.", "ARRAY_MAX(ARRAY[1, 3, 2])", "3"),
    Function("ARRAY_MIN", "array array<T> -> T", "The smallest element.", "ARRAY_MIN(ARRAY[3, 1, 2])", "1"),
    Function(
        *("ARRAY_JOIN", "array array<string>, delimiter characters, instead_of_null characters? -> string"),
        *("The elements as one text.", "ARRAY_JOIN(ARRAY['a', 'b'], '-')", "a-b"),
    ),
    Function(
        *("ARRAY_SLICE", "array array<T>, start int, end int? -> array<T>", "The elements from start to end."),
        *("ARRAY_SLICE(ARRAY[1, 2, 3, 4], 2, 3)", "[2, 3]"),
        spark=f"slice({{0}}, {_FROM}, greatest(size({{0}}), 0))",
        fuller=f"slice({{0}}, {_FROM}, greatest({_TO} - {_FROM} + 1, 0))",
    ),
    Function(
        *("MAP_FROM_ARRAYS", "keys array<K>, values array<V> -> map<K,V>", "A map of keys and their values."),
        *("MAP_FROM_ARRAYS(ARRAY['a'], ARRAY[1])", "{a=1}"),
    ),
    Function("MAP_KEYS", "map map<K,V> -> array<K>", "The keys of a map.", "MAP_KEYS(MAP['a', 1])", "[a]"),
    Function("MAP_VALUES", "map map<K,V> -> array<V>", "The values of a map.", "MAP_VALUES(MAP['a', 1])", "[1]"),
    Function(
        *("MAP_ENTRIES", "map map<K,V> -> array<struct<`key`:K,`value`:V>>", "The entries of a map, as rows."),
        *("MAP_ENTRIES(MAP['a', 1])", "[(a, 1)]"),
    ),
    # For a key in both maps, the second map's value counts.
    Function(
        *("MAP_UNION", "map map<K,V>, map map<K,V> -> map<K,V>", "The entries of both maps; the second one's count."),
        *("MAP_UNION(MAP['a', 1], MAP['a', 2])", "{a=2}"),
        spark="CASE WHEN {&} THEN "
        "map_concat(map_filter({0}, (__k, __v) -> NOT array_contains(map_keys({1}), __k)), {1}) END",
    ),
)
