"""How a widget and the document meet: it shows the document's value and writes what was typed, as it was typed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from engine.pipeline import Node
from engine.schema import Schema
from ui.drafting import Drafting
from ui.editing import ABSENT, set_parameter
from ui.forms.complaints import Complaints, Path
from ui.forms.spec import Field
from ui.guard import guarded


@dataclass(frozen=True)
class FormContext:
    """A node's form: where it writes, which columns its inputs have (None: not known yet), what is wrong.

    output: the node's own columns, once they are known.
    """

    drafting: Drafting
    node: Node
    inputs: Mapping[str, Schema | None]
    complaints: Complaints
    output: Schema | None = None
    path: Path = ()

    def below(self, *parts: str | int) -> FormContext:
        """The same form, inside a list."""
        return replace(self, path=(*self.path, *parts))

    def columns(self, port: str | None) -> Schema | None:
        """The columns that a picker offers: those of the named input, else of all inputs, else the node's own."""
        if port is not None:
            return self.inputs.get(port)
        known = [schema for schema in self.inputs.values() if schema is not None]
        if known:
            return known[0]
        return self.output if not self.inputs else None

    def value(self, field: Field) -> Any:
        """What the document has, or the default."""
        found: Any = self.node.parameters
        for part in (*self.path, field.name):
            try:
                found = found[part]
            except (KeyError, IndexError, TypeError):
                return deepcopy(field.default)
        return found

    def key(self, name: str) -> str:
        """A widget's key: another one for another node, and whenever the document changed behind its back."""
        place = ".".join(map(str, (*self.path, name)))
        return f"form|{self.drafting.key}|{self.drafting.revision}|{self.node.id}|{place}"

    def write(self, path: Path, value: object, *, redraw: bool = False, merge: bool = True) -> None:
        """Put a value at a path of the parameters; ABSENT takes it away."""
        drafting = self.drafting
        node = drafting.pipeline.node(self.node.id)
        new = value if len(path) == 1 else _with(node.parameters.get(str(path[0]), []), path[1:], value)
        document = set_parameter(drafting.pipeline, node.id, str(path[0]), new)
        place = ".".join(map(str, path))
        drafting.edit(document, merge=f"{node.id}|{place}" if merge else "", redraw=redraw)

    def writer(self, field: Field, key: str, convert: Callable[[Any], object]) -> Callable[[], None]:
        """The callback of a widget: convert what it holds and write it."""
        path = (*self.path, field.name)
        drawn = self.value(field)

        def take() -> None:
            # Streamlit may call this for a field that nobody touched, when a run was interrupted, and after the
            # document has changed elsewhere: what still says what was drawn is no edit.
            value = convert(st.session_state[key])
            if not (value == drawn or (_is_blank(value) and (_is_blank(drawn) or drawn == field.default))):
                self.write(path, value)

        return guarded(take)


def _is_blank(value: object) -> bool:
    """Whether a widget with this value is empty; zero is not."""
    return value is ABSENT or value is None or value in ("", [], ())


def _with(container: Any, path: Path, value: object) -> Any:
    """A copy of a list or object in which one place is another; what is not there yet is made."""
    head, rest = path[0], path[1:]
    if isinstance(head, int):
        items = list(container) if isinstance(container, (list, tuple)) else []
        while len(items) <= head:
            items.append({})
        items[head] = _with(items[head], rest, value) if rest else value
        return items
    fields = dict(container) if isinstance(container, Mapping) else {}
    if rest:
        fields[head] = _with(fields.get(head, {}), rest, value)
    elif value is ABSENT:
        fields.pop(head, None)
    else:
        fields[head] = value
    return fields
