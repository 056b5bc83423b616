"""The panel beside the canvas: the form of the selected node, group or edge; else the pipeline's settings."""

from __future__ import annotations

import streamlit as st

from engine.planner import Check
from ui.builder.drafting import Drafting
from ui.builder.editing import edge_at
from ui.builder.grouping import group_of
from ui.components.builder.bench import bench
from ui.components.builder.group_form import group_actions, group_form
from ui.components.builder.inspector import edge_inspector, node_actions, node_inspector
from ui.components.builder.pipeline_form import pipeline_form
from ui.components.grip import panel_grip
from ui.shell import words
from ui.shell.guard import guarded


def panel(drafting: Drafting, verdict: Check) -> None:
    """Draw the panel, if something is selected or the settings are open."""
    opened = bench()
    edge = edge_at(drafting.pipeline, drafting.selection or "")
    node = next((node for node in drafting.pipeline.nodes if node.id == drafting.selection), None)
    selected = group_of(drafting.selection)
    group = next((group for group in drafting.pipeline.groups if group.name == selected), None)
    if node is not None or group is not None or edge is not None:
        opened.shows_settings = False
    elif not opened.shows_settings:
        return
    with st.container(key="bench-panel"):
        close = guarded(lambda: opened.close_panel(drafting))
        panel_grip(on_close=close)
        with st.container(key="bench-panel-head", horizontal=True, vertical_alignment="center", gap="xsmall"):
            ends = f"{edge.source} → {edge.target}" if edge is not None else "Pipeline"
            title = node.id if node is not None else f"Group {group.name}" if group is not None else ends
            st.markdown(f"**{words.escaped(title)}**", width="content")
            st.space("stretch")
            if node is not None:
                node_actions(drafting, node)
            if group is not None:
                group_actions(drafting, group)
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
        elif group is not None:
            group_form(drafting, group)
        elif edge is not None:
            edge_inspector(drafting, edge, verdict)
        else:
            if not drafting.pipeline.nodes:
                st.caption("Add a source to begin: drag it from the palette, or press A on the canvas.")
            pipeline_form(drafting)
