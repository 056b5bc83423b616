"""One file per source, found by `engine.registry`. To add one, add a file; no other file changes.

The file ends with `SOURCE = YourClass`, a class derived from `engine.contract.source.Source`; a module without is
something that sources share. It declares:

- its parameters: pydantic fields, whose titles label the form in the browser. Event time, watermark delay and computed
  columns come with the base class
- `derive`: the columns, without Spark. `engine.reading.typed.columns.derive_source` marks the event time and checks the
  names
- `scan`: how Spark's workers read it into Arrow, part by part (`engine.contract.scan`); or `read`, where Spark does
- `head`: the same source with its first rows only, for a preview
- its Flink SQL: `engine.reading.flink_table.create_table`
- `opens`, where it is the usual source of files with some ending

`rows.py` needs no file, `jsonl.py` is a typical source of files.
"""
