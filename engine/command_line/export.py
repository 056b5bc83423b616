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
from engine.command_line.edges import chosen_edge
from engine.errors import PipelineError

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
    node, port = _edge(args.edge, store.runs.edges(args.run))
    if args.as_of is None:
        written = store.changelog.export(args.run, node, path, port, format=format_)
        return f"{written} record{'s' * (written != 1)} of {node} in {path}."
    written = store.changelog.export_table(args.run, node, args.as_of, path, port, format=format_)
    return f"{written} row{'s' * (written != 1)} of {node} after event {args.as_of} in {path}."


def _format_of(path: Path) -> str:
    name = path.name.lower().removesuffix(".gz")
    found = next((format_ for ending, format_ in _FORMATS.items() if name.endswith(ending)), None)
    if found is None or (path.suffix == ".gz" and found not in ("csv", "json", "debezium")):
        message = f"{path.name} does not say its format. End it in one of {', '.join(_FORMATS)}, or set --format."
        raise PipelineError(message)
    return found


def _edge(wanted: str | None, edges: Any) -> tuple[str, str]:
    outputs: dict[str, list[str]] = {}
    for edge in edges:
        outputs.setdefault(edge.node, []).append(edge.port)
    return chosen_edge(wanted, outputs, [edge.node for edge in edges if edge.role == "sink"])
