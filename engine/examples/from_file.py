"""A first pipeline for a dropped file: its rows, the latest row or the number of rows per key, and a sink.

The key and the time are guessed from the columns; every guess can be changed in the builder.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from engine.contract.source import Source
from engine.errors import PipelineError, StudioError
from engine.model.guesses import group_column, key_column, time_column
from engine.model.pipeline import Edge, Node, Pipeline, free_node_id
from engine.model.schema import Schema
from engine.model.types import STRING
from engine.reading.files.input_files import local_file, opened, text_lines
from engine.reading.files.source import FileSource
from engine.reading.files.storage import ending_of, is_packed
from engine.reading.typed.profile import ColumnProfile, TimeProposal
from engine.registry import sources

# A file can be a single line.
_BEGINNING: Final = 64 << 10
_TIME: Final = ("event_time", "event_time_unit", "watermark_delay_ms", "computed")


def readable() -> tuple[str, ...]:
    """The file endings for which a first pipeline can be made. Files of lines can be compressed, too."""
    return tuple(dict.fromkeys(ending for source in sources().values() for ending in source.opens))


def first_pipeline(path: str, folder: Path) -> Pipeline:
    """A pipeline that reads a stored file. Raises PipelineError for an unsupported file type."""
    source, others, unique = _source(path, folder)
    step = _step(others, unique, is_timed="event_time" in source.parameters)
    nodes = [source, *([step] if step else []), Node(id="sink", operator="sink")]
    edges = tuple(Edge(source=a.id, target=b.id) for a, b in zip(nodes, nodes[1:], strict=False))
    name = _title(path)
    return Pipeline(name=name, description=f"Created from the file {Path(path).name}.", nodes=tuple(nodes), edges=edges)


def sources_beside(paths: Sequence[str], folder: Path) -> Pipeline:
    """A pipeline of sources that read stored files, to be joined or united. Raises PipelineError as above."""
    pipeline = Pipeline(
        name=" and ".join(map(_title, paths)),
        description=f"Created from the files {', '.join(Path(path).name for path in paths)}.",
    )
    for path in paths:
        source = source_of(path, folder)
        named = source.model_copy(update={"id": free_node_id(pipeline, source.id)})
        pipeline = pipeline.model_copy(update={"nodes": (*pipeline.nodes, named)})
    return pipeline


def source_of(path: str, folder: Path, cls: type[Source] | None = None) -> Node:
    """The source that reads a stored file, with types and event time. Raises PipelineError for other file types.

    cls: the kind of source; otherwise the first that opens such a file.
    """
    return _source(path, folder, cls)[0]


def _source(path: str, folder: Path, cls: type[Source] | None = None) -> tuple[Node, Schema | None, frozenset[str]]:
    """The node that reads a file, its columns other than the time, if they are known, and those of unique values."""
    ending, first_line = ending_of(path), _first_line(folder / path)
    known = [source for source in sources().values() if ending in source.opens]
    cls = cls or next((source for source in known if source.begins_with(first_line)), known[0] if known else None)
    if cls is None:
        message = (
            f"{Path(path).name} is not a file type that the studio reads; it reads {', '.join(sorted(readable()))}."
        )
        raise PipelineError(message)
    parameters = dict(cls.parameters_for(path, first_line))
    columns, proposals = _profile(cls, parameters, folder)
    if proposals:
        parameters |= proposals[0].parameters
    if types := {column.name: column.proposed.flink for column in columns if column.proposed != column.type}:
        parameters["types"] = types
    schema = _schema(cls, {name: value for name, value in parameters.items() if name not in _TIME}, folder)
    time = proposals[0].column if proposals else time_column(schema)
    if time is not None:
        parameters.setdefault("event_time", time)
    node = Node(id=free_node_id(Pipeline(), _title(path)), operator=cls.operator, parameters=parameters)
    others = schema and Schema(tuple(column for column in schema if column.name != time))
    return node, others, frozenset(column.name for column in columns if column.is_unique)


def _title(path: str) -> str:
    """The name of a file without its endings."""
    return Path(Path(path).stem if is_packed(path) else path).stem


def _first_line(path: Path) -> str:
    """The first line of a file, or its beginning if that is long; "" if it cannot be read."""
    try:
        with opened(local_file(path, path.name), "file") as stream:
            return next(text_lines(io.BytesIO(stream.read(_BEGINNING))), "")
    except (OSError, StudioError):
        return ""


def _profile(
    cls: type[Source], parameters: Mapping[str, Any], folder: Path
) -> tuple[Sequence[ColumnProfile], Sequence[TimeProposal]]:
    """The columns with the types that almost all of their values have, and those that can be the event time."""
    try:
        source = cls.model_validate(dict(parameters))
        return source.profile("file", folder) if isinstance(source, FileSource) else ((), ())
    except StudioError:
        return (), ()


def _schema(cls: type[Source], parameters: Mapping[str, Any], folder: Path) -> Schema | None:
    try:
        return cls.model_validate(dict(parameters)).derive("file", folder).schema
    except StudioError:
        # The builder shows the file's error at the node.
        return None


def _step(columns: Schema | None, unique: frozenset[str], *, is_timed: bool) -> Node | None:
    if columns is None or unique.issuperset(columns.names):
        return None
    shared = Schema(tuple(column for column in columns if column.name not in unique))
    has_groups = any(column.type == STRING for column in shared)
    key, group = key_column(columns), group_column(shared if has_groups else columns)
    if key is None or group is None:
        return None
    if is_timed and key.lower().endswith(("id", "key")):
        return Node(id="latest", operator="deduplicate", parameters={"keys": [key], "keep": "last"})
    aggregates = [{"function": "COUNT", "name": "rows"}]
    return Node(id="counts", operator="aggregate", parameters={"group_by": [group], "aggregates": aggregates})
