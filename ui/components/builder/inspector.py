"""The selected node or edge: its name, its connections, its form; changes apply while the user types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, Final

import streamlit as st
from pydantic import BaseModel

from engine.contract.operator import OUT
from engine.contract.source import Source
from engine.contract.unread import Unread
from engine.model.changelog import APPEND
from engine.model.pipeline import Edge, Node
from engine.planner import Check
from engine.reading.files.received import PostedSource
from engine.reading.files.source import FileSource
from engine.reading.files.web import is_web
from engine.reading.servers.served import ServedSource
from engine.windows.parameters import BOUNDS
from ui.builder.checking import edge_reason, input_schemas, output_schema
from ui.builder.drafting import Drafting
from ui.builder.editing import (
    delete_node,
    descendants,
    disconnect,
    duplicate_node,
    edge_key,
    operator_class,
    rename_node,
    takes_many,
)
from ui.builder.fixes import joined, operator_of
from ui.builder.problems import is_to_do
from ui.components.builder.bench import bench
from ui.components.builder.schema_table import schema_table
from ui.components.builder.stand_ins import table_elsewhere
from ui.components.editor import editors
from ui.forms.binding import FormContext
from ui.forms.complaints import complaints_of
from ui.forms.fields import draw_field
from ui.forms.posting import posting
from ui.forms.served_columns import served_columns
from ui.forms.shown_complaints import show_complaints
from ui.forms.spec import Field, fields_of
from ui.forms.suggest import has_windows
from ui.shell.guard import as_sentence, guarded
from ui.shell.pending import pending
from ui.shell.state import remembered
from ui.shell.theme import mode_badges, muted

_FOLD_ABOVE: Final = 8
_SHOWN: Final = 5


def node_inspector(drafting: Drafting, node: Node, verdict: Check) -> None:
    """Draw the name, connections and form of a node."""
    cls = operator_class(node.operator)
    key = f"{drafting.key}|{node.id}"
    # Slow work comes before the first widget, so that nobody types into the leftover fields of the previous node.
    inputs, output = input_schemas(drafting.pipeline, node.id, verdict), output_schema(node, verdict)
    _name(drafting, node)
    if cls is None:
        for problem in verdict.of(node.id):
            st.error(as_sentence(problem.sentence))
        return
    st.caption(f"**{cls.title}**: {cls.summary}")
    if cls is Unread:
        show_complaints(tuple(problem.sentence for problem in verdict.of(node.id)), is_to_do=False)
        st.code(str(node.parameters.get("sql", "")), language="sql", wrap_lines=True)
        st.button("Correct it in the SQL", key=f"unread|{key}", icon=":material/edit:", on_click=_show_sql)
        return
    _connections(drafting, node, cls.ports)
    table_elsewhere(drafting, node)
    complaints = complaints_of(cls, node.parameters, verdict.of(node.id))
    above = st.container()
    form = FormContext(drafting, node, inputs, complaints, output)
    own = [field for field in fields_of(cls) if not (issubclass(cls, Source) and field.name in Source.model_fields)]
    applicable = [field for field in own if _applies(field, own, form)]
    # Fields that most users never need are folded away.
    shown = [field for field in applicable if not _is_rare(field, form)]
    if len(_rows(shown)) > _FOLD_ABOVE:
        shown = [field for at, field in enumerate(shown) if at < _SHOWN or field.is_required]
    for row in _rows(shown):
        for field, place in zip(row, st.columns(len(row)) if len(row) > 1 else [None], strict=True):
            with place or nullcontext():
                _own_field(field, form, cls)
    _more(form, [field for field in applicable if field not in shown], key)
    if issubclass(cls, Source):
        _time(form, cls)
    with above:
        # About the whole node, such as an open input.
        left = [problem for problem in verdict.of(node.id) if not is_to_do(drafting.pipeline, problem)]
        show_complaints(complaints.rest(), is_to_do=not left)
        operator = operator_of(node)
        if operator is not None and operator.caution:
            st.warning(as_sentence(operator.caution), icon=":material/warning:")
    editors(form.editing, key=f"editors|{key}")


def _rows(fields: Sequence[Field]) -> list[list[Field]]:
    """The fields by the row in which they are drawn."""
    rows: list[list[Field]] = []
    for field in fields:
        if field.is_beside and rows:
            rows[-1].append(field)
        else:
            rows.append([field])
    return rows


def _own_field(field: Field, form: FormContext, cls: type[BaseModel]) -> None:
    """Draw a field that not all sources have, and what belongs beside it."""
    path = str(form.node.parameters.get("path", ""))
    if field.name == "columns" and issubclass(cls, ServedSource):
        served_columns(form, cls.asks_for_columns)
    if field.name == "types" and issubclass(cls, FileSource) and is_web(path):
        served_columns(form, "Take the columns of the file")
    draw_field(field, form)
    if field.name == "path" and issubclass(cls, PostedSource):
        posting(form, path)


def _applies(field: Field, fields: Sequence[Field], form: FormContext) -> bool:
    """Whether a field has an effect with the chosen values; a field that is set or wrong is always shown."""
    if form.value(field) not in (None, field.default) or form.complaints.has(field.name):
        return True
    if any(field.unless == other.name and form.value(other) is not None for other in fields):
        return False
    if not field.only:
        return True
    chooser = next(other for other in fields if set(field.only) <= set(other.choices))
    return form.value(chooser) in (None, *field.only)


def _is_rare(field: Field, form: FormContext) -> bool:
    """Whether few users need a field; the bounds of attached windows are rare if the input has no windows."""
    if field.name not in BOUNDS:
        return field.is_rare
    is_open = form.value(field) is not None or form.complaints.has(field.name)
    return not is_open and not has_windows(form.columns(field.port))


def _more(form: FormContext, folded: Sequence[Field], key: str) -> None:
    """Draw the rare fields, folded away unless one of them is set or wrong."""
    if not folded:
        return
    given = form.node.parameters
    is_touched = any(
        given.get(field.name, field.start) != field.start or form.complaints.has(field.name) for field in folded
    )
    # Once unfolded, it stays unfolded: an undo must not fold away the very field that it changed.
    unfolded = remembered("unfolded-settings", {})
    unfolded[key] = is_touched or unfolded.get(key, False)
    with st.expander("More", expanded=unfolded[key]):
        for field in folded:
            draw_field(field, form)


def node_actions(drafting: Drafting, node: Node) -> None:
    """Draw the actions of a node, within a row."""
    rejoined = "If it has one input, its consumers are connected to that input. Undo restores the node."
    for title, key, icon, act, help_ in (
        ("Duplicate", "twin", "content_copy", _duplicate, "Duplicate"),
        ("Delete", "del", "delete", _delete, rejoined),
    ):
        st.button(
            title,
            key=f"{key}|{drafting.key}|{node.id}",
            icon=f":material/{icon}:",
            type="tertiary",
            on_click=guarded(act),
            args=(drafting, node.id),
            help=help_,
        )


def _time(form: FormContext, cls: type[Source]) -> None:
    st.markdown("**Event time and watermark**")
    shared = [field for field in fields_of(cls) if field.name in Source.model_fields]
    shown = [field for field in shared if not field.is_rare]
    for at in range(0, len(shown), 2):
        columns = st.columns(2, vertical_alignment="bottom")
        for field, column in zip(shown[at : at + 2], columns, strict=False):
            with column:
                draw_field(field, form)
    _more(form, [field for field in shared if field.is_rare], f"{form.drafting.key}|{form.node.id}|time")


@guarded
def _show_sql() -> None:
    bench().open_drawer("SQL")


def _name(drafting: Drafting, node: Node) -> None:
    generation = drafting.generation(node.id)
    key = f"id|{drafting.key}|{node.id}|{generation}"

    def take(typed: str) -> None:
        if generation == drafting.generation(node.id) and typed.strip() != node.id:
            drafting.edit(rename_node(drafting.pipeline, node.id, typed.strip()))
            if drafting.selection == node.id:
                drafting.selection = typed.strip()

    pending().draw(key, node.id, take)
    st.text_input("Name of the node", node.id, key=key)


def _connections(drafting: Drafting, node: Node, ports: tuple[str, ...]) -> None:
    """Draw a picker per input port: the nodes that can be connected without making a cycle."""
    pipeline = drafting.pipeline
    below = descendants(pipeline, node.id) | {node.id}
    options = [
        candidate.id
        for candidate in pipeline.nodes
        if candidate.id not in below and getattr(operator_class(candidate.operator), "role", "operator") != "sink"
    ]
    for port, column in zip(ports, st.columns(max(1, len(ports))), strict=False):
        sources = [edge.source for edge in pipeline.inputs(node.id) if edge.target_port == port]
        choices = [*options, *(source for source in sources if source not in options)]
        title = "Input" if len(ports) == 1 else f"Input: {port}"
        with column:
            if takes_many(node):
                key = _bound(drafting, node, port, sources, list)
                st.multiselect(title, choices, sources, key=key, placeholder="Not connected", select_all=False)
            else:
                shown = sources[0] if sources else ""
                key = _bound(drafting, node, port, shown, lambda name: [name] if name else [])
                at = choices.index(shown) + 1 if shown else 0
                st.selectbox(title, ["", *choices], at, key=key, format_func=lambda name: name or "not connected")


def _bound(drafting: Drafting, node: Node, port: str, shown: object, read: Callable[[Any], list[str]]) -> str:
    """The key of a port's picker; a choice there changes the document."""
    places = node.id, f"{node.id}>{port}"
    generation = drafting.generation(*places)
    key = f"port|{drafting.key}|{node.id}|{generation}|{port}"

    def take(chosen: Any) -> None:
        if generation != drafting.generation(*places):
            return
        document = drafting.pipeline
        for edge in document.inputs(node.id):
            if edge.target_port == port:
                document = disconnect(document, edge)
        for source in read(chosen):
            document = joined(document, source, node.id, port)
        drafting.edit(document)

    pending().draw(key, shown, take)
    return key


