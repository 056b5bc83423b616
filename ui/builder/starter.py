"""A first pipeline for a file that somebody dropped: its rows, the newest or the number of them per key, a sink.

What is a key and what a time is guessed from the columns; every guess can be changed in the builder.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from engine.contract.source import Source
from engine.errors import PipelineError, StudioError
from engine.model.pipeline import Edge, Node, Pipeline
from engine.model.schema import Column, Schema
from ui.builder.editing import free_id, operator_class
from ui.forms.suggest import key_column

FORMATS: Final[Mapping[str, str]] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_TIME_NAMES: Final = ("event_time", "timestamp", "time", "ts", "rowtime", "created_at", "updated_at", "date")


def starter(path: str, folder: Path) -> Pipeline:
    """A pipeline that reads a kept file. Raises PipelineError for a kind of file that the studio does not read."""
    operator = FORMATS.get(Path(path).suffix.lower(), "")
    cls = operator_class(operator)
    if cls is None or not issubclass(cls, Source):
        known = ", ".join(sorted(suffix for suffix, name in FORMATS.items() if operator_class(name)))
        message = f"{Path(path).name} is no kind of file that the studio reads; it reads {known}."
        raise PipelineError(message)
    parameters: dict[str, Any] = {"path": path}
    if path.lower().endswith(".tsv"):
        parameters["separator"] = "\\t"
    schema = _schema(cls, parameters, folder)
    time = time_column(schema)
    if time is not None:
        parameters["event_time"] = time
    name = Path(path).stem
    source = Node(id=free_id(Pipeline(), name), operator=operator, parameters=parameters)
    step = _step(schema, time)
    nodes = [source, *([step] if step else []), Node(id="sink", operator="sink")]
    edges = tuple(Edge(source=a.id, target=b.id) for a, b in zip(nodes, nodes[1:], strict=False))
    return Pipeline(name=name, description=f"Made from the file {Path(path).name}.", nodes=tuple(nodes), edges=edges)


def time_column(schema: Schema | None) -> str | None:
    """The column that most likely says when it happened: by its type, and then by its name."""
    columns = list(schema or ())
    stamped = [column for column in columns if column.type.startswith("timestamp")]
    named = [column for column in columns if column.type == "bigint" and column.name.lower() in _TIME_NAMES]
    found: list[Column] = [*stamped, *named]
    return found[0].name if found else None


def _schema(cls: type[Source], parameters: Mapping[str, Any], folder: Path) -> Schema | None:
    try:
        return cls.model_validate(dict(parameters)).derive("file", folder).schema
    except StudioError:
        # The builder shows what is wrong with the file, at the node.
        return None


def _step(schema: Schema | None, time: str | None) -> Node | None:
    if schema is None:
        return None
    key = key_column(Schema(tuple(column for column in schema if column.name != time)))
    if key is None:
        return None
    if time is not None and key.lower().endswith(("id", "key")):
        return Node(id="latest", operator="deduplicate", parameters={"keys": [key], "keep": "last"})
    aggregates = [{"function": "COUNT", "name": "rows"}]
    return Node(id="counts", operator="aggregate", parameters={"group_by": [key], "aggregates": aggregates})
