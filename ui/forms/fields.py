"""One widget per kind of field. A value that does not fit the field's type stays in the document and in the widget."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import streamlit as st

from engine.contract.source import Source
from engine.errors import shortened
from engine.expressions.flink_sql import flink, flink_in
from engine.model.schema import Schema
from engine.model.type_texts import flink_type, in_flink
from engine.model.types import Type, quote
from engine.python_functions.declared import Rejected, functions_in
from ui.builder.editing import ABSENT
from ui.builder.nested_fields import as_expression
from ui.components.editor import Editing, Wrong, code_area
from ui.forms.begun import begun, without_words
from ui.forms.binding import FormContext
from ui.forms.code import code_field
from ui.forms.durations import format_duration, parse_duration
from ui.forms.expressions import offer_flink, shown_expression
from ui.forms.files import file_field
from ui.forms.grid import grid_field
from ui.forms.instants import format_instant, parse_instant
from ui.forms.items import computed_columns, items_field
from ui.forms.marking import marked_html, wrong_word
from ui.forms.offered import offered_field
from ui.forms.shown_complaints import show_complaints
from ui.forms.source_columns import source_columns
from ui.forms.spec import Field, FieldKind

_LIVE: Final = "300ms"
_FEW: Final = 4
# The least that Streamlit has, in pixels; the editor grows with its text.
_LINE: Final = 68
# Not None: for Streamlit, None means that no choice was made yet.
_NOTHING: Final = ""
_HINTS: Final = {
    FieldKind.DURATION: "10 s",
    FieldKind.INSTANT: "2024-01-01 00:00:00",
    FieldKind.EXPRESSION: "a Flink SQL expression",
    FieldKind.WORDS: "one, two, three",
    FieldKind.TYPES: "amount DECIMAL(10,2), `seen at` TIMESTAMP(3)",
}


def draw_field(field: Field, form: FormContext, *, label: bool = True) -> None:
    """Draw a field, and its errors below it. label: whether its title is visible, not only for screen readers."""
    look: dict[str, Any] = {"label_visibility": "visible" if label else "collapsed", "help": field.description or None}
    match field.kind:
        case FieldKind.NUMBER:
            _number(field, form, look)
        case FieldKind.TOGGLE:
            _toggle(field, form, look)
        case FieldKind.CHOICE:
            _choice(field, form, look)
        case FieldKind.COLUMN:
            _column(field, form, look)
        case FieldKind.COLUMNS:
            _columns(field, form, look)
        case FieldKind.FILE:
            file_field(field, form)
        case FieldKind.OFFERED if offered_field(field, form):
            pass
        case FieldKind.GRID:
            grid_field(field, form)
        case FieldKind.TYPES if source_columns(form):
            pass
        case FieldKind.CODE:
            code_field(field, form, look)
        case FieldKind.ITEMS:
            items_field(field, form, draw_field)
        case _:
            _text(field, form, look)
    # Elsewhere the editor underlines what is wrong.
    for refused in () if field.kind is FieldKind.EXPRESSION else form.complaints.refused((*form.path, field.name)):
        st.html(marked_html(refused.expression, refused.reason))
    sentences = form.complaints.take((*form.path, field.name))
    show_complaints(sentences, is_to_do=form.value(field) in (None, "", [], {}))
    if not form.path:
        offer_flink(form, field)


def _text(field: Field, form: FormContext, look: dict[str, Any]) -> None:
    show, read = _TEXTS[field.kind]
    value = form.value(field)
    text = "" if value is None else show(value)
    if field.kind is FieldKind.EXPRESSION:
        text, _ = shown_expression(value, form, field)
    key = form.key(field.name)
    empty = _empty(field)
    form.bind(field, key, text, lambda typed: read(typed) if typed and typed.strip() else empty)
    hint = _placeholder(field)
    if field.kind is FieldKind.EXPRESSION:
        refused = form.complaints.refused((*form.path, field.name))
        wrong = [Wrong(flaw.expression, *wrong_word(flaw.expression, flaw.reason), flaw.reason) for flaw in refused]
        form.editing[key] = Editing("flink", line=True, tables={"": form.scope(field.port)}, wrong=wrong)
        code_area(field.title, text, key=key, height=_LINE, placeholder=hint, **look)
    elif "\n" in text or len(text) > 200:
        st.text_area(field.title, text, key=key, placeholder=hint, **look)
    else:
        st.text_input(field.title, text, key=key, placeholder=hint, live=_LIVE, **look)


def _empty(field: Field) -> object:
    """The value of an empty widget: ABSENT if the default is empty too, else None if the field is optional, else ''."""
    if field.default in (None, "", [], {}):
        return ABSENT
    return None if field.is_optional else ""


def _placeholder(field: Field) -> str | None:
    return _HINTS.get(field.kind, "automatic" if field.is_optional and field.default is None else None)


def _duration_text(value: Any) -> str:
    return format_duration(value) if isinstance(value, int) and not isinstance(value, bool) else _plain(value)


def _duration_value(text: str) -> object:
    parsed = parse_duration(text)
    return text if parsed is None else parsed


def _instant_text(value: Any) -> str:
    return format_instant(value) if isinstance(value, int) and not isinstance(value, bool) else _plain(value)


def _instant_value(text: str) -> object:
    parsed = parse_instant(text)
    return text if parsed is None else parsed


def _words_value(text: str) -> object:
    return [word.strip() for word in text.split(",") if word.strip()]


def _words_text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else _plain(value)


def _type_text(value: Any) -> str:
    """A type as Flink SQL writes it. Documents of former versions have Spark's texts."""
    return in_flink(_plain(value))


