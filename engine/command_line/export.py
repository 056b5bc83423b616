"""The command that writes the output of a run to a file.

    python -m engine export 12 totals.parquet --edge totals           the changelog of a node
    python -m engine export 12 totals.sqlite --edge totals --as-of 40  the table after event 40

The file's ending determines the format: .csv, .jsonl, .parquet, .duckdb, .sqlite, or .debezium.jsonl for Debezium
JSON; .csv.gz and .jsonl.gz are compressed. An existing file is never overwritten.
"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any, Final

from engine.command_line.arguments import count
from engine.errors import PipelineError, unknown_name

# The longer ending first, since it also ends in the shorter one.
_FORMATS: Final = {
    ".debezium.jsonl": "debezium",
    ".jsonl": "json",
    ".csv": "csv",
    ".parquet": "parquet",
    ".duckdb": "duckdb",
    ".sqlite": "sqlite",
}


def add_export(commands: Any) -> None:
    """Declare the command in the parser."""
    command = commands.add_parser("export", help="write a changelog of a run, or the table after an event, to a file")
    command.add_argument("run", type=count, metavar="RUN", help="the number of the run in the store")
    command.add_argument("file", type=Path, metavar="FILE", help=f"a new file: {', '.join(_FORMATS)}")
    command.add_argument("--edge", metavar="NODE", help="this output (NODE or NODE.late) instead of the sink's")
    command.add_argument("--as-of", type=count, metavar="EVENT", help="the table after this event")
    command.add_argument("--format", choices=list(_FORMATS.values()), help="default: by the ending of the file")
    command.add_argument("--store", type=Path, metavar="FILE", help="the DuckDB file that keeps the run")


def export(args: Namespace, store: Any) -> str:
    """Write the file. Returns a sentence about its content. Raises PipelineError, StoreError."""
    path: Path = args.file
    if path.exists():
        message = f"{path} already exists. Name a new file."
        raise PipelineError(message)
    format_ = args.format or _format_of(path)
    store.runs.get(args.run)
    edge = _edge(args.edge, store.runs.edges(args.run))
    if args.as_of is None:
        written = store.changelog.export(args.run, edge.node, path, edge.port, format=format_)
        return f"{written} record{'s' * (written != 1)} of {edge.node} in {path}."
    written = store.changelog.export_table(args.run, edge.node, args.as_of, path, edge.port, format=format_)
    return f"{written} row{'s' * (written != 1)} of {edge.node} after event {args.as_of} in {path}."


def _format_of(path: Path) -> str:
    name = path.name.lower().removesuffix(".gz")
    found = next((format_ for ending, format_ in _FORMATS.items() if name.endswith(ending)), None)
    if found is None or (path.suffix == ".gz" and found not in ("csv", "json", "debezium")):
        message = f"{path.name} does not say its format. End it in one of {', '.join(_FORMATS)}, or set --format."
        raise PipelineError(message)
    return found


def _edge(wanted: str | None, edges: Any) -> Any:
    """The edge of `NODE` or `NODE.PORT`; by default of the only sink."""
    named = {edge.node if edge.port == "out" else f"{edge.node}.{edge.port}": edge for edge in edges}
    if wanted is not None:
        if wanted not in named:
            message = f"{unknown_name('output', wanted, tuple(named))}."
            raise PipelineError(message)
        return named[wanted]
    sinks = [edge for edge in edges if edge.role == "sink"]
    if len(sinks) != 1:
        message = f"the run has {len(sinks)} sinks; choose an output with --edge: {', '.join(named)}."
        raise PipelineError(message)
    return sinks[0]
