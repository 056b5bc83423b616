"""Whether what a page says of a run is about the whole run, or about its first events only."""

from __future__ import annotations

import streamlit as st

from storage.model import Run, RunStatus
from ui.shell import words

_ENDS = {
    RunStatus.STOPPED: "was stopped there and can be resumed",
    RunStatus.RESUMABLE: "ended there and can be resumed",
    RunStatus.FAILED: "failed there",
    RunStatus.CANCELLED: "was cancelled there",
    RunStatus.INTERRUPTED: "was interrupted there",
}


def so_far(*runs: Run) -> str:
    """Up to which event a total holds, such as `so far, up to event 1,204`; empty if it is about whole runs."""
    short = [run for run in runs if not run.is_whole]
    if not short:
        return ""
    begin = "so far, " if any(run.goes_on for run in short) else ""
    ends = [f"event {run.last_seq:,}" + (f" of run {run.run_id}" if len(runs) > 1 else "") for run in short]
    return f"{begin}up to {' and '.join(ends)}"


def say_so_far(run: Run) -> None:
    """Draw up to which event a page about a run holds; nothing if the run is whole, or has no events."""
    if run.is_whole or not run.last_seq:
        return
    how = "the run goes on" if run.goes_on else f"the run {_ENDS[run.status]}"
    st.caption(f":material/hourglass_top: Up to event {run.last_seq:,}: {how}. All numbers on this page end there.")


def all_clear(sentence: str, *runs: Run) -> None:
    """Draw that there is nothing to report: in green of whole runs, else as so far. Markdown, without a full stop."""
    scope = so_far(*runs)
    if scope:
        st.info(f"{words.capitalized(scope)}: {sentence[:1].lower()}{sentence[1:]}.", icon=":material/hourglass_top:")
    else:
        st.success(f"{sentence}.", icon=":material/check_circle:")
