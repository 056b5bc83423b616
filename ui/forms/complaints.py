"""The errors in a node's parameters, each at the path of its field."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from engine.errors import ExpressionError, StudioError, unknown_name
from engine.model.wrong_values import in_plain_words
from ui.forms.spec import Field, FieldKind, fields_of

Path = tuple[str | int, ...]
# A field of an item of a list, or the item: `aggregates.0.column`.
_BELOW: Final = re.compile(r"\b[a-z_]+\.\d+(?:\.[a-z_]+)*\b")
_TO_FILL_IN: Final = {
    FieldKind.COLUMN: "choose a column.",
    FieldKind.COLUMNS: "choose at least one column.",
    FieldKind.EXPRESSION: "write an expression over the columns, such as amount > 10.",
    FieldKind.ITEMS: "add at least one row.",
    FieldKind.GRID: "add at least one row.",
    FieldKind.CHOICE: "choose one.",
    FieldKind.OFFERED: "choose one.",
    FieldKind.NUMBER: "enter a number.",
    FieldKind.DURATION: "enter a duration, such as 10 s.",
    FieldKind.CODE: "write a function in Python.",
    FieldKind.FILE: "choose a file.",
}


class Complaints:
    """Sentences by path. A form takes the sentences of each field that it draws; the rest is shown above the form."""

    def __init__(
        self,
        complaints: Sequence[tuple[Path, str]],
        refused: Sequence[ExpressionError] = (),
    ) -> None:
        self._open = list(complaints)
        self._refused = refused

    def take(self, path: Path) -> tuple[str, ...]:
        """The complaints at exactly this path; each is returned once."""
        taken = tuple(text for at, text in self._open if at == path)
        self._open = [complaint for complaint in self._open if complaint[0] != path]
        return taken

    def has(self, name: str) -> bool:
        """Whether there is a complaint at a field or below it."""
        return any(at[:1] == (name,) for at, _ in self._open)

    def take_below(self, path: Path) -> tuple[str, ...]:
        """The complaints at this path or below it that were not taken yet."""
        taken = tuple(text for at, text in self._open if at[: len(path)] == path)
        self._open = [complaint for complaint in self._open if complaint[0][: len(path)] != path]
        return taken

    def below(self, path: Path) -> tuple[tuple[Path, str], ...]:
        """The complaints at this path or below it, each with its path, without taking them."""
        return tuple(complaint for complaint in self._open if complaint[0][: len(path)] == path)

    def rest(self) -> tuple[str, ...]:
        """The complaints that no field has taken."""
        return tuple(text for _, text in self._open)

    def refused(self, path: Path) -> tuple[ExpressionError, ...]:
        """The expressions that the analyzer refused at a field."""
        return tuple(error for error in self._refused if path_of(error.field) == path)


def complaints_of(model: type[BaseModel], parameters: Mapping[str, Any], problems: Sequence[StudioError]) -> Complaints:
    """All errors in these parameters: those of the model's validation, or if there are none, those of the planner."""
    try:
        model.model_validate(dict(parameters))
    except ValidationError as error:
        details = error.errors()
        # A list of which no row is valid counts as too short as well.
        within = [
            other["loc"][: len(detail["loc"])]
            for detail in details
            for other in details
            if len(other["loc"]) > len(detail["loc"])
        ]
        wrong = [detail for detail in details if detail["type"] != "too_short" or detail["loc"] not in within]
        return Complaints([_complaint(model, detail) for detail in wrong])
    complaints = [(path_of(problem.field), without_field(problem)) for problem in problems]
    return Complaints(complaints, [problem for problem in problems if isinstance(problem, ExpressionError)])


def path_of(field: str) -> Path:
    """The path of a field as errors write it: `aggregates.0.column`."""
    return tuple(int(part) if part.isdecimal() else part for part in field.split(".") if part)


