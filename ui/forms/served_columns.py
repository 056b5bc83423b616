"""The columns of a source on a server, or of a file on the web: a button requests them from there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st
from pydantic import ValidationError

from engine.contract.source import Source
from engine.errors import PipelineError
from engine.reading.files.web import BEGINNING, fetching
from engine.reading.servers.served import ServedSource
from engine.registry import sources
from engine.scratch import scratch
from ui.builder.editing import set_parameter
from ui.builder.server_consent import agree
from ui.forms.binding import FormContext
from ui.shell import workspace
from ui.shell.guard import guarded


def served_columns(form: FormContext, label: str) -> None:
    """Draw the button. The columns that it finds replace the existing ones."""
    st.button(
        label,
        key=form.key("columns.ask"),
        icon=":material/download:",
        on_click=guarded(_ask),
        args=(form,),
        help="They replace the columns below.",
    )


def _ask(form: FormContext) -> None:
    drafting, name = form.drafting, form.node.id
    node = drafting.pipeline.node(name)
    cls = sources()[node.operator]
    is_file = not issubclass(cls, ServedSource)
    # Parameters that name columns are left out, because the columns are not known yet.
    own = {key: value for key, value in node.parameters.items() if not (is_file and key in Source.model_fields)}
    try:
        source = cls.model_validate(own | ({"types": {}, "fixed_columns": False} if is_file else {"columns": []}))
    except ValidationError as error:
        message = "the server can be asked for columns once the source is complete. See the messages at its fields."
        raise PipelineError(message, name) from error
    agree(source)
    document = drafting.pipeline
    for parameter, value in _declaration(source, name).items():
        document = set_parameter(document, name, parameter, value)
    drafting.edit(document)


def _declaration(source: Source, name: str) -> Mapping[str, Any]:
    """The parameters that declare the columns."""
    if not isinstance(source, ServedSource):
        with scratch("web") as web, fetching(web, BEGINNING):
            schema = source.derive(name, workspace.folder()).schema
        return {"types": {column.name: column.type.flink for column in schema}, "fixed_columns": True}
    there = source.columns_there(name, workspace.folder())
    columns = [column.model_dump(mode="json") for column in there.columns]
    return {"columns": columns} | ({"primary_key": list(there.primary_key)} if there.primary_key else {})
