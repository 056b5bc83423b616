"""The command that writes the output of a run to a file.

    python -m engine export 12 totals.parquet --edge totals           the changelog of a node
    python -m engine export 12 totals.sqlite --edge totals --as-of 40  the table after event 40
    python -m engine export 12 s3://results/totals/ --partition-by day Parquet files in a new folder, as in Hive

The file's ending determines the format: .csv, .jsonl, .parquet, .duckdb, .sqlite, or .debezium.jsonl for Debezium
JSON; .csv.gz and .jsonl.gz are compressed. What ends in a slash, or is partitioned, is a folder of this machine or of
a bucket. An existing file is never overwritten.
"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any, Final

from engine.command_line.arguments import count
from engine.command_line.edges import chosen_edge
from engine.contract.target import Unreachable
from engine.errors import PipelineError, TargetError
from engine.reading.files.storage import is_uri
from engine.scratch import scratch
from engine.writing import partitions
from engine.writing.folders import place_of

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
    command.add_argument("file", metavar="FILE", help=f"a new file: {', '.join(_FORMATS)}; or a new folder/, s3://.../")
    command.add_argument("--partition-by", metavar="COLUMNS", help="a folder for each value of these: day,country")
    command.add_argument("--edge", metavar="NODE", help="this output (NODE or NODE.late) instead of the sink's")
    command.add_argument("--as-of", type=count, metavar="EVENT", help="the table after this event")
    command.add_argument("--format", choices=list(_FORMATS.values()), help="default: by the ending of the file")
    command.add_argument("--store", type=Path, metavar="FILE", help="the DuckDB file that keeps the run")


def export(args: Namespace, store: Any) -> str:
    """Write the file. Returns a sentence about its content. Raises PipelineError, StoreError."""
    if not (args.partition_by or args.file.endswith("/") or is_uri(args.file)):
        path = Path(args.file)
        if path.exists():
            message = f"{path} already exists. Name a new file."
            raise PipelineError(message)
        return _written(args, store, path, args.format or _format_of(path)) + f" in {path}."
    if args.format not in (None, "parquet"):
        message = f"A folder gets Parquet files, not {args.format}. Leave --format out, or name a file."
        raise PipelineError(message)
    by = [name.strip() for name in (args.partition_by or "").split(",") if name.strip()]
    with scratch("export") as folder:
        said = _written(args, store, folder / "whole.parquet", "parquet")
        try:
            files = partitions.export(folder / "whole.parquet", place_of(args.file, Path()), by)
        except Unreachable as error:
            raise TargetError(str(error)) from error
    return f"{said} in {files} file{'s' * (files != 1)} below {args.file}."


def _written(args: Namespace, store: Any, path: Path, format_: str) -> str:
    """Write one file, and say what it has."""
    store.runs.get(args.run)
    node, port = _edge(args.edge, store.runs.edges(args.run))
    if args.as_of is None:
        written = store.changelog.export(args.run, node, path, port, format=format_)
        return f"{written} record{'s' * (written != 1)} of {node}"
    written = store.changelog.export_table(args.run, node, args.as_of, path, port, format=format_)
    return f"{written} row{'s' * (written != 1)} of {node} after event {args.as_of}"


def _format_of(path: Path) -> str:
    name = path.name.lower().removesuffix(".gz")
    file_format = next((format_ for ending, format_ in _FORMATS.items() if name.endswith(ending)), None)
    if file_format is None or (path.suffix == ".gz" and file_format not in ("csv", "json", "debezium")):
        message = f"{path.name} does not say its format. End it in one of {', '.join(_FORMATS)}, or set --format."
        raise PipelineError(message)
    return file_format


def _edge(wanted: str | None, edges: Any) -> tuple[str, str]:
    outputs: dict[str, list[str]] = {}
    for edge in edges:
        outputs.setdefault(edge.node, []).append(edge.port)
    return chosen_edge(wanted, outputs, [edge.node for edge in edges if edge.role == "sink"])
