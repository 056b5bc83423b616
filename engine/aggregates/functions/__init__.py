"""One file per aggregate function, found by `engine.aggregates.registry`. To add one, add a file and nothing else.

The file ends with `FUNCTION = YourFunction()`, of a class derived from `engine.aggregates.function.AggregateFunction`;
functions that share all but a few words stand in one file, as `FUNCTIONS`. It must declare its name, `keeps`, `reader`
and `batch`; the rest has defaults. In this order:

- its `name` in SQL and pipelines, its `place` in lists, and the functions of other dialects that it `replaces`
- what can be written: `counts_rows`, `has_separator`, `has_offset`, `has_percentage`, `ignores_distinct`
- where it can be used: `can_retract`, `can_merge`, `needs_order`
- what it does with NULLs and order: `sees_nulls`, `never_null`, `goes_by_arrival`, `uses_clock`, `folds_bundles`
- `check_argument`: what is wrong with an argument, as the end of a sentence
- `result_type`: the type of the result; `kept_type`: that of the values, where the result does not have it too
- `keeps`: slots of the accumulator, with accumulate, retract and merge, and what they hold in words. Slots of several
  functions stand in `engine.aggregates.accumulator_parts`; calls over the same values share those of one name
- `reader`: how the result is read from the slots
- `batch`: the same in Spark SQL, which `--check` compares the result with
- `move`, `is_non_negative`, `steady_move`, `is_its_argument`, `is_between_arguments`: what the planner knows of the
  result, where it knows anything

A function can also say how whole batches are aggregated, as `columnar`. The plain kernel remains the specification;
`tests/engine/columnar/test_aggregation.py` compares the two.

`array_agg.py` is the shortest function, `min_max.py` a typical family. Cases of all functions are a table in
`tests/engine/kernels/test_accumulators.py`; `tests/recipes/test_aggregate_function.py` follows this recipe.
"""
