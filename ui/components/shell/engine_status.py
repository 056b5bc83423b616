"""A discreet note while Spark starts, and an error if it cannot start."""

from __future__ import annotations

import streamlit as st

from ui.export.record import aside
from ui.shell.engine_gate import GateStatus, gate
from ui.shell.guard import as_sentence, guarded_fragment


def start_engine() -> None:
    """Start Spark with the first page; if it cannot start, show the reason."""
    spark_gate = gate()
    if spark_gate.error is not None:
        st.error(as_sentence(spark_gate.error), icon=":material/power_off:")
        st.button("Try again", on_click=spark_gate.retry, icon=":material/refresh:")


def engine_note(at_first: GateStatus) -> None:
    """Draw a note at the foot of the window while Spark starts, and rerun the page once it has started.

    at_first: the status when the page began. Spark may have become ready since then, after parts of the page (a check
    that waits for Spark, for example) were drawn without it; so the page is rerun in this case too.
    """
    if at_first is GateStatus.STARTING:
        _starting()


@guarded_fragment(run_every=1.0)
def _starting() -> None:
    if gate().status is not GateStatus.STARTING:
        st.rerun()
    with aside(), st.container(key="engine-note"):
        st.caption(":material/hourglass_top: Spark is starting, this takes a few seconds. You can already look around.")
