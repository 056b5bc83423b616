"""A live run in figures: the rate of events, the duration of epochs, the watermark, the dropped records."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

import streamlit as st

from engine.model.timeline import MAX_WATERMARK
from storage import Store
from storage.model import Epoch, Run
from ui.runs.job import Job
from ui.runs.manager import runs
from ui.shell import words, workspace

_EPOCHS: Final = 60
_BARS: Final = 20
_RECENT_S: Final = 10.0
_SHORTEST_S: Final = 0.1
# Beyond this distance, event time is made up or historical, and the watermark's distance from now has no meaning.
_NEAR_MS: Final = 30 * 86_400_000
_STATES: Final = {"running": "running an epoch", "waiting": "waiting for records", "paused": "paused"}


def live_figures(store: Store, run: Run, job: Job) -> None:
    """Draw the figures in a row, and below it the status of the sources."""
    epochs = store.runs.epochs(run.run_id, last=_EPOCHS)
    progress = job.progress.live
    with st.container(horizontal=True):
        st.metric(
            "Events",
            f"{run.last_seq:,}",
            f"{current_rate(run.run_id):,.0f} per second {bars([epoch.events for epoch in epochs])}",
            delta_color="off",
            delta_arrow="off",
            border=True,
            height="stretch",
        )
        st.metric(
            "Epochs",
            f"{run.epochs_done:,}",
            f"the last took {words.elapsed(progress.epoch_seconds)}" if progress and progress.epoch_seconds else None,
            delta_color="off",
            delta_arrow="off",
            border=True,
            height="stretch",
        )
        if _has_event_time(store, run):
            mark = store.current_watermarks.of(run.run_id) if run.last_seq else None
            _time_figures(run, words.instant(mark, store.runs.zone(run.run_id)), _behind(mark))
    if progress is None:
        return
    st.caption(_STATES.get(progress.state, progress.state))
    for name, source in progress.sources.items():
        conditions = {
            "has ended": source.is_ended,
            f"has more: {source.behind}": source.behind and not source.is_ended,
            "is idle: it does not hold back the watermark until records arrive": source.is_idle and not source.is_ended,
            "waits for the watermarks of its alignment group": source.is_waiting,
        }
        for what in (what for what, is_so in conditions.items() if is_so):
            st.caption(f"**{words.escaped(name)}** {what}")
        for note in source.notes:
            st.warning(f"**{words.escaped(name)}**: {words.escaped(note)}", icon=":material/info:")


def bars(numbers: Sequence[int]) -> str:
    """The last numbers as bars of text, the largest the highest. A chart of Vega warns in the browser's console."""
    last = numbers[-_BARS:]
    most = max(last, default=0)
    return "".join("▁▂▃▄▅▆▇█"[7 * number // most if most else 0] for number in last)


def _has_event_time(store: Store, run: Run) -> bool:
    """Whether any source has an event time: without one, there is no watermark, and nothing is late."""
    stored = store.runs.stored(run.run_id)
    return not stored.is_begun or bool(stored.timed_sources)


def _time_figures(run: Run, mark: str, behind: str | None) -> None:
    st.metric(
        "Watermark",
        mark,
        behind,
        delta_color="off",
        delta_arrow="off",
        border=True,
        height="stretch",
    )
    st.metric(
        "Dropped",
        f"{run.dropped:,}",
        " · ".join(_shares(run)) or None,
        delta_color="off",
        delta_arrow="off",
        border=True,
        height="stretch",
    )


def _shares(run: Run) -> Iterator[str]:
    if run.dropped and run.last_seq:
        yield f"{run.dropped / run.last_seq:.1%} of the events"
    if run.used:
        yield f"{run.used:,} late but used"


def current_rate(run_id: int) -> float:
    """Events per second of a live run, over the last seconds."""
    job = runs().job(run_id)
    live = job.progress.live if job is not None else None
    epochs = workspace.store().runs.epochs(run_id, last=_EPOCHS)
    return rate(epochs, datetime.now(UTC).replace(tzinfo=None), live.epoch_seconds if live is not None else 0.0)


def rate(epochs: Sequence[Epoch], now: datetime, epoch_s: float = 0.0) -> float:
    """Events per second over the last 10 seconds, or over two epochs if an epoch takes longer; 0 once none comes.

    An epoch has the events since the one before it, so the first one does not count. now: UTC. epoch_s: how long the
    last epoch took.
    """
    window_s = max(_RECENT_S, 2 * epoch_s)
    ages_s = [(now - epoch.committed_at).total_seconds() for epoch in epochs]
    recent = next((at for at, age_s in enumerate(ages_s) if at and age_s <= window_s), None)
    if recent is None:
        return 0.0
    # Two commits of the same moment make no infinite rate.
    since_s = max(min(ages_s[recent - 1], window_s), _SHORTEST_S)
    return sum(epoch.events for epoch in epochs[recent:]) / since_s


def _behind(mark: int | None) -> str | None:
    if mark is None or mark == MAX_WATERMARK:
        return None
    distance = int(time.time() * 1000) - mark
    return f"{words.elapsed(distance / 1000)} behind the current time" if 0 <= distance < _NEAR_MS else None
