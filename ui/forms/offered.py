"""A field with choices that the source itself offers, such as the tables of a file."""

from __future__ import annotations

import streamlit as st

from engine.errors import StudioError
from ui.builder.editing import ABSENT
from ui.forms.binding import FormContext
from ui.forms.spec import Field
from ui.forms.without_columns import source_without_columns
from ui.shell import workspace


def offered_field(field: Field, form: FormContext) -> bool:
    """Draw the choice. False if no choices are known, so that the name has to be typed."""
    offered = _offered(field, form)
    if not offered:
        return False
    value = str(form.value(field) or "")
    options = [*offered, *([value] if value and value not in offered else [])]
    key = form.key(field.name)
    form.bind(field, key, value or None, lambda chosen: chosen or ABSENT)
    st.selectbox(
        field.title,
        options,
        options.index(value) if value else None,
        key=key,
        format_func=lambda name: name if name in offered else f"{name} · missing",
        placeholder="Choose one",
        help=field.description or None,
    )
    return True


def _offered(field: Field, form: FormContext) -> tuple[str, ...]:
    source = source_without_columns(form.node.operator, form.node.parameters)
    try:
        return () if source is None else source.offered(field.name, form.node.id, workspace.folder())
    except StudioError:
        return ()
