"""Compose a pipeline: the drawn graph, the selected node's form, and what the planner makes of it."""

import streamlit as st

from ui.checking import checked, errors_by_node, modes
from ui.components.build_bar import build_bar
from ui.components.graph import draw_graph
from ui.components.graph_svg import Marks
from ui.components.inspector import edge_inspector, node_inspector, select
from ui.components.palette import add_button
from ui.components.plan_tabs import plan_tabs
from ui.components.start_here import start_here
from ui.drafting import Drafting, current
from ui.editing import edge_at
from ui.state import state


def build(drafting: Drafting) -> None:
    """The bar, the graph, and below it the form beside the plan."""
    pipeline = drafting.pipeline
    found = checked(pipeline)
    build_bar(drafting, found)
    with st.container(border=True):
        draw_graph(pipeline, Marks(modes(found), errors_by_node(found), selected=state.selection), "graph", select)
        add_button(drafting, found)
    form, plan = st.columns([6, 5], gap="large")
    edge = edge_at(pipeline, state.selection or "")
    node = next((each for each in pipeline.nodes if each.id == state.selection), None)
    with form:
        if node is not None:
            node_inspector(drafting, node, found)
        elif edge is not None:
            edge_inspector(drafting, edge, found)
        else:
            st.caption("Add a source to begin. Select a node or an edge in the picture to see and change it.")
    with plan:
        plan_tabs(found, {each.id for each in pipeline.nodes}, node.id if node else edge.source if edge else "")


drafting = current()
if drafting is None:
    start_here()
else:
    build(drafting)