def is_empty_at(parameters: Mapping[str, Any], path: Path) -> bool:
    """Whether nothing was given at a path of a node's parameters."""
    value: Any = parameters
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return True
    return value in (None, "", [], (), {})


def without_field(problem: StudioError) -> str:
    """The sentence without the field and the expression at its beginning, because it is shown at that field."""
    if isinstance(problem, ExpressionError):
        return problem.reason
    sentence, place = problem.sentence, problem.field
    while place:
        # It may begin with the item of a list that the field is in.
        sentence, place = sentence.removeprefix(f"{place}: "), place.rpartition(".")[0]
    return sentence


def _complaint(model: type[BaseModel], error: Any) -> tuple[Path, str]:
    path = tuple(part for part in error["loc"] if isinstance(part, (str, int)))
    field = _field_at(model, path)
    got = json.dumps(error["input"], default=str, ensure_ascii=False)[:120]
    match error["type"]:
        case "extra_forbidden":
            return path, f"{unknown_name('field', str(path[-1]), (other.name for other in fields_of(model)))}."
        case "missing" | "too_short" | "string_too_short":
            text = _to_fill_in(field)
        case _ if path and error["input"] in (None, "", []):
            text = _to_fill_in(field)
        case _ if field and field.kind is FieldKind.DURATION and isinstance(error["input"], str):
            text = f"{error['input']!r} is not a duration. Write 500 ms, 10 s, 5 min or 1 h."
        case "value_error" if not path and (named := _first_word(error["msg"])) in model.model_fields:
            # An error in several fields together is shown at the field that the sentence begins with.
            return (named,), with_titles(model, error["msg"].removeprefix("Value error, "))
        case _:
            text = f"{in_plain_words(error)} (got {got})." if path else f"{in_plain_words(error)}."
    return path, with_titles(model, text)


def _to_fill_in(field: Field | None) -> str:
    """What to do about an empty field."""
    if field is None:
        return "fill this in."
    what = _TO_FILL_IN.get(field.kind)
    return what or f"fill in the {field.title[:1].lower()}{field.title[1:]}."


def in_words(model: type[BaseModel], parameters: Mapping[str, Any], problem: StudioError) -> str:
    """A problem of a node as its form shows it: `Aggregates, row 1, Column: unknown column 'q'.`"""
    path = path_of(problem.field)
    complaints = complaints_of(model, parameters, (problem,)).below(path[:1]) if path else ()
    if not complaints:
        return with_titles(model, problem.sentence)
    at, text = complaints[0]
    # An input is no field: its sentence names it.
    return f"{place_of(model, at)}: {text}" if at[0] in model.model_fields else text


def place_of(model: type[BaseModel], path: Path) -> str:
    """A path as the form of a model names it: `Aggregates, row 1, Column`; names that the model lacks are unchanged."""
    words: list[str] = []
    current: type[BaseModel] | None = model
    for part in path:
        if isinstance(part, int):
            words.append(f"row {part + 1}")
            continue
        field = next((field for field in fields_of(current) if field.name == part), None) if current else None
        words.append(field.title if field else part)
        current = field.model if field else None
    return ", ".join(words)


def with_titles(model: type[BaseModel], sentence: str) -> str:
    """A sentence with the names of fields replaced by their titles in the form: Window size, not size_ms."""
    titles = {field.name: field.title for field in fields_of(model)}
    sentence = _BELOW.sub(
        lambda word: place_of(model, path_of(word[0])) if word[0].partition(".")[0] in titles else word[0], sentence
    )
    return re.sub(r"\b\w+_\w+\b", lambda word: titles.get(word[0], word[0]), sentence)


def _first_word(message: str) -> str:
    return message.removeprefix("Value error, ").split(" ", 1)[0]


def _field_at(model: type[BaseModel], path: Path) -> Field | None:
    field: Field | None = None
    for part in path:
        if isinstance(part, int):
            continue
        field = next((field for field in fields_of(model) if field.name == part), None)
        if field is None:
            return None
        model = field.model or model
    return field
