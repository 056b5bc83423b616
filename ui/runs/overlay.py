"""The overlay of a run on its pipeline: state and counts of every node, kinds of every edge, and what has changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from engine.contract.recorder import ALL
from engine.errors import StudioError
from engine.model.changelog import SYMBOLS
from engine.model.pipeline import Node, Pipeline
from storage.errors import UnknownRun
from storage.library.run_title import RunTitle
from storage.model import Run
from ui.runs.job import Job
from ui.runs.left_out import left_out
from ui.runs.manager import runs
from ui.runs.of_pipeline import runs_of
from ui.runs.operator_lines import OperatorLine, operator_lines
from ui.shell import workspace


@dataclass(frozen=True)
class Overlay:
    """A run of the pipeline on the canvas.

    counts: by node and port, the number of records of each kind, by the kind's sign. marks_ms: while the run goes on,
    the watermark of each source that has one. changed: the nodes that are not as they were when the run started.
    has_new_settings: the same for the options and the order of arrival. others: further runs of the pipeline that go
    on. left_out: the number of nodes that the run is without.
    """

    run: Run
    job: Job | None
    lines: Mapping[str, OperatorLine]
    counts: Mapping[tuple[str, str], Mapping[str, int]]
    marks_ms: Mapping[str, int] = field(default_factory=dict)
    changed: frozenset[str] = frozenset()
    has_new_settings: bool = False
    others: tuple[RunTitle, ...] = ()
    left_out: int = 0

    @property
    def goes_on(self) -> bool:
        """Whether the run goes on."""
        return self.run.goes_on

    @property
    def signature(self) -> tuple[object, ...]:
        """Changes whenever something would be drawn differently."""
        phase = self.job.progress.phase if self.job is not None else ""
        live = self.job.progress.live if self.job is not None else None
        lines = self.lines.values()
        shown = tuple((line.node, line.state, line.records_in, line.records_out, line.held) for line in lines)
        state = live.state if live is not None else ""
        return self.run.run_id, self.run.status, self.run.epochs_done, phase, state, shown, self.others


def overlay(pipeline: Pipeline, identity: str, run_id: int | None) -> Overlay | None:
    """The overlay of a run; None if it is not of this pipeline."""
    store = workspace.store()
    try:
        run = store.runs.get(run_id) if run_id is not None else None
    except UnknownRun:
        return None
    if run is None or run.identity != identity:
        return None
    job = runs().job(run.run_id)
    began = _document(store.runs.composed(run.run_id))
    return Overlay(
        run,
        job,
        {line.node: line for line in operator_lines(run, job)},
        {
            (edge.node, edge.port): {SYMBOLS[kind]: number for kind, number in edge.counts.items()}
            for edge in store.runs.edges(run.run_id)
            if edge.share == ALL
        },
        store.current_watermarks.of_sources(run.run_id) if run.goes_on else {},
        frozenset(node.id for node in pipeline.nodes if _meaning(pipeline, node.id) != _meaning(began, node.id)),
        (pipeline.options, pipeline.arrival) != (began.options, began.arrival),
        tuple(title for title in runs_of(identity) if title.goes_on and title.run_id != run.run_id),
        len(left_out(began)),
    )


def _meaning(pipeline: Pipeline, node_id: str) -> tuple[object, ...] | None:
    """What a node does, without its place; None if there is no such node."""
    node: Node | None = next((node for node in pipeline.nodes if node.id == node_id), None)
    if node is None:
        return None
    inputs = [(edge.target_port, edge.source, edge.source_port) for edge in pipeline.inputs(node_id)]
    return node.operator, node.parameters, sorted(inputs)


@lru_cache(maxsize=32)
def _document(text: str) -> Pipeline:
    try:
        return Pipeline.from_json(text)
    except StudioError:
        return Pipeline()