def _type_value(text: str) -> object:
    return in_flink(text, flink_type)


def _types_value(text: str) -> object:
    """`a BIGINT, `b c` DECIMAL(10,2)` as an object; commas inside brackets belong to the type."""
    types_by_name: dict[str, str] = {}
    for part in re.split(r",(?![^(<]*[)>])(?=(?:[^`]*`[^`]*`)*[^`]*$)", text):
        quoted = re.match(r"\s*`((?:[^`]|``)*)`\s*(.*)", part, re.DOTALL)
        name, type_ = (quoted[1].replace("``", "`"), quoted[2]) if quoted else part.strip().partition(" ")[::2]
        if name:
            types_by_name[name] = in_flink(type_.strip(), flink_type)
    return types_by_name


def _types_text(value: Any) -> str:
    if not isinstance(value, dict):
        return _plain(value)
    return ", ".join(
        f"{name if name.isidentifier() else quote(name)} {_type_text(type_)}" for name, type_ in value.items()
    )


def _json_value(text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _number_value(text: str) -> object:
    try:
        return int(text)
    except ValueError:
        return text


_TEXTS: Final[dict[FieldKind, tuple[Callable[[Any], str], Callable[[str], object]]]] = {
    FieldKind.TEXT: (_plain, str),
    FieldKind.OFFERED: (_plain, str),
    FieldKind.EXPRESSION: (_plain, flink),
    FieldKind.DURATION: (_duration_text, _duration_value),
    FieldKind.INSTANT: (_instant_text, _instant_value),
    FieldKind.WORDS: (_words_text, _words_value),
    FieldKind.JSON: (_plain, _json_value),
    FieldKind.NUMBER: (_plain, _number_value),
    FieldKind.TYPE: (_type_text, _type_value),
    FieldKind.TYPES: (_types_text, _types_value),
}


def value_text(field: Field, value: Any) -> str:
    """A value of a document as a form shows it; "" for None."""
    value = _as_typed(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "on" if value else "off"
    if field.kind is FieldKind.CHOICE:
        return _in_words(field, value)
    if field.kind is FieldKind.COLUMNS and all(isinstance(column, str) for column in value):
        return _words_text(value)
    return _TEXTS.get(field.kind, (_plain,))[0](value)


def _as_typed(value: Any) -> Any:
    """A value of a document with expressions as they were typed."""
    if (typed := flink_in(value)) is not None:
        return typed
    if isinstance(value, Mapping):
        return {name: _as_typed(inner) for name, inner in value.items()}
    return [_as_typed(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def _number(field: Field, form: FormContext, look: dict[str, Any]) -> None:
    value = form.value(field)
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
        _text(field, form, look)
        return
    key = form.key(field.name)
    cast: type[int] | type[float] = int if field.is_whole else float
    shown = None if value is None else cast(value)
    form.bind(field, key, shown, lambda typed: _empty(field) if typed is None else typed)
    st.number_input(field.title, value=shown, step=cast(1), key=key, placeholder=_placeholder(field), **look)


def _toggle(field: Field, form: FormContext, look: dict[str, Any]) -> None:
    key = form.key(field.name)
    shown = bool(form.value(field))
    form.bind(field, key, shown, bool)
    st.toggle(field.title, shown, key=key, **look)


def _choice(field: Field, form: FormContext, look: dict[str, Any]) -> None:
    value = form.value(field)
    key = form.key(field.name)
    options: list[Any] = [*([_NOTHING] if field.is_optional else []), *field.choices, *_of_its_code(field, form)]
    value = _NOTHING if value is None and field.is_optional else value
    if value is not None and value not in options:
        options.append(value)
    form.bind(field, key, value, lambda chosen: ABSENT if chosen in (None, _NOTHING) else chosen)
    words = {option: _in_words(field, option) if option != _NOTHING else "automatic" for option in options}

    def in_words(each: Any) -> str:
        return words.get(each, str(each))

    # In a row of an item's fields there is room for one choice.
    if not form.path and not field.is_optional and len(options) <= _FEW and sum(map(len, words.values())) <= 34:
        st.segmented_control(
            field.title,
            options,
            default=value,
            required=value is not None,
            format_func=in_words,
            key=key,
            **look,
        )
    else:
        at = options.index(value) if value in options else None
        st.selectbox(field.title, options, at, format_func=in_words, key=key, **look)


def _in_words(field: Field, choice: Any) -> str:
    return field.titles.get(choice, str(choice).replace("_", " "))


def _of_its_code(field: Field, form: FormContext) -> Sequence[str]:
    """The functions that the code of the node adds to the choices."""
    code = form.node.parameters.get("code")
    if not field.adds_functions or not isinstance(code, str):
        return ()
    try:
        return tuple(functions_in(code, aggregate=True))
    except Rejected:
        return ()


def _column(field: Field, form: FormContext, look: dict[str, Any]) -> None:
    schema = form.columns(field.port)
    stored = form.value(field)
    value = stored if flink_in(stored) is None else flink_in(stored)
    nested = form.fields_in(field)
    names = [*(schema.names if schema else ()), *nested]
    options = list(names)
    if value is not None and value not in options:
        options.append(str(value))
    choices = options if field.is_required else [_NOTHING, *options]
    value = _NOTHING if value is None and not field.is_required else value
    shown = value if value in choices else None
    # The field shares a row with others, in a list or among the fields that all sources have.
    is_narrow = bool(form.path) or field.name in Source.model_fields
    label = _column_words(schema, nested, field.nothing, is_free=field.is_free, is_narrow=is_narrow)
    key = form.key(field.name, map(label, names))

    def read(chosen: str | None) -> object:
        if chosen in (None, _NOTHING):
            return ABSENT
        name = without_words(chosen, options)
        if not field.is_free or schema is None or name in schema:
            return form.as_column(field, name) if name in nested and not field.is_free else name
        if name == value:
            return stored
        column = None if name in names else begun(name, names)
        if column is not None:
            form.drafting.redraw(f"{form.node.id}|{(*form.path, field.name)[0]}")
            name = column
        return name if name in schema else flink(name)

    form.bind(field, key, shown, read)
    st.selectbox(
        field.title,
        choices,
        None if shown is None else choices.index(shown),
        format_func=label,
        key=key,
        placeholder="a column or an expression" if field.is_free else "Choose a column",
        accept_new_options=schema is None or field.is_free,
        **look,
    )


def _columns(field: Field, form: FormContext, look: dict[str, Any]) -> None:
    schema = form.columns(field.port)
    value = form.value(field)
    items = list(value) if isinstance(value, (list, tuple)) else []
    chosen = [name for name in items if isinstance(name, str)]
    computed = _computed(value)
    nested = form.fields_in(field)
    names = [*(schema.names if schema else ()), *nested]
    label = _column_words(schema, nested, field.nothing)
    key = form.key(field.name, map(label, names))

    def read(labels: Sequence[str]) -> object:
        chosen = [without_words(text, names) for text in labels]
        paths = [name for name in chosen if name in nested]
        plain = [form.as_column(field, name) if name in paths and field.model is None else name for name in chosen]
        if field.model is None or not paths:
            return [*dict.fromkeys(plain), *_computed(form.now(field))]
        form.drafting.redraw(f"{form.node.id}|{field.name}")
        added = [as_expression(path, schema) for path in paths]
        return [*(name for name in chosen if name not in paths), *_computed(form.now(field)), *added]

    # Computed columns follow the plain names and move with them, so their widgets are drawn again.
    form.bind(field, key, chosen, read, redraw=bool(computed))
    st.multiselect(
        field.title,
        [*names, *(name for name in chosen if name not in names)],
        chosen,
        format_func=label,
        key=key,
        placeholder="Choose columns" if names else "Type a column's name",
        accept_new_options=schema is None,
        # It would be the first choice, and so what Enter takes.
        select_all=False,
        **look,
    )
    if field.model is not None:
        computed_columns(field, form, len(chosen), draw_field)


def _computed(value: Any) -> list[Any]:
    return [column for column in value if not isinstance(column, str)] if isinstance(value, (list, tuple)) else []


def _column_words(
    schema: Schema | None, nested: Mapping[str, Type], nothing: str, *, is_free: bool = False, is_narrow: bool = False
) -> Callable[[Any], str]:
    """The label of a column: its name, with its type if there is room; a column that the input lacks is `missing`."""
    types = {column.name: column.type for column in schema or ()} | dict(nested)

    def words(name: Any) -> str:
        if name == _NOTHING:
            return nothing
        if schema is None:
            return str(name)
        if is_free and name not in types:
            return str(name)
        if name not in types:
            return f"{name} · missing"
        return str(name) if is_narrow else f"{name} · {shortened(types[name].flink, 40)}"

    return words
