"""A new test of a run: its recordings, all or the smallest set that still shows a chosen record."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from engine.contract.frames import KIND, NUMBER, WATERMARK
from engine.errors import PipelineError, shortened
from engine.expressions.analyzer import TypeRules
from engine.kept.answers import Output
from engine.kept.kept_test import SOURCES, KeptTest, write_description
from engine.kept.manifest import Manifest, Wanted
from engine.kept.replaying import InProcess, on_records, outputs, outputs_of
from engine.kept.shrinking import shrunk
from engine.local import Events, Spark
from engine.local.sources import read
from engine.model.pipeline import Pipeline
from engine.planner import plan
from engine.reading.recorded import write_text
from engine.reading.recorded_text import TEXT

MOST: Final = 20_000
"""Events of a run that is kept. A test is read by people, and run while somebody edits."""


@dataclass(frozen=True)
class Chosen:
    """The record of an output that the smallest set of records still has to show: its number in it, from 0."""

    edge: str
    at: int


@dataclass(frozen=True)
class Recorded:
    """A run: its pipeline, with the identity of its runs, and what each source read."""

    pipeline: Pipeline
    recordings: Mapping[str, Path]


def keep(
    run: Recorded,
    wanted: Wanted,
    folder: Path,
    place: InProcess,
    chosen: Chosen | None = None,
    told: Callable[[int], None] = lambda left: None,
) -> KeptTest:
    """Write a test. chosen: keep the smallest set of records that still shows this one. told: how many are left.

    Raises StudioError: the folder exists, there are too many records, or the run is not repeated by them.
    """
    if folder.exists():
        message = f"{shortened(str(folder))} already exists. Name a new folder."
        raise PipelineError(message)
    if (records := sum(pq.read_metadata(path).num_rows for path in run.recordings.values())) > MOST:
        message = f"the run read {records:,} events; a test holds up to {MOST:,}. Keep a run of fewer events."
        raise PipelineError(message)
    only = None if chosen is None else smallest(run, chosen, folder.parent, place.spark, told)
    manifest = Manifest.of(**wanted.model_dump(), sources=tuple(run.recordings))
    staging = folder.with_name(f".{folder.name}.{uuid4().hex}")
    try:
        (staging / SOURCES).mkdir(parents=True)
        for node, path in run.recordings.items():
            write_text(path, staging / SOURCES / f"{node}{TEXT}", only)
        write_description(staging, manifest, run.pipeline)
        test = KeptTest(staging, manifest)
        # What is kept is what the texts give: this shows at once that they can be read.
        got = outputs(run.pipeline, test.recordings(), wanted.edges, staging, place)
        test.accept({edge: output.answer(manifest) for edge, output in got.items()})
        staging.rename(folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return KeptTest(folder, manifest)


def smallest(
    run: Recorded, chosen: Chosen, folder: Path, spark: Spark, told: Callable[[int], None] = lambda left: None
) -> set[int]:
    """The numbers of the fewest source events that still show a record, by kind and values.

    No event could be left out of them. Raises StudioError; PipelineError if the output has no such record.
    """
    planned = plan(on_records(run.pipeline, run.recordings, folder), TypeRules(), folder)
    events = read(planned, spark, folder)

    def output(numbers: Collection[int] | None) -> Output:
        some = events if numbers is None else {name: _only(of_source, numbers) for name, of_source in events.items()}
        return outputs_of(planned, some, [chosen.edge], spark)[chosen.edge]

    records = output(None).records
    if chosen.at >= len(records):
        message = f"{chosen.edge} has {len(records)} records."
        raise PipelineError(message)
    last, *record = records[chosen.at]

    def shows(numbers: list[int]) -> bool:
        return any([*values] == record for _, *values in output({*numbers, *fixed}).records)

    each_number = sorted(number for of_source in events.values() for number in _numbers(of_source, are_idle=False))
    fixed = {number for of_source in events.values() for number in _numbers(of_source, are_idle=True)}
    # What came later did not cause it.
    before = [number for number in each_number if number <= last]
    return {*shrunk(before if shows(before) else each_number, shows, told), *fixed}


def _numbers(events: Events, *, are_idle: bool) -> list[int]:
    """The numbers of events; of those at which a source became idle, or of the others."""
    rows = zip(*(events.table.column(name).to_pylist() for name in (NUMBER, KIND, WATERMARK)), strict=True)
    return [number for number, kind, mark in rows if (kind is None and mark is None) is are_idle]


def _only(events: Events, numbers: Collection[int]) -> Events:
    mask = [number in numbers for number in events.table.column(NUMBER).to_pylist()]
    return replace(events, table=events.table.filter(pa.array(mask, pa.bool_())))
