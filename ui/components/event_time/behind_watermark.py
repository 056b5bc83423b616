"""Records behind the watermark that lost something, late or not, and the delay with which none comes so."""

from __future__ import annotations

import streamlit as st

from storage.model import Run
from ui.components.event_time.late_link import try_delay
from ui.shell import words, workspace


def behind_watermark(run: Run, node: str | None) -> None:
    """Draw them for each interval join, or for the one from whose point of view the page is seen."""
    what_if = workspace.store().what_if
    for operator in what_if.operators(run.run_id):
        behind = what_if.behind(run.run_id, operator) if node in (None, operator.node) else None
        if behind is None or not (number := behind.lost(operator.delay_ms)):
            continue
        # What is needed is a delay with which the watermark is 1 ms before the record.
        most = words.duration(max(behind.lossless_ms - 1 - operator.delay_ms, 0))
        name = words.escaped(operator.node)
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(
                f"**{words.count(number, 'record')} came behind the watermark** of {name}, by at most {most}: late or "
                "not, such a record may miss partners that were let go.",
                width="content",
            )
            st.button(
                f"Try a delay of {words.duration(behind.lossless_ms)}",
                key=f"behind-{operator.node}",
                icon=":material/tune:",
                on_click=try_delay,
                args=(run.run_id, operator.node, behind.lossless_ms),
            )
