"""One file per operator, discovered by `engine.registry`. To add an operator, add a file; no other file changes.

The file ends with `OPERATOR = YourClass`, a subclass of `engine.contract.operator.Operator`. The class declares, in
this order:

- its names in the palette and in documents: `operator`, `title`, `summary`, `group`; `also_called` for the search
- its parameters (`engine.contract.parameters.parameter`), whose titles are the labels of the form in the browser;
`computes`: the one with the expressions that are its output's columns
- its inputs, unless it has the single port `in`: `ports`; `many_edges` if a port takes several edges; `tables` for
ports that are read before all others
- `derive`: the output's schema, changelog mode and keys; `time_ends`: why its rows have no event time, if it is special
- `passes_rows`, if its output has the columns of its input as they are
- `offers`: the update kinds that it needs from its inputs
- `strategy`: how it works on these inputs, and why
- `step`: the work for Spark: a projection in Spark SQL, or a kernel per key (`engine.contract.kernel.Kernel`): `start`
with a key's state, `on_record`, `on_timer`, `finish` with the new state
- `batch`: the same result from whole tables, without the kernel; `--check` compares both. `judges_late`: it
drops late records itself; `unordered`: lists whose order the comparison ignores; `let_go`: the pairs that the watermark
has cost it
- `late_rule`: when a record is too late (`engine.contract.late_rule`); None if no record can be too late
- `expiry`: what frees its state; `state_ttls_ms`, if its inputs have state TTLs of their own. An operator with one TTL
of its own derives from `engine.contract.own_ttl.OwnTtl`, which has the parameter and `options_of`
- its Flink SQL: `sql_function` and `columns_out` for a table function, else `flink_sql`

Operators with windows derive from `engine.windows.parameters.MadeWindows`, which has the window parameters and the
late port. Few operators need the rest of the contract:

- a late port: derive from `engine.contract.late_port.RoutesLate` instead of `Operator`. The parameter `late_records`
then adds a second output, to which the runtime routes late records. An operator with another second output declares
`output_ports`, `derive_port` and `input_of_port`
- code of the pipeline's author: `foreign_code` returns it. The node does not run until a user has allowed it
- mini-batch: `needs_each_watermark`, if Flink passes watermarks on with each record instead of in steps
- a clock for the rows of several sources: `goes_by_latest`, if the latest one, not the earliest, is its watermark
- pages that explain a run: `meaning` (why a record was emitted) and `origins` (the input records that it comes from)
- a place outside that a live run writes to: `epoch_writer`, `check_place` (`engine.contract.target`), for sinks
- problems in the builder: `alternatives` with the same result if this operator is refused; `preparations` that can be
put before an input; `caution` about valid parameters that are seldom meant; `variables` and `without_variables` if
expressions use several rows

A step can have a columnar kernel: the rule on sorted Arrow batches (`engine.contract.columnar_kernel` is the contract).
If it describes its state, it is the only telling of the rule, and the step has no plain kernel: previews, replays and
cases run it too (`engine.columnar.in_process`). Otherwise the plain kernel is the specification.
`tests/engine/columnar/equality.py` compares the two, or the cuts of one. A rule that has to be a loop is a function
over integers, compiled if there are many records (`engine.columnar.rules`, as in `engine/windows/sessions.py`).

`filter.py` is the shortest operator, `aggregate.py` a typical one. Their tests are tables (`tests/engine/cases.py`).
Shared code of kernels is in one folder per family: `engine/aggregates`, `deduplication`, `joins`, `ranking`, `windows`.
"""
