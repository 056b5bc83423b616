"""A list of sub-models (aggregates, computed columns, an order): one row of widgets per item."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import streamlit as st

from ui.builder.editing import ABSENT
from ui.forms.binding import FormContext
from ui.forms.complaints import is_empty_at, place_of
from ui.forms.expressions import offer_flink
from ui.forms.shown_complaints import show_complaints
from ui.forms.spec import Field, FieldKind, fields_of
from ui.forms.suggest import suggested_item
from ui.shell.guard import guarded
from ui.shell.pending import widget_value

DrawField = Callable[..., None]
_MOVE_UP: Final = "Move up"
_MOVE_DOWN: Final = "Move down"
_REMOVE: Final = "Remove"
_PER_ROW: Final = 3
_WEIGHTS: Final = {FieldKind.EXPRESSION: 5, FieldKind.TOGGLE: 4, FieldKind.NUMBER: 2}


def items_field(field: Field, form: FormContext, draw_field: DrawField) -> None:
    """Draw the list with buttons to add, move and remove."""
    st.markdown(f"**{field.title}**", help=field.description or None)
    _rows(field, form, 0, draw_field, "Add")


def computed_columns(field: Field, form: FormContext, start: int, draw_field: DrawField) -> None:
    """Draw the named expressions in a list of columns, which follow the plain names."""
    _rows(field, form, start, draw_field, f"Add an expression to {field.title}")


def _rows(field: Field, form: FormContext, start: int, draw_field: DrawField, add: str) -> None:
    value = form.value(field)
    items = list(value) if isinstance(value, (list, tuple)) else []
    for at in range(start, len(items)):
        _item(field, form.below(field.name, at), at, (start, len(items)), draw_field)
    st.button(
        add,
        key=form.key(f"{field.name}.add"),
        icon=":material/add:",
        type="tertiary",
        help=f"Add to: {field.title}",
        on_click=guarded(_add),
        args=(field, form),
    )


def _item(field: Field, form: FormContext, at: int, span: tuple[int, int], draw_field: DrawField) -> None:
    assert field.model is not None
    specs = fields_of(field.model)
    usual = [spec for spec in specs if not spec.is_rare]
    shown = usual[:_PER_ROW] if len(usual) > _PER_ROW + 1 else usual
    hidden = [spec for spec in specs if spec not in shown]
    weights = [_WEIGHTS.get(spec.kind, 3) for spec in shown]
    # Complaints are shown below the row, where a sentence fits.
    wrong = form.complaints.below(form.path)
    form.complaints.take_below(form.path)
    columns = st.columns([*weights, 1.9 if hidden else 0.9], vertical_alignment="bottom", gap="xsmall")
    for spec, column in zip(shown, columns[:-1], strict=True):
        with column:
            # The label of a switch is beside it, not above it.
            draw_field(spec, form, label=at == span[0] or spec.kind is FieldKind.TOGGLE)
    with columns[-1], st.container(horizontal=True, gap="xsmall", wrap=False):
        if hidden:
            with st.popover("", icon=":material/tune:", type="tertiary", help=f"{field.title}, row {at + 1}: more"):
                for spec in hidden:
                    draw_field(spec, form)
        _menu(field, form, at, span)
    for path, text in wrong:
        place = place_of(field.model, path[len(form.path) :])
        is_to_do = is_empty_at(form.node.parameters, path)
        show_complaints((f"{place}: {text}" if place else text,), is_to_do=is_to_do)
    for spec in specs:
        offer_flink(form, spec, is_named=spec in hidden)


def _menu(field: Field, form: FormContext, at: int, span: tuple[int, int]) -> None:
    first, end = span
    options = [*([_MOVE_UP] if at > first else []), *([_MOVE_DOWN] if at < end - 1 else []), _REMOVE]
    key = form.key("menu")

    def chosen() -> None:
        # If the list has changed since, it has other rows at these indexes.
        if form.is_current(key):
            _rearrange(form, widget_value(key), at)

    st.menu_button(
        "",
        options,
        key=key,
        icon=":material/more_vert:",
        type="tertiary",
        on_click=guarded(chosen),
        help=f"{field.title}, row {at + 1}: move or remove",
    )


def _rearrange(form: FormContext, choice: str | None, at: int) -> None:
    list_path = form.path[:-1]
    items: list[Any] = list(_at(form, list_path))
    match choice:
        case "Move up":
            items[at - 1], items[at] = items[at], items[at - 1]
        case "Move down":
            items[at + 1], items[at] = items[at], items[at + 1]
        case "Remove":
            items.pop(at)
    form.write(list_path, items or ABSENT, redraw=True, merge=False)


def _at(form: FormContext, path: tuple[str | int, ...]) -> Any:
    current: Any = form.drafting.pipeline.node(form.node.id).parameters
    for part in path:
        current = current[part]
    return current


def _add(field: Field, form: FormContext) -> None:
    assert field.model is not None
    value = form.now(field)
    items = list(value) if isinstance(value, (list, tuple)) else []
    # The existing rows are not drawn again: a user may be typing in one.
    form.write((*form.path, field.name), [*items, suggested_item(field.model, form, items)], merge=False)
