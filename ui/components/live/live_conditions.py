"""The alert conditions of a live run: the form, and the alerts that were raised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import streamlit as st

from storage.library.conditions import DROPPED_SHARE, KINDS, LAG, LATE_SHARE, STANDS, STATE, Warned
from storage.model import Run
from ui.components.event_time.late_link import open_last_late_file
from ui.shell import words, workspace
from ui.shell.guard import guarded
from ui.shell.navigation import go
from ui.shell.state import state

_ASKS: Final[Mapping[str, str]] = {
    DROPPED_SHARE: "Records dropped in the last minute: more than (%)",
    LATE_SHARE: "Late records in the last minute, dropped or used: more than (%)",
    STANDS: "Watermark has not advanced for (seconds)",
    LAG: "Watermark lag behind the current time (seconds)",
    STATE: "Entries of state in all operators: more than",
}
_SHOWN: Final = 5


def _key(run_id: int, kind: str) -> str:
    return f"condition-{kind}-{run_id}"


@guarded
def _set(run_id: int, kind: str) -> None:
    bound = st.session_state.get(_key(run_id, kind))
    workspace.store().conditions.set(run_id, kind, None if bound is None else float(bound))


def condition_choice(run: Run) -> None:
    """Draw the form of the conditions of a live run that goes on."""
    bounds = workspace.store().conditions.of(run.run_id)
    with st.popover("Alerts", icon=":material/notifications:", help="Conditions that raise an alert during the run."):
        for kind in KINDS:
            key = _key(run.run_id, kind)
            # A cleared field stays cleared: the `value` argument would restore it.
            st.session_state.setdefault(key, bounds.get(kind))
            st.number_input(
                _ASKS[kind],
                0.0,
                value=None,
                key=key,
                format="%g",
                placeholder="never",
                on_change=_set,
                args=(run.run_id, kind),
            )
        st.caption("Alerts are kept with the run, each with the event that caused it.")


def warnings_of(run: Run) -> None:
    """Draw the alerts, the latest first, each with a button to its event."""
    for place, alert in enumerate(workspace.store().conditions.warnings(run.run_id, _SHOWN)):
        with st.container(horizontal=True, vertical_alignment="center"):
            show = st.warning if alert.over_at is None else st.info
            show(_sentence(alert), icon=":material/notifications:")
            if not alert.seq:
                continue
            key = f"warned-{run.run_id}-{place}"
            if alert.kind in (DROPPED_SHARE, LATE_SHARE):
                # The event is the one at which the share was counted: the last late record before it is one of them.
                st.button("A late record", key=key, on_click=open_last_late_file, args=(run.run_id, alert.seq))
            elif st.button(f"Event {alert.seq:,}", key=key):
                state.update(run=run.run_id, event=alert.seq)
                go("state" if alert.kind == STATE else "event_time")


def _sentence(each: Warned) -> str:
    value, bound = words.elapsed(each.value), words.elapsed(each.bound)
    what = {
        DROPPED_SHARE: f"{each.value:.1f} % of the events of a minute were dropped, more than {each.bound:g} %",
        LATE_SHARE: f"{each.value:.1f} % of the events of a minute were late (dropped or used), "
        f"more than {each.bound:g} %",
        STANDS: f"the watermark did not advance for {value} (limit: {bound})",
        LAG: f"the watermark lagged {value} behind the current time (limit: {bound})",
        STATE: f"the operators held {each.value:,.0f} entries of state, more than {each.bound:,.0f}",
    }[each.kind]
    over = "" if each.over_at is None else f", until {each.over_at:%H:%M:%S}"
    return f"{each.raised_at:%Y-%m-%d %H:%M:%S} UTC{over}: {what}."
