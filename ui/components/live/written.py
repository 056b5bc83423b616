"""What the sinks of a live run have written to places outside of the studio."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from engine.contract.live import Checkpoint
from storage import Store
from storage.model import Run
from ui.runs.job import Job
from ui.shell import words


def written_places(store: Store, run: Run, job: Job | None) -> None:
    """Draw a line for each sink that writes: where to, how many records, up to which epoch, and what is missing."""
    begun = store.runs.live(run.run_id)
    if begun is None:
        return
    outbox = Checkpoint.from_json(begun.checkpoint).outbox if begun.checkpoint else {}
    away = job.progress.away if job is not None and run.goes_on else {}
    # Before the first epoch, a target that does not answer is all that is known.
    for sink in sorted({*outbox, *away}):
        sink_state = outbox.get(sink, {})
        if told := _told(run, sink_state, away.get(sink, "")):
            sentence = f"**{words.escaped(sink)}** {told}"
            if sink in away or (sink_state.get("files") and not run.goes_on):
                st.warning(sentence, icon=":material/file_save:")
            else:
                st.caption(f":material/file_save: {sentence}")


def _told(run: Run, known: Mapping[str, Any], away: str) -> str:
    parts = []
    is_there = not known.get("files")
    if place := known.get("place", ""):
        epoch = known["epoch"] if is_there else known["after"]
        wrote = f"{words.count(known['records'], 'record')}, up to epoch {epoch:,}" if epoch >= 0 else "nothing so far"
        parts.append(f"{'writes' if run.goes_on else 'wrote'} to {words.code(place)}: {wrote}.")
    if away:
        parts.append(f"{words.escaped(away)} The run waits for it.")
    elif not is_there and not run.goes_on:
        parts.append(f"Epoch {known['epoch']:,} is not there yet: it is written when the run is resumed.")
    return " ".join(parts)
