"""The first page: examples, your own files, saved pipelines and recent runs."""

import streamlit as st

from engine.examples import examples
from ui.components.gallery.cards import example_cards
from ui.components.gallery.dropzone import dropzone, import_document, paste
from ui.components.gallery.pipeline_list import draft_list, has_own, pipeline_list
from ui.components.gallery.recent_runs import recent_runs
from ui.components.gallery.start_here import new_pipeline
from ui.shell.navigation import go

st.title("Changelog Studio")
st.markdown(
    "See what a streaming pipeline emits: every **+I**, **-U**, **+U** and **-D** with Apache Flink's "
    "semantics, every late record, and the watermark that decided it. Run an example, drop files, or "
    "paste Flink SQL or rows."
)
drop, new = st.columns([3, 1], vertical_alignment="bottom", gap="large")
with drop, st.container(key="drop"):
    dropzone()
with new:
    if st.button("New pipeline", icon=":material/add:", width="stretch"):
        new_pipeline()
        go("build")
    with st.popover("Paste SQL or rows", icon=":material/content_paste:", width="stretch"):
        paste()
    with st.popover("Import", icon=":material/upload:", width="stretch"):
        import_document()


def _own() -> None:
    saved, runs = st.columns(2, gap="large")
    with saved:
        st.header("Your pipelines")
        pipeline_list()
        draft_list()
    with runs:
        st.header("Recent runs")
        recent_runs()


# Users who have pipelines come for these.
is_own_first = has_own()
if is_own_first:
    _own()
st.header("Examples")
example_cards(tuple(examples().values()))
if not is_own_first:
    _own()
