"""How a form shows an expression: Flink SQL, as it was typed, or as it means the same as a document's Spark SQL."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from engine.expressions.flink_sql import flink, flink_in
from engine.script.readable import flink_instead, flink_of
from ui.forms.binding import FormContext
from ui.forms.spec import Field, FieldKind
from ui.shell import words
from ui.shell.guard import guarded

_SPARK: Final = (
    "Spark SQL of a former version, which is computed as ever. Whatever is typed here is Flink SQL, as in a script: "
    "results may change, as those of divisions by zero do."
)


def shown_expression(value: Any, form: FormContext, field: Field) -> tuple[str, bool]:
    """The text of an expression, and whether it is Spark SQL for which no Flink SQL is known."""
    if (typed := flink_in(value)) is not None:
        return typed, False
    text, schema = "" if value is None else str(value), form.scope(field.port)
    if not text or schema is None or (field.is_free and text in schema):
        return text, False
    shown = flink_of(text, schema, form.variables)
    return shown or text, shown is None


def offer_flink(form: FormContext, field: Field, *, is_named: bool = False) -> None:
    """A button that writes Flink SQL in place of Spark's, or takes a document's Spark SQL as Flink SQL.

    is_named: it names its field, which is somewhere else.
    """
    if field.kind is not FieldKind.EXPRESSION and not field.is_free:
        return
    text, is_spark = shown_expression(form.value(field), form, field)
    if not is_spark and not form.complaints.refused((*form.path, field.name)):
        return
    schema = form.scope(field.port)
    instead = flink_instead(text, schema, form.variables) if schema is not None else None
    if instead is None and not is_spark:
        return
    key = form.key(f"{field.name}.flink")
    label = f"Write {words.code(instead)}" if instead is not None else "Take it as Flink SQL"
    named = f"{field.title}: " if is_named else ""

    def write() -> None:
        if form.is_current(key):
            form.write((*form.path, field.name), flink(instead or text), redraw=True, merge=False)

    st.button(
        f"{named}Spark SQL. {label}" if is_spark else f"{named}{label}",
        key=key,
        type="tertiary",
        icon=":material/translate:",
        on_click=guarded(write),
        help=_SPARK if is_spark else "It is no Flink SQL, but Spark's spelling of this.",
    )
