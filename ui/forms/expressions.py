"""How a form shows an expression: Flink SQL, as it was typed, or as it means the same as a document's Spark SQL."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from engine.contract.expression import flink, flink_in
from engine.script.readable import flink_instead, flink_of
from ui.forms.binding import FormContext
from ui.forms.spec import Field
from ui.shell import words
from ui.shell.guard import guarded

_SPARK: Final = (
    "Spark SQL of a former version, which is computed as ever. Whatever is typed here is Flink SQL, as in a script."
)


def shown_expression(value: Any, form: FormContext, field: Field) -> tuple[str, bool]:
    """The text of an expression, and whether it is Spark SQL for which no Flink SQL is known."""
    if (typed := flink_in(value)) is not None:
        return typed, False
    text, schema = "" if value is None else str(value), form.scope(field.port)
    if not text or schema is None:
        return text, False
    shown = flink_of(text, schema, form.variables)
    return shown or text, shown is None


def offer_flink(text: str, form: FormContext, field: Field, *, is_spark: bool) -> None:
    """A button that writes Flink SQL in place of a spelling of Spark's, or takes a document's Spark SQL as Flink SQL.

    is_spark: the text is Spark SQL in the document; else it was typed, and is not Flink SQL.
    """
    schema = form.scope(field.port)
    instead = flink_instead(text, schema, form.variables) if schema is not None else None
    if instead is None and not is_spark:
        return
    key = form.key(f"{field.name}.flink")
    label = f"Write {words.code(instead)}" if instead is not None else "Take it as Flink SQL"

    def write() -> None:
        if form.is_current(key):
            form.write((*form.path, field.name), flink(instead or text), redraw=True, merge=False)

    st.button(
        f"Spark SQL. {label}" if is_spark else label,
        key=key,
        type="tertiary",
        icon=":material/translate:",
        on_click=guarded(write),
        help=_SPARK if is_spark else "It is no Flink SQL, but Spark's spelling of this.",
    )
