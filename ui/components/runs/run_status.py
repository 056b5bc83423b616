"""The status of a run as one word, one icon and one colour, and its facts in one line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from engine.contract.recorder import Progress
from storage.library.run_title import RunTitle
from storage.model import Run, RunStatus
from ui.components.runs.ownership import by
from ui.components.runs.so_far import so_far
from ui.runs.job import Job
from ui.shell import words


@dataclass(frozen=True)
class Look:
    """A word, a material icon, a tone of the grid and a colour of Streamlit's Markdown."""

    word: str
    icon: str
    tone: str
    color: str


_QUEUED: Final = Look("queued", ":material/hourglass_empty:", "quiet", "gray")
_LOOKS: Final = {
    RunStatus.RUNNING: Look("running", ":material/progress_activity:", "active", "blue"),
    RunStatus.PAUSED: Look("paused", ":material/pause_circle:", "warn", "orange"),
    RunStatus.STOPPED: Look("stopped", ":material/stop_circle:", "warn", "orange"),
    RunStatus.RESUMABLE: Look("can be resumed", ":material/power_off:", "warn", "orange"),
    RunStatus.FINISHED: Look("finished", ":material/check_circle:", "good", "green"),
    RunStatus.FAILED: Look("failed", ":material/error:", "bad", "red"),
    RunStatus.CANCELLED: Look("cancelled", ":material/cancel:", "warn", "orange"),
    RunStatus.INTERRUPTED: Look("interrupted", ":material/power_off:", "warn", "orange"),
}


def look(run: Run | RunTitle, job: Job | None) -> Look:
    """The look of a run's status; a run that waits for another one is queued."""
    if run.status is RunStatus.RUNNING and job is not None and job.started is None:
        return _QUEUED
    return _LOOKS[run.status]


def seconds(run: Run, job: Job | None) -> float | None:
    """How long the run took or has taken so far; None if that is unknown."""
    if job is not None:
        return job.seconds
    return (run.finished_at - run.started_at).total_seconds() if run.finished_at else None


def read_so_far(progress: Progress) -> str:
    """The rows read so far, and for files the bytes of the total; empty before the first part and after reading."""
    nodes = progress.nodes.values()
    rows = sum(node.rows_read or 0 for node in nodes)
    if not rows or any(node.records_out is not None for node in nodes):
        return ""
    parts = [f"{words.count(rows, 'row')} read"]
    of_files = [node for node in nodes if node.bytes_read and node.bytes_there]
    if of_files:
        read, there = sum(node.bytes_read or 0 for node in of_files), sum(node.bytes_there or 0 for node in of_files)
        parts.append(f"{read / 1e6:,.1f} of {there / 1e6:,.1f} MB")
    return " · ".join(parts)


def when(run: Run | RunTitle) -> str:
    """When the run started, in words."""
    return words.ago(run.started_at)


def facts(run: Run, job: Job | None) -> str:
    """Start, duration, engine, owner, epochs, events and records, as one line of Markdown."""
    took = seconds(run, job)
    parts = [
        f"run {run.run_id}",
        when(run),
        f"{words.elapsed(took)}" if took is not None else "",
        f"on {words.code(run.engine)}" if run.engine else "",
        by(run.made_by).strip(),
        words.count(run.epochs, "epoch") if run.epochs > 1 else "",
        so_far(run) or words.count(run.last_seq, "event"),
        words.count(run.records, "changelog record"),
        f"{run.dropped:,} dropped" if run.dropped else "",
        f"{run.used:,} late but used" if run.used else "",
        words.count(run.rejected, "rejected row") if run.rejected else "",
    ]
    return " · ".join(part for part in parts if part)
