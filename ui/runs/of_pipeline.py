"""The run on the canvas of a pipeline: the chosen one, else one that goes on, else the newest.

Runs belong to a pipeline by its identity, whoever started them: this session, another tab, the command line.
"""

from __future__ import annotations

from typing import Final

import streamlit as st

from storage.library.run_title import RunTitle
from ui.shell import workspace
from ui.shell.state import state

_FOLLOWED: Final = "followed-run"
_SHOWN: Final = 200


def runs_of(identity: str) -> tuple[RunTitle, ...]:
    """The newest runs of a pipeline, newest first."""
    return workspace.store().runs.titles(limit=_SHOWN, identity=identity)


def follow(run_id: int) -> None:
    """Replace this run, once it is open and has ended, by a later one of its pipeline."""
    st.session_state[_FOLLOWED] = run_id


def settle_run(identity: str) -> None:
    """Open a run of the pipeline, without writing the URL. A run of this pipeline that the user has chosen stays."""
    titles = {title.run_id: title for title in runs_of(identity)}
    if not titles:
        return
    opened = titles.get(state.run) if state.run is not None else None
    if opened is None and state.run is not None and workspace.store().runs.belongs(state.run, identity):
        return
    if opened is not None and (opened.goes_on or st.session_state.get(_FOLLOWED) != opened.run_id):
        return
    best = next((title for title in titles.values() if title.goes_on), next(iter(titles.values())))
    if best != opened:
        state.hold(run=best.run_id, edge=None, event=None)
    follow(best.run_id)
