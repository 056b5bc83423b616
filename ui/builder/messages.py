"""What the canvas says: one model per gesture, numbered by the canvas in the order of what the person did."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from engine.contract.operator import OUT

Spot = tuple[float, float]


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")
    n: int


class Select(_Message):
    """A node, by its id, or an edge, by its key, is selected. close: nothing is, and its form is put away."""

    kind: Literal["select"]
    what: str | None = None
    close: bool = False


class Add(_Message):
    """A node from the palette: at a place, behind a node, or on an edge. id: what the canvas calls it already."""

    kind: Literal["add"]
    operator: str
    id: str | None = None
    place: Spot | None = None
    after: str | None = None
    edge: str | None = None


class Connect(_Message):
    """An edge was drawn."""

    kind: Literal["connect"]
    source: str
    target: str
    port: str
    out: str = OUT


class Delete(_Message):
    """What was selected goes."""

    kind: Literal["delete"]
    nodes: tuple[str, ...] = ()
    edges: tuple[str, ...] = ()


class Move(_Message):
    """Nodes were placed by hand; None gives one back to the automatic layout."""

    kind: Literal["move"]
    places: dict[str, Spot | None]


class PastedNode(BaseModel):
    """A node as the clipboard has it."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    id: str
    operator: str
    parameters: dict[str, Any] = Field(default_factory=dict)
    place: Spot | None = None


class PastedEdge(BaseModel):
    """An edge between pasted nodes."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    source: str
    target: str
    port: str
    out: str = OUT


class Paste(_Message):
    """Copies of nodes and of the edges between them."""

    kind: Literal["paste"]
    nodes: tuple[PastedNode, ...]
    edges: tuple[PastedEdge, ...]


class Insert(_Message):
    """A node that stood alone was dropped on an edge."""

    kind: Literal["insert"]
    node: str
    edge: str


class FixIt(_Message):
    """The fix with this label was chosen, for a node's problem or (node is empty) for the refused connection."""

    kind: Literal["fix"]
    node: str
    label: str


class Undo(_Message):
    """Take back the last edit."""

    kind: Literal["undo"]


class Redo(_Message):
    """Do it again."""

    kind: Literal["redo"]


class Save(_Message):
    """Save the document."""

    kind: Literal["save"]


class Run(_Message):
    """Run the document."""

    kind: Literal["run"]


class Open(_Message):
    """Show the changelog of an edge, or the ledger of late and rejected records of a node."""

    kind: Literal["open"]
    edge: str | None = None
    late: str | None = None


Message = Annotated[
    Select | Add | Connect | Delete | Move | Paste | Insert | FixIt | Undo | Redo | Save | Run | Open,
    Field(discriminator="kind"),
]
