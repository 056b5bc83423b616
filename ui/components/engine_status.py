"""A quiet note while Spark starts, and a clear one where it cannot."""

from __future__ import annotations

import streamlit as st

from ui.engine_gate import GateStatus, gate
from ui.guard import as_sentence


def engine_status() -> None:
    """Warm Spark up from the first page on; say so until it is there, without holding the page up."""
    found = gate()
    match found.status:
        case GateStatus.STARTING:
            _starting()
        case GateStatus.FAILED:
            assert found.error is not None
            st.error(as_sentence(found.error), icon=":material/power_off:")
            st.button("Try again", on_click=found.retry, icon=":material/refresh:")
        case GateStatus.READY:
            pass


@st.fragment(run_every=1.0)
def _starting() -> None:
    if gate().status is not GateStatus.STARTING:
        st.rerun()
    st.caption(":material/hourglass_top: Spark is starting, this takes a few seconds. You can already look around.")
