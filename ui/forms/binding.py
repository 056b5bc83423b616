"""The binding of a widget to the document: it shows the document's value and writes the user's input to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any
from zlib import crc32

from pydantic import ValidationError

from engine.joins.sides import seen
from engine.model.pipeline import Node
from engine.model.schema import Schema
from engine.model.types import Type
from engine.registry import operators
from ui.builder.drafting import Drafting
from ui.builder.editing import set_parameter, with_value
from ui.builder.nested_fields import nested_fields, with_column_of
from ui.builder.server_consent import note_typed
from ui.components.editor import Editing
from ui.forms.complaints import Complaints, Path
from ui.forms.spec import Field
from ui.shell.pending import pending


@dataclass(frozen=True)
class FormContext:
    """A node's form: the document that it edits, the columns of the inputs (None: not known yet), the errors.

    output: the node's own columns, once they are known. path: the place in the parameters that the fields are below.
    editing: by the keys of the widgets for expressions and code, how they are edited.
    """

    drafting: Drafting
    node: Node
    inputs: Mapping[str, Schema | None]
    complaints: Complaints
    output: Schema | None = None
    path: Path = ()
    editing: dict[str, Editing] = field(default_factory=dict)

    def below(self, *parts: str | int) -> FormContext:
        """The same form, inside a list."""
        return replace(self, path=(*self.path, *parts))

    def columns(self, port: str | None) -> Schema | None:
        """The columns that a picker offers: those of the named input, else of the first input whose columns are
        known, else the node's own.
        """
        if port is not None:
            return self.inputs.get(port)
        schemas = [schema for schema in self.inputs.values() if schema is not None]
        if schemas:
            return schemas[0]
        return self.output if not self.inputs else None

    def fields_in(self, field: Field) -> Mapping[str, Type]:
        """The fields inside of ROW columns that a picker offers as well, by their path: `customer.city`."""
        is_apart = "window" in field.name or not (self.inputs or field.name == "event_time")
        return {} if is_apart else nested_fields(self.columns(field.port))

    def as_column(self, field: Field, path: str) -> str:
        """Make a column of a nested field in the document, and draw the picker again. Returns its name."""
        document, name = with_column_of(self.drafting.pipeline, self.node.id, field.port, path)
        place = (*self.path, field.name)
        self.drafting.edit(document, merge=f"{self.node.id}|{'.'.join(map(str, place))}")
        self.drafting.redraw(f"{self.node.id}|{place[0]}")
        return name

    def scope(self, port: str | None) -> Schema | None:
        """The columns of an expression. With two inputs and no port, those of both, as an inner join names them."""
        schemas = [schema for schema in self.inputs.values() if schema is not None]
        return seen(schemas) if port is None and len(schemas) == 2 else self.columns(port)

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of rows that may precede a column in an expression, as in A.v."""
        cls = operators().get(self.node.operator)
        try:
            return () if cls is None else cls.model_validate(self.node.parameters).variables
        except ValidationError:
            return ()

    def value(self, field: Field) -> Any:
        """The value in the document, or the default."""
        current: Any = self.node.parameters
        for part in (*self.path, field.name):
            try:
                current = current[part]
            except (KeyError, IndexError, TypeError):
                return deepcopy(field.default)
        return current

    def key(self, name: str, labels: Iterable[str] = ()) -> str:
        """A widget's key. It differs per node, and changes when the parameter is changed outside of the widget.

        labels: of a widget's choices, where those of the same choices may change: the browser keeps labels, not
        choices, and would send an old one as if it had been typed.
        """
        digest = crc32("\n".join(labels).encode())
        place = ".".join(map(str, (*self.path, name, *([digest] if digest else []))))
        return self._prefix(place) + place

    def _prefix(self, place: str) -> str:
        parameter = place.partition(".")[0]
        generation = self.drafting.generation(self.node.id, f"{self.node.id}|{parameter}")
        return f"form|{self.drafting.key}|{self.node.id}|{generation}|"

    def write(self, path: Path, value: object, *, redraw: bool = False, merge: bool = True) -> None:
        """Put a value at a path of the parameters; ABSENT removes it."""
        drafting = self.drafting
        node = drafting.pipeline.node(self.node.id)
        new = value if len(path) == 1 else with_value(node.parameters.get(str(path[0]), []), path[1:], value)
        document = set_parameter(drafting.pipeline, node.id, str(path[0]), new)
        note_typed(node.operator, node.parameters, document.node(node.id).parameters)
        place = ".".join(map(str, path))
        drafting.edit(document, merge=f"{node.id}|{place}" if merge else "", redraw=redraw)

    def bind(self, field: Field, key: str, shown: Any, read: Callable[[Any], object], *, redraw: bool = False) -> None:
        """Write the input of the widget with this key to the document. shown: its value before any input."""
        path = (*self.path, field.name)

        def take(raw: Any) -> None:
            if self.is_current(key):
                self.write(path, read(raw), redraw=redraw)

        pending().draw(key, shown, take)

    def is_current(self, key: str) -> bool:
        """Whether a widget is up to date: its node exists, and its field was not changed outside of the widget."""
        is_there = any(node.id == self.node.id for node in self.drafting.pipeline.nodes)
        return is_there and key.startswith(self._prefix(key.rpartition("|")[2]))

    def now(self, field: Field) -> Any:
        """The current value in the document, which may be newer than the drawn one; None if the node is gone."""
        nodes = [node for node in self.drafting.pipeline.nodes if node.id == self.node.id]
        return replace(self, node=nodes[0]).value(field) if nodes else None
