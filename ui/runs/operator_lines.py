"""The operators of a run: state, records in and out, dropped, late but used, and rejected records, time, error."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import StudioError
from engine.model.pipeline import Pipeline
from storage.event_time.held_states import HeldPoint
from storage.model import Run, RunStatus
from ui.runs.job import Job
from ui.shell import workspace


@dataclass(frozen=True)
class OperatorLine:
    """One operator of a run. Counts are None if they are unknown. held: its state, after the last epoch."""

    node: str
    operator: str
    state: str
    records_in: int | None = None
    records_out: int | None = None
    dropped: int = 0
    used: int = 0
    rejected: int = 0
    seconds: float | None = None
    error: str = ""
    held: HeldPoint | None = None


def pipeline_of(run: Run) -> Pipeline:
    """The pipeline that ran; an empty one if its document cannot be read."""
    try:
        return Pipeline.from_json(run.document)
    except StudioError:
        return Pipeline()


def operator_lines(run: Run, job: Job | None) -> tuple[OperatorLine, ...]:
    """A line for every operator: from the job while the run executes, else from the store."""
    store = workspace.store()
    counters = store.runs.counters(run.run_id)
    held = {state.node: state.last for state in store.held_states.of_run(run.run_id)}
    pipeline = pipeline_of(run)
    counter_by_node = {counter.node: counter for counter in counters}
    live = dict(job.progress.nodes) if job is not None else {}
    lines: list[OperatorLine] = []
    for node in pipeline.sorted_nodes():
        counter, progress = counter_by_node.get(node.id), live.get(node.id)
        if run.goes_on and not run.is_live and progress is not None:
            sources = [live.get(edge.source) for edge in pipeline.inputs(node.id)]
            inputs = [source.records_out for source in sources if source is not None]
            records_in = sum(n or 0 for n in inputs) if any(n is not None for n in inputs) else None
            records_out = progress.rows_read if progress.records_out is None else progress.records_out
        else:
            records_in = counter.records_in if counter else None
            records_out = counter.records_out if counter else None
        failed = node.id == run.error_node and run.status is RunStatus.FAILED
        lines.append(
            OperatorLine(
                node.id,
                node.operator,
                _state(run, progress.state if progress else "", failed),
                records_in,
                records_out,
                counter.dropped if counter else 0,
                counter.used if counter else 0,
                counter.rejected if counter else 0,
                progress.seconds if progress and progress.seconds else None,
                (progress.error if progress else "") or (run.error if failed else ""),
                held.get(node.id),
            )
        )
    return tuple(lines)


def _state(run: Run, live: str, failed: bool) -> str:
    match run.status:
        case RunStatus.RUNNING | RunStatus.PAUSED:
            return live or "waiting"
        case RunStatus.FINISHED:
            return "done"
        case _ if failed:
            return "failed"
        case _:
            return "done" if live == "done" else "stopped"
