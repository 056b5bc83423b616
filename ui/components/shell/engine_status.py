"""A quiet note while Spark starts, and a clear one where it cannot."""

from __future__ import annotations

import streamlit as st

from ui.export.record import aside
from ui.shell.engine_gate import GateStatus, gate
from ui.shell.guard import as_sentence


def start_engine() -> None:
    """Warm Spark up from the first page on; where it cannot start, say why."""
    spark_gate = gate()
    if spark_gate.error is not None:
        st.error(as_sentence(spark_gate.error), icon=":material/power_off:")
        st.button("Try again", on_click=spark_gate.retry, icon=":material/refresh:")


def engine_note(at_first: GateStatus) -> None:
    """A note at the foot of the window: Spark is starting. The page is drawn again once it has started.

    at_first: how far Spark was as the page began. It may have started since, when half of the page had seen that it
    had not: a check that waits for it, say.
    """
    if at_first is GateStatus.STARTING:
        _starting()


@st.fragment(run_every=1.0)
def _starting() -> None:
    if gate().status is not GateStatus.STARTING:
        st.rerun()
    with aside(), st.container(key="engine-note"):
        st.caption(":material/hourglass_top: Spark is starting, this takes a few seconds. You can already look around.")
