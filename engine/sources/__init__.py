"""One file per source, discovered by `engine.registry`. To add a source, add a file; no other file changes.

The file ends with `SOURCE = YourClass`, a subclass of `engine.contract.source.Source`; a module without `SOURCE` is
shared code. The class declares:

- its names in the palette and in documents: `operator`, `title`, `summary`; `also_called` for the search
- its parameters (`engine.contract.parameters.parameter`), whose titles are the labels of the form in the browser. The
base class has event time, watermark delay and computed columns, whose field `computes` names
- `derive`: the columns, without Spark. `engine.reading.typed.columns.derive_source` marks the event time and checks the
  names. `update_kind`: how a changelog writes updates. `is_known_steady`: whether Flink's plan knows that inserted
  rows never change
- `file_columns`: columns that say which file a record is from, which `with_file_columns` adds to those that are read;
  `read_schema` has both. `metadata_keys`: how Flink's connector calls such columns
- when its records arrived: `arrives_by` names the column, which the recorded clock reads as `clock_in` says
- `scan`: reads it into Arrow in Spark's workers, part by part (`engine.contract.scan`); or `read`, if Spark reads it.
`inputs`: the local files that workers need
- `stream`: how a live run reads it (`engine.contract.stream`). By default the whole source is read at once and ends.
Only `poll` accesses the outside world; `read` must return the same records for the same offsets, since epochs are
repeated after a failure. `let_go`: external clean-up when such a run is deleted. Growing files use
`engine.reading.files.growing`, servers `engine.reading.servers.served`
- `goes_on`: whether a live run reads it until somebody stops the run. `endless`: how to make it go on, if it ends
- `server` and `variables`: the address that it contacts and the secrets that it sends. Without consent, only runs
contact it
- `head`: the source with only its first rows, for a preview. `rows_about`: about how many it has, if that is
  known without reading them
- its Flink SQL: `flink_sql`, from `engine.reading.flink_table.create_table`, and back: `connector` and `table_format`
of the tables that it reads, which `takes` narrows, their `addresses` and `table_options`, and `from_table`, for which
`engine.reading.declared_options` takes the options one by one. `other_metadata`: what becomes of metadata columns that
it does not have; `is_looked_up`: whether Flink looks up rows in such a table; `arrival_told` and `with_arrival`: what
tells when its rows arrive, and a column with that
- `opens`: the file endings for which it is the default source, if `begins_with` says so; `parameters_for`: the
parameters for such a file
- `instead_of`: the options of a script's table for which its rows stand
- `offered`: the choices of a field that only the source knows, such as the tables of a file

`rows.py` needs no file, `jsonl.py` is a typical source of files.
"""
