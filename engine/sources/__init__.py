"""One file per source, found by `engine.registry`. To add one, add a file; no other file changes.

The file ends with `SOURCE = YourClass`, a class derived from `engine.contract.source.Source`; a module without is
something that sources share. It declares:

- what the palette and documents call it: `operator`, `title`, `summary`
- its parameters: pydantic fields, whose titles label the form in the browser. Event time, watermark delay and computed
  columns come with the base class
- `derive`: the columns, without Spark. `engine.reading.typed.columns.derive_source` marks the event time and checks the
  names. `update_kind`: how a changelog writes updates
- `scan`: how Spark's workers read it into Arrow, part by part (`engine.contract.scan`); or `read`, where Spark does.
  `inputs`: the local files that workers need for it
- `stream`: how a live run reads it (`engine.contract.stream`). By default the whole source is read at once and ends.
  `poll` alone looks at the outside world; `read` must return the same records for the same offsets, as epochs are
  repeated after a failure. `let_go`: what to clean up outside when such a run is deleted. Files that grow use
  `engine.reading.files.growing`, servers `engine.reading.servers.served`
- `server` and `variables`: the address that it contacts and the secrets that it sends. Without consent, only runs
  contact it
- `head`: the same source with its first rows only, for a preview
- its Flink SQL: `flink_sql`, from `engine.reading.flink_table.create_table`
- `opens`, where it is the usual source of files with some ending; `parameters_for` such a file
- `offered`: the choices for a field that only the source knows, such as the tables of a file

`rows.py` needs no file, `jsonl.py` is a typical source of files.
"""
