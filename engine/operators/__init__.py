"""One file per operator, found by `engine.registry`. To add one, add a file; no other file changes.

The file ends with `OPERATOR = YourClass`, a class derived from `engine.contract.operator.Operator`. It declares, in
this order:

- what the palette and documents call it: `operator`, `title`, `summary`, `group`
- its parameters: pydantic fields, whose titles label the form in the browser
- its inputs, where they are not the one port `in`: `ports`, `many_edges` where a port takes several edges, `tables` for
  ports that are read before all others
- `derive`: the output's schema, changelog mode and keys
- `offers`: what it needs from its inputs
- `strategy`: how it works on these inputs, and why
- `step`: what Spark runs. A projection in Spark SQL, or a kernel per key (`engine.contract.kernel.Kernel`): `start`
  with a key's state, `on_record`, `on_timer`, `finish` with the new state
- `batch`: the same on whole tables without the kernel, which `--check` compares the result with. `judges_late`: it
  drops late records itself; `unordered`: lists whose order the comparison ignores
- `late_rule`: when a record is too late (`engine.contract.late_rule`); None where no record can be
- its Flink SQL: `sql_function` and `columns_out` for a table function, else `flink_sql`

Operators with windows derive from `engine.windows.parameters.MadeWindows`, which brings the window parameters and the
late port. Few operators need the rest of the contract:

- a late port: derive from `engine.contract.late_port.RoutesLate` in place of `Operator`. The parameter `late_records`
  then offers a second output, to which the runtime routes late records. An operator with another second output declares
  `output_ports`, `derive_port` and `input_of_port`
- code of the pipeline's author: `foreign_code` returns it. The node does not run until somebody has allowed it
- mini-batch: `needs_each_watermark`, where Flink hands watermarks on with each record and not in steps
- pages that explain a run: `meaning` (why a record was emitted) and `origins` (the input records that it was made of)
- problems in the builder: `alternatives` that do the same where this operator is refused; `without_variables` where
  expressions are about several rows

A step can also name a columnar kernel: the same rule on sorted Arrow batches (`engine.contract.columnar_kernel` has the
contract). The plain kernel remains the specification; `tests/engine/columnar/equality.py` compares the two.

`filter.py` is the shortest operator, `aggregate.py` a typical one. Their tests are tables (`tests/engine/cases.py`).
Kernels and what they share stand by family in `engine/aggregates`, `deduplication`, `joins`, `ranking`, `windows`.
"""
