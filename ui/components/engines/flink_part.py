"""Flink, for checking: whether it is there, and its installation beside the store."""

from __future__ import annotations

import os

import streamlit as st

from engine.flink.environment import ENVIRONMENT, SIZE, VERSION
from engine.flink.process import SESSION
from ui.access.serving import serving
from ui.components.engines.gateway_part import gateway_part
from ui.runs.flink_answers import Installation, can_ask, installation
from ui.shell.guard import as_sentence, guarded, guarded_fragment
from ui.shell.words import code, escaped


def flink_part() -> None:
    """Draw what there is, and the button that installs or removes it."""
    flink = installation()
    with st.container(border=True, key="flink-engine"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown("**Flink, for checking**")
            if flink.python is None and can_ask():
                st.badge("through a SQL Gateway", color="green")
            elif flink.python is None:
                st.badge("not installed", color="gray")
            else:
                st.badge("running" if SESSION.is_running else "installed", color="green")
        st.caption(
            f"Not an engine for runs: a finished run's records go through Flink {VERSION}, and its changelog is "
            "compared with the run's. Press **Ask Flink** on a run. It starts when it is asked and ends when idle. "
            "A SQL Gateway of yours can be asked instead."
        )
        _installed(flink)
        gateway_part(is_installed=flink.python is not None)


def _installed(made: Installation) -> None:
    if made.step is not None:
        _going_on()
        return
    if made.error:
        st.error(as_sentence(made.error), icon=":material/error:")
    if named := os.environ.get(ENVIRONMENT):
        st.caption(f"{ENVIRONMENT} names {code(named)}.")
    elif made.python is not None:
        st.caption(f"In {code(str(made.home))}.")
        st.button("Remove Flink", icon=":material/delete:", key="flink-remove", on_click=guarded(made.remove))
    elif serving().is_shared:
        st.caption("Whoever runs this studio can install it: `python -m engine flink install`.")
    else:
        st.button(
            f"Install Flink ({SIZE})",
            icon=":material/download:",
            key="flink-install",
            on_click=guarded(made.start),
            help="Into an environment of its own beside the store.",
        )


@guarded_fragment(run_every=0.7)
def _going_on() -> None:
    flink = installation()
    if flink.step is None:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f":material/hourglass_top: {escaped(flink.step)}")
        st.button("Cancel", key="flink-install-cancel", on_click=guarded(flink.cancel))
