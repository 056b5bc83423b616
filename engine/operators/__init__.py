"""One file per operator, found by `engine.registry`. To add one, add a file; no other file changes.

The file ends with `OPERATOR = YourClass`, a class derived from `engine.contract.operator.Operator`. It declares, in
this order:

- its parameters: pydantic fields, whose titles label the form in the browser
- `derive`: the output's schema, changelog mode and keys
- `offers`: what it needs from its inputs
- `strategy`: how it works on these inputs, and why
- `step`: what Spark runs. A projection in Spark SQL, or a kernel per key (`engine.contract.kernel.Kernel`): `start`
  with a key's state, `on_record`, `on_timer`, `finish` with the new state
- `batch`: the same on whole tables without the kernel, which `--check` compares the result with
- its Flink SQL

A step can also name a columnar kernel: the same rule on sorted Arrow batches (`engine.contract.columnar_kernel` has the
contract). The plain kernel remains the specification; `tests/engine/columnar/equality.py` compares the two.

`filter.py` is the shortest operator, `aggregate.py` a typical one. Their tests are tables (`tests/engine/cases.py`).
Kernels and what they share stand by family in `engine/aggregates`, `deduplication`, `joins`, `ranking`, `windows`.
"""
