"""The selected node or edge: its name, its connections, its form; everything changes as one types."""

from __future__ import annotations

from typing import Final

import streamlit as st

from engine.operator import Source
from engine.pipeline import Edge, Node
from engine.planner import Check
from ui.checking import edge_reason, input_schemas, output_schema
from ui.components.schema_table import schema_table
from ui.drafting import Drafting
from ui.editing import (
    connect,
    delete_node,
    descendants,
    disconnect,
    duplicate_node,
    edge_key,
    operator_class,
    rename_node,
    takes_many,
)
from ui.forms.binding import FormContext
from ui.forms.complaints import complaints_of
from ui.forms.fields import draw_field, show_complaints
from ui.forms.spec import fields_of
from ui.guard import as_sentence, guarded
from ui.state import state
from ui.theme import mode_badges, muted

_FOLD_ABOVE: Final = 8
_SHOWN: Final = 5


def select(name: str | None) -> None:
    """Select a node (by id) or an edge (by key)."""
    state.selection = name


def node_inspector(drafting: Drafting, node: Node, found: Check) -> None:
    """Name, connections and form of a node."""
    cls = operator_class(node.operator)
    key = f"{drafting.key}|{drafting.revision}|{node.id}"
    name, actions = st.columns([3, 2], vertical_alignment="bottom")
    name.text_input(
        "Name of the node", node.id, key=f"id|{key}", on_change=guarded(_rename),
        args=(drafting, node.id, f"id|{key}"),
    )  # fmt: skip
    with actions, st.container(horizontal=True, horizontal_alignment="right", gap="xsmall"):
        st.button(
            "Duplicate", key=f"twin|{key}", icon=":material/content_copy:", type="tertiary",
            on_click=guarded(_duplicate), args=(drafting, node.id),
        )  # fmt: skip
        st.button(
            "Delete", key=f"del|{key}", icon=":material/delete:", type="tertiary", on_click=guarded(_delete),
            args=(drafting, node.id), help="Its consumers take what it took. Undo brings it back.",
        )  # fmt: skip
    if cls is None:
        for problem in found.of(node.id):
            st.error(as_sentence(problem.sentence))
        return
    st.caption(f"**{cls.title}**: {cls.summary}")
    _connections(drafting, node, cls.ports, key)
    complaints = complaints_of(cls, node.parameters, found.of(node.id))
    above = st.container()
    form = FormContext(
        drafting, node, input_schemas(drafting.pipeline, node.id, found), complaints, output_schema(node, found)
    )
    own = [field for field in fields_of(cls) if not (issubclass(cls, Source) and field.name in Source.model_fields)]
    # What most people never touch is folded away, unless somebody has touched it or it is wrong.
    folded = own[_SHOWN:] if len(own) > _FOLD_ABOVE else []
    for field in own[: len(own) - len(folded)]:
        draw_field(field, form)
    if folded:
        is_touched = any(field.name in node.parameters or complaints.has(field.name) for field in folded)
        with st.expander("More settings", expanded=is_touched):
            for field in folded:
                draw_field(field, form)
    if issubclass(cls, Source):
        _time(form, cls)
    with above:
        show_complaints(complaints.rest())


def _time(form: FormContext, cls: type[Source]) -> None:
    st.markdown("**Event time and watermark**")
    shared = [field for field in fields_of(cls) if field.name in Source.model_fields]
    columns = st.columns(2)
    for at, field in enumerate(shared):
        with columns[at % 2]:
            draw_field(field, form)


def _connections(drafting: Drafting, node: Node, ports: tuple[str, ...], key: str) -> None:
    """A picker per input port: what can flow in without making a cycle."""
    pipeline = drafting.pipeline
    below = descendants(pipeline, node.id) | {node.id}
    options = [
        each.id
        for each in pipeline.nodes
        if each.id not in below and getattr(operator_class(each.operator), "role", "operator") != "sink"
    ]
    for port, column in zip(ports, st.columns(max(1, len(ports))), strict=False):
        edges = [edge for edge in pipeline.inputs(node.id) if edge.target_port == port]
        sources = [edge.source for edge in edges]
        title = "Input" if len(ports) == 1 else f"Input: {port}"
        widget = f"port|{key}|{port}"
        with column:
            if takes_many(node):
                st.multiselect(
                    title, [*options, *(each for each in sources if each not in options)], sources, key=widget,
                    on_change=guarded(_connect_all), args=(drafting, node.id, port, widget, sources),
                    placeholder="Not connected",
                )  # fmt: skip
            else:
                choices = [*options, *(each for each in sources if each not in options)]
                st.selectbox(
                    title, ["", *choices], choices.index(sources[0]) + 1 if sources else 0, key=widget,
                    format_func=lambda name: name or "not connected",
                    on_change=guarded(_connect),
                    args=(drafting, node.id, port, widget, sources[0] if sources else None),
                )  # fmt: skip


def edge_inspector(drafting: Drafting, edge: Edge, found: Check) -> None:
    """What flows through an edge, and why it looks as it does."""
    st.markdown(f"**{edge.source} → {edge.target}**" + (f" ({edge.target_port})" if edge.target_port != "in" else ""))
    derived = found.derived.get(edge.source)
    if derived is None:
        st.caption("What flows here is known as soon as the nodes before it are right.")
    elif found.plan is not None:
        plan = found.plan.node(edge.source)
        reason = edge_reason(found, edge.source, edge.target, edge.target_port)
        st.html(f"{mode_badges(plan.mode)} &nbsp; {muted(f'{edge.target} asks for this: {reason}' if reason else '')}")
    if derived is not None:
        schema_table(derived)
    st.button(
        "Disconnect", icon=":material/link_off:", on_click=guarded(_disconnect), args=(drafting, edge),
        key=f"cut|{drafting.revision}|{edge_key(edge)}",
    )  # fmt: skip


def _rename(drafting: Drafting, old: str, widget: str) -> None:
    new = str(st.session_state[widget]).strip()
    if new == old:
        return
    drafting.edit(rename_node(drafting.pipeline, old, new))
    if state.selection == old:
        state.selection = new


def _duplicate(drafting: Drafting, node_id: str) -> None:
    document, twin = duplicate_node(drafting.pipeline, node_id)
    drafting.edit(document)
    state.selection = twin


def _delete(drafting: Drafting, node_id: str) -> None:
    inputs = drafting.pipeline.inputs(node_id)
    drafting.edit(delete_node(drafting.pipeline, node_id))
    left = [node.id for node in drafting.pipeline.nodes]
    state.selection = inputs[0].source if inputs else (left[-1] if left else None)


def _connect(drafting: Drafting, node_id: str, port: str, widget: str, drawn: str | None) -> None:
    source = st.session_state[widget]
    # A run that was interrupted may have Streamlit call this for a picker that nobody touched; empty is "" then.
    if (source or None) == drawn:
        return
    document = drafting.pipeline
    for edge in document.inputs(node_id):
        if edge.target_port == port:
            document = disconnect(document, edge)
    drafting.edit(connect(document, source, node_id, port) if source else document)


def _connect_all(drafting: Drafting, node_id: str, port: str, widget: str, drawn: list[str]) -> None:
    if st.session_state[widget] == drawn:
        return
    document = drafting.pipeline
    for edge in document.inputs(node_id):
        if edge.target_port == port:
            document = disconnect(document, edge)
    for source in st.session_state[widget]:
        document = connect(document, source, node_id, port)
    drafting.edit(document)


def _disconnect(drafting: Drafting, edge: Edge) -> None:
    drafting.edit(disconnect(drafting.pipeline, edge))
    state.selection = edge.target
