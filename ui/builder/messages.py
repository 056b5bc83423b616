"""The messages of the canvas: one model per gesture, numbered by the canvas in the order of the gestures."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from engine.contract.operator import OUT

Spot = tuple[float, float]


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")
    n: int


class Select(_Message):
    """A node, by its id, or an edge, by its key, is selected. None: nothing is selected, and the form is closed."""

    kind: Literal["select"]
    what: str | None = None


class Add(_Message):
    """A node from the palette: at a place, behind a node, or on an edge. id: the id that the canvas shows already."""

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
    """The selected nodes and edges were deleted."""

    kind: Literal["delete"]
    nodes: tuple[str, ...] = ()
    edges: tuple[str, ...] = ()


class Move(_Message):
    """Nodes were placed by hand, or folded groups (`group:NAME`); None returns them to the automatic layout."""

    kind: Literal["move"]
    places: dict[str, Spot | None]


class PastedNode(BaseModel):
    """A node from the clipboard."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    id: str
    operator: str
    parameters: dict[str, Any] = Field(default_factory=dict)
    place: Spot | None = None
    group: str = ""


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


class GroupNodes(_Message):
    """The selected nodes become a group. name: the name that the canvas shows already."""

    kind: Literal["group"]
    nodes: tuple[str, ...]
    name: str


class Ungroup(_Message):
    """A group is taken away; its nodes stay."""

    kind: Literal["ungroup"]
    group: str


class Fold(_Message):
    """Groups were folded (true) or opened."""

    kind: Literal["fold"]
    groups: dict[str, bool]


class Insert(_Message):
    """An unconnected node was dropped on an edge."""

    kind: Literal["insert"]
    node: str
    edge: str


class FixIt(_Message):
    """The fix with this label was chosen, for a node's problem or (node is empty) for the refused connection."""

    kind: Literal["fix"]
    node: str
    label: str


class Undo(_Message):
    """Undo the last edit."""

    kind: Literal["undo"]


class Redo(_Message):
    """Redo the last undone edit."""

    kind: Literal["redo"]


class Save(_Message):
    """Save the document."""

    kind: Literal["save"]


class Run(_Message):
    """Run the document."""

    kind: Literal["run"]


class Open(_Message):
    """Show the changelog of an edge, the ledger of late and rejected records of a node, or its state over the run."""

    kind: Literal["open"]
    edge: str | None = None
    late: str | None = None
    state: str | None = None


Message = Annotated[
    Select
    | Add
    | Connect
    | Delete
    | Move
    | Paste
    | GroupNodes
    | Ungroup
    | Fold
    | Insert
    | FixIt
    | Undo
    | Redo
    | Save
    | Run
    | Open,
    Field(discriminator="kind"),
]
