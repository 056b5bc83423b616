"""The columns of a source whose rows a server has: one button asks it for them."""

from __future__ import annotations

import streamlit as st
from pydantic import ValidationError

from engine.errors import PipelineError
from engine.reading.served import ServedSource
from engine.registry import sources
from ui.builder.editing import set_parameter
from ui.builder.servers import agree
from ui.forms.binding import FormContext
from ui.shell import workspace
from ui.shell.guard import guarded


def served_columns(form: FormContext, cls: type[ServedSource]) -> None:
    """The button. What it finds takes the place of the columns that are there."""
    st.button(
        cls.asks_for_columns,
        key=form.key("columns.ask"),
        icon=":material/download:",
        on_click=guarded(_ask),
        args=(form,),
        help="They take the place of those below.",
    )


def _ask(form: FormContext) -> None:
    drafting, name = form.drafting, form.node.id
    node = drafting.pipeline.node(name)
    try:
        source = sources()[node.operator].model_validate({**node.parameters, "columns": []})
    except ValidationError as error:
        message = "the source has to be right before anybody can be asked for its columns. See what its fields say."
        raise PipelineError(message, name) from error
    assert isinstance(source, ServedSource)
    agree(source)
    found = source.columns_there(name, workspace.folder())
    columns = [column.model_dump(mode="json") for column in found.columns]
    document = set_parameter(drafting.pipeline, name, "columns", columns)
    if found.primary_key:
        document = set_parameter(document, name, "primary_key", list(found.primary_key))
    drafting.edit(document)
