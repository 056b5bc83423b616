"""Initial values, guessed from the input's columns, so that a new node usually works.

Only required fields without a default are guessed, those marked as usual, and the keys of a join if both inputs have a
column of one name; the user changes the values in the form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ValidationError

from engine.model.free_names import free_id
from engine.model.guesses import group_column, key_column, measure_column, shared_column
from engine.model.schema import Schema
from engine.model.types import Timestamp
from engine.windows.parameters import BOUNDS, GivenWindows, MadeWindows
from ui.forms.spec import Field, FieldKind, fields_of

if TYPE_CHECKING:
    from ui.forms.binding import FormContext

_TEN_SECONDS: Final = 10_000
_GROUPS: Final = ("group_by", "partition_by")
_STARTS: Final = {FieldKind.DURATION: _TEN_SECONDS, FieldKind.NUMBER: 3}


def suggested(model: type[BaseModel], inputs: Mapping[str, Schema | None]) -> dict[str, Any]:
    """Parameters for a node whose inputs have these columns."""
    parameters: dict[str, Any] = windows_of(model, inputs)
    shared = shared_column(inputs.get("left"), inputs.get("right"))
    for field in fields_of(model):
        is_join_key = shared is not None and field.name in ("left_keys", "right_keys")
        guess = [shared] if is_join_key else _guess(field, _columns(field, inputs))
        if guess is not None:
            parameters[field.name] = guess
    if any(field.kind is FieldKind.GRID for field in fields_of(model)):
        return parameters | _first_rows(model)
    return parameters if _is_whole(model, parameters) else _filled(model, parameters, inputs)


def windows_of(model: type[BaseModel], inputs: Mapping[str, Schema | None]) -> dict[str, Any]:
    """The parameters for windows attached to the rows of an input, if the operator can use them; else {}."""
    sides = {f"{port}_window": port for port in ("left", "right")}
    if sides.keys() <= model.model_fields.keys():
        have_windows = all(has_windows(inputs.get(port)) for port in sides.values())
        return {name: list(BOUNDS[:2]) for name in sides} if have_windows else {}
    schema = next((schema for schema in inputs.values() if schema is not None), None)
    bounds = GivenWindows.model_fields.keys() - MadeWindows.model_fields.keys()
    can_take = bounds <= model.model_fields.keys() and has_windows(schema)
    return {name: name for name in BOUNDS[:2]} if can_take else {}


def has_windows(schema: Schema | None) -> bool:
    """Whether rows have attached windows: two timestamp columns with Flink's names."""
    types = {column.name: column.type for column in schema or ()}
    return all(isinstance(types.get(name), Timestamp) for name in BOUNDS[:2])


def _first_rows(model: type[BaseModel]) -> dict[str, Any]:
    """A column and three rows as an example for a source of typed rows."""
    parameters: dict[str, Any] = {}
    for field in fields_of(model):
        if field.kind is FieldKind.GRID:
            parameters[field.name] = [["Hello"], ["World"], ["Hello"]]
        elif field.kind is FieldKind.ITEMS and field.model is not None and "type" in field.model.model_fields:
            parameters[field.name] = [{"name": "word", "type": "STRING"}]
    return parameters


def _is_whole(model: type[BaseModel], parameters: Mapping[str, Any]) -> bool:
    """Whether the parameters are valid in combination; an aggregate without keys and calls is not.

    Errors of single fields do not count.
    """
    try:
        model.model_validate(dict(parameters))
    except ValidationError as error:
        return any(detail["loc"] for detail in error.errors())
    return True


def _filled(model: type[BaseModel], parameters: dict[str, Any], inputs: Mapping[str, Schema | None]) -> dict[str, Any]:
    """Add one duration or number if only that is missing; else add lists, then durations and numbers until valid."""
    for field in fields_of(model):
        start = _STARTS.get(field.kind)
        if start is not None and field.default is None and _is_whole(model, {**parameters, field.name: start}):
            return {**parameters, field.name: start}
    for field in fields_of(model):
        guess = _guess(replace(field, is_required=True), _columns(field, inputs))
        if field.name not in parameters and field.kind in (FieldKind.COLUMNS, FieldKind.ITEMS) and guess is not None:
            parameters[field.name] = guess
    for field in fields_of(model):
        start = _STARTS.get(field.kind)
        if start is not None and field.default is None and not _is_whole(model, parameters):
            parameters[field.name] = start
    return parameters


def suggested_item(model: type[BaseModel], form: FormContext, others: Sequence[Any]) -> dict[str, Any]:
    """A new item of a list, such as another aggregate; its name differs from the names of the others."""
    taken = {str(other.get("name", "")) for other in others if isinstance(other, Mapping)}
    item: dict[str, Any] = {}
    for field in fields_of(model):
        if field.name == "name" and field.kind is FieldKind.TEXT and field.is_required:
            item["name"] = free_id("column", taken)
        elif (guess := _guess(field, form.columns(field.port))) is not None:
            item[field.name] = guess
    return item


def _columns(field: Field, inputs: Mapping[str, Schema | None]) -> Schema | None:
    if field.port is not None:
        return inputs.get(field.port)
    return next((schema for schema in inputs.values() if schema is not None), None)


def _guess(field: Field, schema: Schema | None) -> Any:
    if field.start is not None:
        return field.start
    if not field.is_required and not field.is_usual:
        return None
    match field.kind:
        case FieldKind.DURATION:
            # With a lower bound equal to the upper one, the interval would be empty.
            return -_TEN_SECONDS if field.name.startswith("lower") else _TEN_SECONDS
        case FieldKind.COLUMN:
            return key_column(schema)
        case FieldKind.COLUMNS:
            key = group_column(schema) if field.name in _GROUPS else key_column(schema)
            return None if key is None else [key]
        case FieldKind.EXPRESSION:
            return "true" if schema is None or field.name == "condition" else key_column(schema)
        case FieldKind.CHOICE:
            return field.choices[0]
        case FieldKind.NUMBER:
            return max(1, int(field.low or 1))
        case FieldKind.ITEMS if field.model is not None:
            return [_first_item(field.model, schema)]
    return None


def _first_item(model: type[BaseModel], schema: Schema | None) -> dict[str, Any]:
    item: dict[str, Any] = {}
    for field in fields_of(model):
        if field.is_required and field.kind is FieldKind.TEXT:
            item[field.name] = key_column(schema) or "column"
        elif field.is_required and field.kind is FieldKind.COLUMN:
            item[field.name] = measure_column(schema)
        elif (guess := _guess(field, schema)) is not None:
            item[field.name] = guess
    return item
