"""One file per aggregate function, found by `engine.aggregates.registry`. To add one, add a file and nothing else.

The file ends with `FUNCTION = YourFunction()`, of a class derived from `engine.aggregates.function.AggregateFunction`;
functions that differ in a few words only share one file, as `FUNCTIONS`. It must declare its name, `keeps`, `reader`
and `batch`; all else has defaults. In this order:

- its `name` in SQL and pipelines, its `place` in lists, and the functions of other dialects that it `replaces`
- its syntax: `counts_rows`, `has_separator`, `has_offset`, `has_percentage`, `ignores_distinct`
- its use: `can_retract`, `can_merge`, `needs_order`
- its treatment of NULLs and order: `sees_nulls`, `never_null`, `goes_by_arrival`, `uses_clock`, `folds_bundles`
- `check_argument`: the error of an argument, as the end of a sentence
- `result_type`: the type of the result; `kept_type`: that of the values, if it differs from the result's
- `keeps`: slots of the accumulator, with accumulate, retract and merge, and their contents in words. Slots of several
  functions are in `engine.aggregates.accumulator_parts`; calls over the same values share slots of one name
- `reader`: reads the result from the slots
- `batch`: the same in Spark SQL, which `--check` compares the result with
- `move`, `interval`, `steady_move`, `is_its_argument`, `is_between_arguments`, `is_known_of_no_rows`,
  `is_computed_above`: properties of the result for the planner, if it has any

A function can also have an implementation on whole batches, `columnar`. The plain kernel remains the specification;
`tests/engine/columnar/test_aggregation.py` compares the two.

`array_agg.py` is the shortest function, `min_max.py` a typical family. Cases of all functions are a table in
`tests/engine/kernels/test_accumulators.py`; `tests/recipes/test_aggregate_function.py` follows this recipe.
"""
