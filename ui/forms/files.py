"""The path of a file: typed, uploaded, or made of pasted rows. The first lines of the file are shown below."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from engine.errors import PipelineError, SourceError
from engine.examples.from_file import source_of
from engine.reading.files.input_files import local_place
from engine.reading.files.named_folders import may_be_read
from engine.reading.files.pasted import pasted
from engine.reading.files.storage import ending_of
from engine.registry import sources
from ui.builder.editing import ABSENT, with_source
from ui.builder.importing import open_imported, script_in
from ui.forms.binding import FormContext
from ui.forms.spec import Field
from ui.shell import workspace
from ui.shell.guard import guarded
from ui.shell.pending import widget_value
from ui.shell.uploads import first_lines, keep, keep_dropped


def file_field(field: Field, form: FormContext) -> None:
    """Draw the path, an upload area, and the beginning of the file."""
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
        dropped = widget_value(upload)
        if dropped is not None and (script := script_in(dropped.getvalue(), dropped.name)) is not None:
            open_imported(script)
        elif dropped is not None:
            kept = keep_dropped(dropped, dropped.name, workspace.folder(), sources()[form.node.operator].opens)
            if len(kept) > 1:
                message = f"{dropped.name} holds {len(kept)} files. Drop it on the first page, or one of them here."
                raise PipelineError(message, form.node.id, field.name)
            [(path, note)] = kept
            _read(path, field, form)
            if note:
                form.drafting.notices = (note,)

    with st.expander("Use another file" if value else "Drop a file", expanded=not value):
        st.file_uploader(
            f"{field.title}: drop a file", key=upload, on_change=guarded(take), label_visibility="collapsed"
        )
        if _takes_text(form):
            _paste(field, form)
    if value and (lines := _beginning(str(value), form)):
        st.code("\n".join(lines), language=None)


def _read(path: str, field: Field, form: FormContext) -> None:
    """Read a kept file. A source that had none gets types, event time and a name, as in a first pipeline."""
    drafting, cls = form.drafting, sources()[form.node.operator]
    node = drafting.pipeline.node(form.node.id)
    if node.parameters.get(field.name) or ending_of(path) not in cls.opens:
        form.write((*form.path, field.name), path, redraw=True)
        return
    document, name = with_source(drafting.pipeline, node, source_of(path, workspace.folder(), cls))
    drafting.edit(document)
    drafting.selection = name


def _takes_text(form: FormContext) -> bool:
    """Whether the source reads a file type that `pasted` creates."""
    cls = sources().get(form.node.operator)
    return cls is not None and any(ending in cls.opens for ending in (".csv", ".jsonl"))


def _paste(field: Field, form: FormContext) -> None:
    """Draw a text area for pasted rows, which are stored as a file."""
    key = form.key(f"{field.name}.paste")
    st.text_area(
        "Or paste rows, with the column names in the first line",
        key=key,
        height=100,
        placeholder="id,amount\n1,9.50",
    )

    def take() -> None:
        text = st.session_state.get(key) or ""
        if (script := script_in(text.encode(), "pasted")) is not None:
            open_imported(script)
            return
        name, content = pasted(text)
        source = sources()[form.node.operator]
        if Path(name).suffix not in source.opens:
            message = f"These rows look like {Path(name).suffix[1:]}, which the source {source.title} does not read."
            raise PipelineError(message, form.node.id, field.name)
        _read(keep([content], name, workspace.folder()), field, form)

    st.button(
        "Use these rows", key=form.key(f"{field.name}.pasted"), icon=":material/content_paste:", on_click=guarded(take)
    )


def _beginning(path: str, form: FormContext) -> list[str]:
    """The first lines of the file, if it is a text file that may be read."""
    try:
        place = local_place(path, workspace.folder(), form.node.id)
    except SourceError:
        # The check of the pipeline reports it at this field.
        return []
    return first_lines(place, most=4) if may_be_read(place) else []
