"""Pipelines over recordings: the same pipeline on exactly the input of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from engine.contract.source import Source
from engine.model.changelog import UpdateKind
from engine.model.pipeline import Arrival, Node, Pipeline
from engine.reading.recorded import about
from engine.registry import configured
from engine.sources.recording import Recording


def on_recordings(pipeline: Pipeline, recordings: Mapping[str, Path], folder: Path) -> Pipeline:
    """The pipeline of a run with recordings instead of sources, in the recorded order of arrival.

    recordings: the files, by source. folder: the base of relative paths. Raises PipelineError.
    """
    nodes = tuple(
        _recorded(node, recordings[node.id], folder) if node.id in recordings else node for node in pipeline.nodes
    )
    (run,) = {about(path).run for path in recordings.values()}
    arrival = Arrival(mode="recorded", ends=pipeline.arrival.ends)
    changed = {"nodes": nodes, "arrival": arrival, "name": f"{pipeline.name}, records of run {run}"}
    return pipeline.model_copy(update=changed)


def _recorded(node: Node, path: Path, folder: Path) -> Node:
    """The recording of a source: with the source's watermark; computed columns are recorded."""
    source, recorded = configured(node), about(path)
    assert isinstance(source, Source)
    shown = path.relative_to(folder) if path.is_relative_to(folder) else path
    recording = Recording.model_validate(
        {
            "path": str(shown),
            "updates_by_key": source.update_kind is UpdateKind.ONLY_UPDATE_AFTER,
            "primary_key": recorded.primary_key,
            "event_time": recorded.event_time,
            "event_time_unit": recorded.unit,
            "watermark_delay_ms": source.watermark_delay_ms,
            "watermark_every": source.watermark_every,
            "arrival_column": source.arrives_by,
        }
    )
    parameters = recording.model_dump(mode="json", exclude_defaults=True)
    return node.model_copy(update={"operator": Recording.operator}).with_parameters(parameters)
