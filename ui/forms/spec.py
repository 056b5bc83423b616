"""The description of a form's field, read from any parameter model."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from engine.contract.named import Named
from engine.contract.source import Source


class FieldKind(Enum):
    """The kind of a field, which determines its widget."""

    TEXT = "text"
    NUMBER = "number"
    DURATION = "duration"
    INSTANT = "instant"
    TOGGLE = "toggle"
    CHOICE = "choice"
    COLUMN = "column"
    COLUMNS = "columns"
    EXPRESSION = "expression"
    FILE = "file"
    WORDS = "words"
    ITEMS = "items"
    GRID = "grid"
    TYPE = "type"
    TYPES = "types"
    OFFERED = "offered"
    CODE = "code"
    JSON = "json"


@dataclass(frozen=True)
class Field:
    """One field. choices: the values to choose from, as in the document. model: the model of an item of a list.

    default: as in the document, None if it is empty. low: the minimum of a number. port: the input whose columns a
    column picker offers. is_free: an expression can be typed instead of a column. is_rare: the field is seldom needed.
    only: the field applies if one of these is chosen in the field of the same model that offers them; empty: always.
    unless: the field does not apply if this other field is set. start: the initial value in a new node, if not the
    default. is_usual: a new node has a guess, though none is required. nothing: what no choice of a column means.
    adds_functions: the functions of the node's code are choices too. is_beside: drawn in one row with the field before
    it. titles: of choices that are no words for people.
    """

    name: str
    title: str
    description: str
    kind: FieldKind
    is_required: bool
    is_optional: bool
    default: Any = None
    choices: tuple[str | int, ...] = ()
    model: type[BaseModel] | None = None
    low: float | None = None
    is_whole: bool = True
    port: str | None = None
    is_free: bool = False
    is_rare: bool = False
    only: tuple[str, ...] = ()
    unless: str = ""
    start: Any = None
    is_usual: bool = False
    nothing: str = "none"
    adds_functions: bool = False
    is_beside: bool = False
    titles: Mapping[Any, str] = field(default_factory=dict, compare=False)


@cache
def fields_of(model: type[BaseModel]) -> tuple[Field, ...]:
    """The fields of a model: its own (files first, fields marked as last at the end), then those of all sources."""
    shared = [name for name in model.model_fields if issubclass(model, Source) and name in Source.model_fields]
    extras = {name: _extra(info) for name, info in model.model_fields.items()}
    own = [name for name, extra in extras.items() if name not in shared and not extra.get("hidden")]
    own.sort(key=lambda name: _place(extras[name]))
    return tuple(_field(name, model.model_fields[name]) for name in (*own, *shared))


def _place(extra: dict[str, Any]) -> int:
    """The sort key of a field: a file and the choices in it come first, seldom needed fields last."""
    return 0 if extra.get("file") or extra.get("offered") else 2 if extra.get("last") else 1


def _field(name: str, info: FieldInfo) -> Field:
    annotation, is_optional = _without_none(info.annotation)
    extra = _extra(info)
    kind, choices, model = _kind(annotation, extra)
    if named := [mark for mark in info.metadata if isinstance(mark, Named)]:
        kind, choices = FieldKind.CHOICE, tuple(named[0].known())
    default = None if info.default is PydanticUndefined else _as_document(info.default)
    if info.default_factory is not None:
        default = _as_document(info.get_default(call_default_factory=True, validated_data={}))
    return Field(
        name=name,
        title=info.title or name.replace("_", " ").capitalize(),
        description=info.description or "",
        kind=kind,
        is_required=info.is_required(),
        is_optional=is_optional,
        default=default,
        choices=choices,
        model=model,
        low=_low(info),
        is_whole=annotation is not float,
        port=str(extra["port"]) if "port" in extra else None,
        is_free=bool(extra.get("column") and extra.get("expression")),
        is_rare=bool(extra.get("last")),
        only=tuple(extra.get("only", ())),
        unless=str(extra.get("unless", "")),
        start=extra.get("start"),
        is_usual=bool(extra.get("usual")),
        nothing=str(extra.get("nothing", "none")),
        adds_functions=bool(extra.get("functions")),
        is_beside=bool(extra.get("beside")),
        titles=extra.get("titles", {}),
    )


def _extra(info: FieldInfo) -> dict[str, Any]:
    return info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}


def _kind(annotation: Any, extra: dict[str, Any]) -> tuple[FieldKind, tuple[str | int, ...], type[BaseModel] | None]:
    origin, inner = get_origin(annotation), get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return FieldKind.CHOICE, tuple(member.value for member in annotation), None
    if origin is Literal:
        return FieldKind.CHOICE, tuple(inner), None
    is_list = origin in (tuple, list)
    if is_list and inner and isinstance(inner[0], type) and issubclass(inner[0], BaseModel):
        return FieldKind.ITEMS, (), inner[0]
    if is_list and inner and inner[0] is str:
        is_columns = bool(extra.get("columns") or extra.get("column"))
        return (FieldKind.COLUMNS if is_columns else FieldKind.WORDS), (), None
    if is_list and inner and extra.get("columns") and (model := _model_beside_text(inner[0])) is not None:
        return FieldKind.COLUMNS, (), model
    if origin is dict and inner == (str, str):
        return FieldKind.TYPES, (), None
    if is_list and inner and _is_record(inner[0]):
        return FieldKind.GRID, (), None
    marked = {
        "text": FieldKind.TEXT,
        "is_type": FieldKind.TYPE,
        "duration": FieldKind.DURATION,
        "instant": FieldKind.INSTANT,
        "column": FieldKind.COLUMN,
        "columns": FieldKind.COLUMNS,
        "expression": FieldKind.EXPRESSION,
        "file": FieldKind.FILE,
        "offered": FieldKind.OFFERED,
        "code": FieldKind.CODE,
    }
    for mark, kind in marked.items():
        if extra.get(mark):
            return kind, (), None
    plain = {bool: FieldKind.TOGGLE, int: FieldKind.NUMBER, float: FieldKind.NUMBER, str: FieldKind.TEXT}
    return plain.get(annotation, FieldKind.JSON), (), None


def _is_record(annotation: Any) -> bool:
    parts = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
    return all(get_origin(part) in (list, dict, tuple) or part in (list, dict) for part in parts)


def _model_beside_text(annotation: Any) -> type[BaseModel] | None:
    """The model of `str | Model`, as in a list of columns that may contain named expressions."""
    parts = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else ()
    models = [part for part in parts if isinstance(part, type) and issubclass(part, BaseModel)]
    return models[0] if str in parts and len(models) == 1 else None


def _without_none(annotation: Any) -> tuple[Any, bool]:
    if get_origin(annotation) in (Union, types.UnionType):
        parts = [part for part in get_args(annotation) if part is not type(None)]
        if len(parts) < len(get_args(annotation)):
            return (parts[0] if len(parts) == 1 else Union[tuple(parts)]), True  # noqa: UP007
    return annotation, False


def _low(info: FieldInfo) -> float | None:
    for rule in info.metadata:
        if (low := getattr(rule, "ge", None)) is not None:
            return float(low)
        if (low := getattr(rule, "gt", None)) is not None:
            return float(low) + 1
    return None


def _as_document(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, (tuple, list)):
        return [_as_document(element) for element in value]
    return value