def edge_inspector(drafting: Drafting, edge: Edge, verdict: Check) -> None:
    """Draw the changelog mode of an edge with its reason, and the columns."""
    if edge.target_port != "in":
        st.caption(f"To the input {edge.target_port}")
    derived = verdict.output(edge.source, edge.source_port)
    if derived is None:
        st.caption("The changelog mode of this edge appears as soon as the nodes before it are valid.")
    elif verdict.plan is not None:
        mode = verdict.plan.node(edge.source).mode if edge.source_port == OUT else APPEND
        reason = edge_reason(verdict, edge.source, edge.target, edge.target_port)
        st.html(f"{mode_badges(mode)} &nbsp; {muted(f'{edge.target} requires this: {reason}' if reason else '')}")
    if derived is not None:
        schema_table(derived)
    st.button(
        "Disconnect",
        icon=":material/link_off:",
        on_click=guarded(_disconnect),
        args=(drafting, edge),
        key=f"cut|{drafting.key}|{edge_key(edge)}",
    )


def _duplicate(drafting: Drafting, node_id: str) -> None:
    document, twin = duplicate_node(drafting.pipeline, node_id)
    drafting.edit(document)
    drafting.selection = twin


def _delete(drafting: Drafting, node_id: str) -> None:
    inputs = drafting.pipeline.inputs(node_id)
    drafting.edit(delete_node(drafting.pipeline, node_id))
    left = [node.id for node in drafting.pipeline.nodes]
    drafting.selection = inputs[0].source if inputs else (left[-1] if left else None)


def _disconnect(drafting: Drafting, edge: Edge) -> None:
    drafting.edit(disconnect(drafting.pipeline, edge))
    drafting.selection = edge.target
