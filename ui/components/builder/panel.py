"""The panel beside the canvas: the form of the selected node or edge; without a selection, the pipeline's settings."""

from __future__ import annotations

import streamlit as st

from engine.planner import Check
from ui.builder.drafting import Drafting
from ui.builder.editing import edge_at
from ui.components.builder.bench import bench
from ui.components.builder.inspector import edge_inspector, node_actions, node_inspector
from ui.components.builder.pipeline_form import pipeline_form
from ui.components.grip import panel_grip
from ui.shell import words
from ui.shell.guard import guarded


def panel(drafting: Drafting, verdict: Check) -> None:
    """Draw the panel, unless it is closed."""
    opened = bench()
    if not opened.is_panel_open(drafting):
        return
    edge = edge_at(drafting.pipeline, drafting.selection or "")
    node = next((each for each in drafting.pipeline.nodes if each.id == drafting.selection), None)
    with st.container(key="bench-panel"):
        close = guarded(lambda: opened.close_panel(drafting))
        panel_grip(on_close=close)
        with st.container(key="bench-panel-head", horizontal=True, vertical_alignment="center", gap="xsmall"):
            ends = f"{edge.source} → {edge.target}" if edge is not None else "Pipeline"
            st.markdown(f"**{words.escaped(node.id if node is not None else ends)}**", width="content")
            st.space("stretch")
            if node is not None:
                node_actions(drafting, node)
            st.button(
                "Close the form",
                key="bench-close",
                icon=":material/close:",
                type="tertiary",
                on_click=close,
                help="Esc",
            )
        if node is not None:
            node_inspector(drafting, node, verdict)
        elif edge is not None:
            edge_inspector(drafting, edge, verdict)
        else:
            if not drafting.pipeline.nodes:
                st.caption("Add a source to begin: drag it from the palette, or press A on the canvas.")
            pipeline_form(drafting)
