"""The path of a file: typed, or a file dropped on the form. Its first lines are shown below."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from engine.reading.named_folders import may_be_read
from ui.builder.editing import ABSENT
from ui.builder.pending import said
from ui.forms.binding import FormContext
from ui.forms.spec import Field
from ui.shell import workspace
from ui.shell.guard import guarded
from ui.shell.uploads import first_lines, keep


def file_field(field: Field, form: FormContext) -> None:
    """Draw the path, a place to drop a file, and the beginning of the file."""
    value = form.value(field)
    key = form.key(field.name)
    shown = value if isinstance(value, str) else ""
    form.bind(field, key, shown, lambda typed: typed or ABSENT)
    st.text_input(
        field.title,
        shown,
        key=key,
        placeholder="a path, or drop a file below",
        help=field.description or None,
        live="400ms",
    )
    upload = form.key(f"{field.name}.upload")

    def take() -> None:
        dropped = said(upload)
        if dropped is not None:
            form.write((*form.path, field.name), keep(dropped, dropped.name, workspace.folder()), redraw=True)

    with st.expander("Use another file" if value else "Drop a file", expanded=not value):
        st.file_uploader(
            f"{field.title}: drop a file", key=upload, on_change=guarded(take), label_visibility="collapsed"
        )
    place = _resolved(str(value))
    if value and may_be_read(place) and (lines := first_lines(place, most=4)):
        st.code("\n".join(lines), language=None)


def _resolved(path: str) -> Path:
    return workspace.folder() / Path(path).expanduser()
