"""How a widget and the document meet: it shows the document's value and writes what was typed, as it was typed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from engine.joins.sides import JoinKind, joined
from engine.model.pipeline import Node
from engine.model.schema import Schema
from ui.builder.drafting import Drafting
from ui.builder.editing import ABSENT, set_parameter
from ui.builder.server_consent import note_typed
from ui.forms.complaints import Complaints, Path
from ui.forms.pending import pending
from ui.forms.spec import Field


@dataclass(frozen=True)
class FormContext:
    """A node's form: where it writes, which columns its inputs have (None: not known yet), what is wrong.

    output: the node's own columns, once they are known. expressions: the widgets that are drawn for expressions, by
    their keys with the columns to complete.
    """

    drafting: Drafting
    node: Node
    inputs: Mapping[str, Schema | None]
    complaints: Complaints
    output: Schema | None = None
    path: Path = ()
    expressions: dict[str, Schema | None] = field(default_factory=dict)

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

    def scope(self, port: str | None) -> Schema | None:
        """The columns of an expression: of both inputs where there are two, as an inner join names them."""
        if port is None and len(self.inputs) == 2:
            left, right = self.inputs.values()
            if left is not None and right is not None:
                return Schema(joined(left, right, JoinKind.INNER))
        return self.columns(port)

    def value(self, field: Field) -> Any:
        """What the document has, or the default."""
        current: Any = self.node.parameters
        for part in (*self.path, field.name):
            try:
                current = current[part]
            except (KeyError, IndexError, TypeError):
                return deepcopy(field.default)
        return current

    def key(self, name: str) -> str:
        """A widget's key: another one for another node, and whenever its parameter changed behind its back."""
        place = ".".join(map(str, (*self.path, name)))
        return self._prefix(place) + place

    def _prefix(self, place: str) -> str:
        parameter = place.partition(".")[0]
        generation = self.drafting.generation(self.node.id, f"{self.node.id}|{parameter}")
        return f"form|{self.drafting.key}|{self.node.id}|{generation}|"

    def write(self, path: Path, value: object, *, redraw: bool = False, merge: bool = True) -> None:
        """Put a value at a path of the parameters; ABSENT takes it away."""
        drafting = self.drafting
        node = drafting.pipeline.node(self.node.id)
        new = value if len(path) == 1 else _with(node.parameters.get(str(path[0]), []), path[1:], value)
        document = set_parameter(drafting.pipeline, node.id, str(path[0]), new)
        note_typed(node.operator, node.parameters, document.node(node.id).parameters)
        place = ".".join(map(str, path))
        drafting.edit(document, merge=f"{node.id}|{place}" if merge else "", redraw=redraw)

    def bind(self, field: Field, key: str, shown: Any, read: Callable[[Any], object], *, redraw: bool = False) -> None:
        """Let the document take what the widget with this key says. shown: what it says while nobody touches it."""
        path = (*self.path, field.name)

        def take(raw: Any) -> None:
            if self.is_current(key):
                self.write(path, read(raw), redraw=redraw)

        pending().draw(key, shown, take)

    def is_current(self, key: str) -> bool:
        """Whether a widget is still that of its field: the node is there, and the field did not change elsewhere."""
        is_there = any(node.id == self.node.id for node in self.drafting.pipeline.nodes)
        return is_there and key.startswith(self._prefix(key.rpartition("|")[2]))

    def now(self, field: Field) -> Any:
        """What the document has by now, which may be more than what was drawn."""
        nodes = [node for node in self.drafting.pipeline.nodes if node.id == self.node.id]
        return replace(self, node=nodes[0]).value(field) if nodes else None


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
