"""A field with choices that the source itself offers, such as the tables of a file."""

from __future__ import annotations

import streamlit as st
from pydantic import ValidationError

from engine.contract.source import Source
from engine.errors import StudioError
from engine.registry import sources
from ui.builder.editing import ABSENT
from ui.forms.binding import FormContext
from ui.forms.spec import Field
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
    cls = sources().get(form.node.operator)
    if cls is None:
        return ()
    shared = {*Source.model_fields, "types", "primary_key"}
    own = {name: value for name, value in form.node.parameters.items() if name not in shared}
    try:
        return cls.model_validate(own).offered(field.name, form.node.id, workspace.folder())
    except (StudioError, ValidationError):
        return ()
