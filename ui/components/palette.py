"""Everything that can be added, by group; what is chosen goes behind the selected node or into the selected edge."""

from __future__ import annotations

from typing import Final

import streamlit as st

from engine.operator import Operator, Source
from engine.planner import Check
from ui.checking import checked, input_schemas
from ui.drafting import Drafting
from ui.editing import add_node, edge_at, insert_on_edge, operator_class, palette, set_parameter
from ui.forms.suggest import suggested
from ui.guard import guarded
from ui.state import state

_HEIGHT_PX: Final = 400


def add_button(drafting: Drafting, found: Check) -> None:
    """A button that opens the palette; its label says where the node will go."""
    where = _where(drafting)
    with st.popover(
        where or "Add a node", icon=":material/add:", key=f"palette|{drafting.key}|{drafting.revision}", width="content"
    ):
        text = st.text_input(
            "Search operators", key=f"search|{drafting.revision}", placeholder="Search: join, csv, top ...",
            label_visibility="collapsed", live="150ms", icon=":material/search:",
        )  # fmt: skip
        groups = {group: [cls for cls in members if _matches(cls, text or "")] for group, members in palette().items()}
        shown = {group: members for group, members in groups.items() if members}
        if not shown:
            st.caption(f"There is no operator with {text!r}.")
        with st.container(height=_HEIGHT_PX, border=False, gap="xsmall"):
            for group, members in shown.items():
                st.caption(group.upper())
                for cls in members:
                    _entry(cls, drafting)


def _entry(cls: type[Operator] | type[Source], drafting: Drafting) -> None:
    button, words = st.columns([2, 5], vertical_alignment="center", gap="small")
    button.button(
        cls.title, key=f"add|{drafting.revision}|{cls.operator}", width="stretch", on_click=guarded(add),
        args=(drafting, cls.operator),
    )  # fmt: skip
    words.caption(cls.summary)


def add(drafting: Drafting, operator: str) -> None:
    """Add a node where the selection says, with values that usually work, and select it."""
    pipeline = drafting.pipeline
    cls = operator_class(operator)
    edge = edge_at(pipeline, state.selection or "")
    selected = next((node.id for node in pipeline.nodes if node.id == state.selection), None)
    if edge is not None:
        grown, node_id = insert_on_edge(pipeline, edge, operator)
    else:
        grown, node_id = add_node(pipeline, operator, selected)
    if cls is not None:
        for name, value in suggested(cls, input_schemas(grown, node_id, checked(grown))).items():
            grown = set_parameter(grown, node_id, name, value)
    drafting.edit(grown)
    state.selection = node_id


def _where(drafting: Drafting) -> str | None:
    pipeline = drafting.pipeline
    if (edge := edge_at(pipeline, state.selection or "")) is not None:
        return f"Insert between {edge.source} and {edge.target}"
    if any(node.id == state.selection for node in pipeline.nodes):
        return f"Add after {state.selection}"
    return None


def _matches(cls: type[Operator] | type[Source], text: str) -> bool:
    words = f"{cls.title} {cls.operator} {cls.summary} {cls.group}".lower()
    return all(part in words for part in text.lower().split())
