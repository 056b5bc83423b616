"""The overlay of a run on its pipeline: state and counts of every node, kinds of every edge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.model.changelog import SYMBOLS
from engine.model.pipeline import Pipeline
from storage.errors import UnknownRun
from storage.model import Run
from ui.builder.editing import unplaced
from ui.runs.job import Job
from ui.runs.manager import runs
from ui.runs.operator_lines import OperatorLine, operator_lines, pipeline_of
from ui.shell import workspace


@dataclass(frozen=True)
class Overlay:
    """A run and its operators. counts: by node and port, the number of records of each kind, by the kind's sign."""

    run: Run
    job: Job | None
    lines: Mapping[str, OperatorLine]
    counts: Mapping[tuple[str, str], Mapping[str, int]]

    @property
    def goes_on(self) -> bool:
        """Whether the run goes on."""
        return self.run.goes_on

    @property
    def signature(self) -> tuple[object, ...]:
        """Changes whenever something would be drawn differently."""
        phase = self.job.progress.phase if self.job is not None else ""
        shown = tuple((line.node, line.state, line.records_in, line.records_out) for line in self.lines.values())
        return self.run.run_id, self.run.status, phase, shown


def overlay(pipeline: Pipeline, run_id: int | None) -> Overlay | None:
    """The overlay of a run; None if it ran another pipeline. The positions of nodes make no difference."""
    if run_id is None:
        return None
    store = workspace.store()
    try:
        run = store.runs.get(run_id)
    except UnknownRun:
        return None
    if meaning(pipeline_of(run)) != meaning(pipeline):
        return None
    counters = store.runs.counters(run_id)
    job = runs().job(run_id)
    lines = {line.node: line for line in operator_lines(run, counters, job)}
    counts = {
        (edge.node, edge.port): {SYMBOLS[kind]: number for kind, number in edge.counts.items()}
        for edge in store.runs.edges(run_id)
    }
    return Overlay(run, job, lines, counts)


def meaning(pipeline: Pipeline) -> Pipeline:
    """The pipeline without the parts that do not affect its output: positions of nodes, name and description."""
    return unplaced(pipeline).model_copy(update={"name": "", "description": ""})
