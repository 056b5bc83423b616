"""Engines: where pipelines can run, a test of each, and the default for new runs."""

from __future__ import annotations

import streamlit as st

from ui.components.engines.engine_form import add_button, engine_form, is_adding
from ui.components.engines.engine_list import engine_list
from ui.components.engines.flink_part import flink_part
from ui.components.engines.usage_table import usage_table
from ui.engines.known import known

listed = known()
with st.container(horizontal=True, vertical_alignment="center"):
    st.subheader("Engines", anchor=False, width="content")
    st.space("stretch")
    add_button()
if not any(entry.is_own for entry in listed):
    st.caption(
        "Add another engine to run where the data or more cores are: a Spark cluster, a Spark Connect server, or a "
        "part of this machine."
    )
if is_adding():
    engine_form(None, [entry.engine.name for entry in listed])
engine_list(listed)
flink_part()
usage_table()
