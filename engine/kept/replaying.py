"""A pipeline on kept records: in this process, or on an engine as a run of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from engine.contract.frames import SEQ, STEP, late_ddl
from engine.contract.operator import OUT
from engine.contract.source import Source
from engine.errors import PipelineError, RunFailed, StudioError, unknown_name
from engine.expressions.analyzer import TypeRules
from engine.kept.answers import Output
from engine.local import Events, LocalRun, Spark
from engine.local.sources import read
from engine.model.changelog import INSERT, SYMBOLS
from engine.model.durations import moment
from engine.model.pipeline import Pipeline
from engine.model.printing import json_value
from engine.model.schema import Schema
from engine.planner import Plan, plan
from engine.recordings import on_recordings
from engine.registry import configured
from engine.running import Finished, finished
from engine.runtime.edges.records import together
from engine.spark.failures import failure_sentence

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class OnEngine:
    """Where a test runs: on an engine, as every run does."""

    spark: SparkSession


@dataclass(frozen=True)
class InProcess:
    """Where a test runs: in this process. spark: only used for expressions that Arrow cannot evaluate."""

    spark: Spark


Place = InProcess | OnEngine


LATE: Final = "late"
"""`NODE.late`: the second output of that name, else the node's entries in the late ledger."""
_LEDGER: Final = (
    *("event_time_ms", "window_start_ms", "window_end_ms", "watermark_ms", "lateness_ms", "reason", "is_dropped"),
)
_MOMENTS: Final = {
    "event_time_ms": "event_time",
    "window_start_ms": "window_start",
    "window_end_ms": "window_end",
    "watermark_ms": "watermark",
}


@dataclass(frozen=True)
class _Edge:
    """An output of a plan. row_key: of its table. schema: None if it is the late ledger."""

    node: str
    port: str
    schema: Schema | None
    row_key: tuple[str, ...] | None


def outputs(
    pipeline: Pipeline, recordings: Mapping[str, Path], edges: Sequence[str], folder: Path, place: Place
) -> dict[str, Output]:
    """The outputs of a pipeline on these recordings, by edge. folder: the base of paths. Raises StudioError."""
    on_kept = on_records(pipeline, recordings, folder)
    try:
        if isinstance(place, OnEngine):
            with finished(on_kept, place.spark, folder) as job:
                return {edge: _on_engine(job, at) for edge, at in _edges(edges, job.plan).items()}
        planned = plan(on_kept, TypeRules(), folder)
        return outputs_of(planned, read(planned, place.spark, folder), edges, place.spark)
    except StudioError:
        raise
    except Exception as error:
        raise RunFailed(failure_sentence(error)) from error


def outputs_of(planned: Plan, events: Mapping[str, Events], edges: Sequence[str], spark: Spark) -> dict[str, Output]:
    """The outputs of a plan over these events of its sources, in this process. Raises StudioError."""
    run = LocalRun(planned, events, spark)
    return {edge: _in_process(run, at) for edge, at in _edges(edges, planned).items()}


def on_records(pipeline: Pipeline, recordings: Mapping[str, Path], folder: Path) -> Pipeline:
    """The pipeline over the recordings. Raises PipelineError if its sources are others."""
    names = [node.id for node in pipeline.nodes if isinstance(configured(node), Source)]
    for missing in [name for name in recordings if name not in names]:
        message = f"the test has records of a source that the pipeline lacks: {unknown_name('source', missing, names)}."
        raise PipelineError(message)
    for added in [name for name in names if name not in recordings]:
        message = "the test has no records of this source. Keep a new test of a run that has it."
        raise PipelineError(message, added)
    try:
        return on_recordings(pipeline, recordings, folder)
    except (OSError, ValueError) as error:
        message = f"the records of a source cannot be read: {error}."
        raise PipelineError(message) from error


def _edges(wanted: Sequence[str], planned: Plan) -> dict[str, _Edge]:
    """The outputs by name. Raises PipelineError."""
    edges = {node.id: _Edge(node.id, OUT, node.schema, node.row_key) for node in planned.nodes}
    edges |= {f"{node.id}.{LATE}": _Edge(node.id, LATE, None, None) for node in planned.nodes if node.inputs}
    for node in planned.nodes:
        edges |= {
            f"{node.id}.{port}": _Edge(node.id, port, derived.schema, None) for port, derived in node.second.items()
        }
    for edge in wanted:
        if edge not in edges:
            message = f"the test expects an output that the pipeline lacks: {unknown_name('output', edge, edges)}."
            raise PipelineError(message)
    return {edge: edges[edge] for edge in wanted}


def _in_process(run: LocalRun, at: _Edge) -> Output:
    if at.schema is not None:
        return Output.of(run.records(at.node, at.port), at.schema, at.row_key)
    return _ledger([(late.seq, late.step, *(getattr(late, name) for name in _LEDGER)) for late in run.lates(at.node)])


def _on_engine(job: Finished, at: _Edge) -> Output:
    if at.schema is not None:
        records = together(job.spark, at.schema, job.output.records(at.node, at.port)).orderBy(SEQ, STEP)
        return Output.of(records.toArrow(), at.schema, at.row_key)
    if not (files := job.output.late):
        return _ledger([])
    ledger = job.spark.read.schema(late_ddl("node", "seq", "step", *_LEDGER)).parquet(*files)
    entries = ledger.filter(ledger["node"] == at.node).drop("node").collect()
    return _ledger([(int(row[0]), bytes(row[1]), *row[2:]) for row in entries])


def _ledger(entries: Sequence[tuple[Any, ...]]) -> Output:
    """Entries, each after the position of its record, as an output that only inserts. Its times are for people."""
    ordered = sorted(entries, key=lambda entry: (*entry[:2], entry[3] or 0))
    records = [(seq, SYMBOLS[INSERT], *map(_shown, _LEDGER, values)) for seq, _, *values in ordered]
    return Output(tuple(_MOMENTS.get(name, name) for name in _LEDGER), tuple(records))


def _shown(name: str, value: Any) -> Any:
    return json_value(moment(value)) if name in _MOMENTS else value
