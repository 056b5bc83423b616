"""The user's gestures on the canvas as edits of the draft: each message once, in order, or refused with a reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never

from pydantic import TypeAdapter

from engine.contract.operator import OUT
from engine.errors import PlanRejected
from engine.model.pipeline import Edge, Group, Node, Pipeline, Place, free_node_id
from ui.builder.checking import checked
from ui.builder.drafting import Drafting
from ui.builder.editing import (
    add_node,
    connect,
    delete_node,
    disconnect,
    edge_at,
    in_group_of,
    insert_on_edge,
    operator_class,
    refusal,
    takes_many,
)
from ui.builder.fixes import Fix, fixes, joined, suggested_for, united
from ui.builder.grouping import PREFIX, folded, group_of, grouped, ungrouped
from ui.builder.messages import (
    Add,
    Connect,
    Delete,
    FixIt,
    Fold,
    GroupNodes,
    Insert,
    Message,
    Move,
    Open,
    Paste,
    Redo,
    Run,
    Save,
    Select,
    Spot,
    Undo,
    Ungroup,
)

_MESSAGE: TypeAdapter[Message] = TypeAdapter(Message)
UNPLACED = Place()


@dataclass(frozen=True)
class Refusal:
    """A refused connection: the message that asked for it, the reason, and what one click can do instead."""

    n: int
    source: str
    target: str
    sentence: str
    fixes: tuple[Fix, ...]


@dataclass
class Dialogue:
    """The dialogue with one canvas: its session, the last refusal, and the requests that are not yet fulfilled."""

    session: str = ""
    refusal: Refusal | None = None
    wishes: list[Open | Run | Select] = field(default_factory=list)

    def hear(self, drafting: Drafting, sent: Mapping[str, Any]) -> None:
        """Take every message that the document has not taken yet, in the canvas's order.

        The last number is kept with the document. Nothing here touches Streamlit's state, so nothing interrupts it.
        """
        heard = drafting.history.heard
        if sent["session"] != self.session:
            self.session, self.refusal = str(sent["session"]), None
        for raw in sent["messages"]:
            number = int(raw["n"])
            if number <= heard.get(self.session, 0):
                continue
            # Counted first: a message that fails is reported once, and does not block the next ones.
            heard[self.session] = number
            self._take(drafting, _MESSAGE.validate_python(raw))

    def is_new(self, drafting: Drafting, sent: Mapping[str, Any]) -> bool:
        """Whether there is a message that the document has not taken."""
        heard = drafting.history.heard.get(str(sent["session"]), 0)
        return any(int(raw["n"]) > heard for raw in sent["messages"])

    def _take(self, drafting: Drafting, message: Message) -> None:
        pipeline = drafting.pipeline
        refused, self.refusal = self.refusal, None
        match message:
            case Select():
                self.refusal = refused
                drafting.selection = message.what
                drafting.is_picked = message.what is not None and group_of(message.what) is None
                if message.what is None:
                    self.wishes.append(message)
            case Add():
                grown, node_id = _added(pipeline, message)
                drafting.edit(suggested_for(grown, node_id))
                drafting.selection = node_id
            case Connect():
                self._connect(drafting, message)
            case Delete():
                _delete(drafting, message.nodes, message.edges)
                drafting.selection = None
            case Move():
                nodes = tuple(_placed(node, message.places) for node in pipeline.nodes)
                groups = tuple(_placed_group(group, message.places) for group in pipeline.groups)
                merge = "move " + " ".join(sorted(message.places))
                moved = pipeline.model_copy(update={"nodes": nodes, "groups": groups})
                drafting.edit(moved, merge=merge, redraw=False)
            case GroupNodes():
                grown, name = grouped(pipeline, message.nodes, message.name)
                drafting.edit(grown)
                drafting.selection = f"{PREFIX}{name}" if name else drafting.selection
            case Ungroup():
                drafting.edit(ungrouped(pipeline, message.group))
                if group_of(drafting.selection) == message.group:
                    drafting.selection = None
            case Fold():
                drafting.edit(folded(pipeline, message.groups), merge="fold", redraw=False)
            case Paste():
                grown, names = _pasted(pipeline, message)
                drafting.edit(grown)
                drafting.selection = names[0] if len(names) == 1 else drafting.selection
            case Insert():
                drafting.edit(_inserted(pipeline, message))
                drafting.selection = message.node
            case FixIt():
                self._fix(drafting, message, refused)
            case Undo():
                drafting.undo()
            case Redo():
                drafting.redo()
            case Save():
                drafting.save()
            case Open() | Run():
                self.wishes.append(message)
            case _:
                assert_never(message)

    def _connect(self, drafting: Drafting, message: Connect) -> None:
        pipeline = drafting.pipeline
        source, target, port = message.source, message.target, message.port
        why = refusal(pipeline, source, target, port)
        if why is not None:
            self.refusal = Refusal(message.n, source, target, why, ())
            return
        taken = tuple(edge.source for edge in pipeline.inputs(target) if edge.target_port == port)
        if taken and source not in taken and not takes_many(pipeline.node(target)):
            self.refusal = _occupied(pipeline, message, taken)
            return
        grown = joined(pipeline, source, target, port, message.out)
        before = {str(problem) for problem in checked(pipeline).problems}
        verdict = checked(grown)
        new = [error for error in verdict.problems if isinstance(error, PlanRejected) and str(error) not in before]
        if new:
            sentence = f"{source} cannot be connected to {target}. {_named(new[0], target)}"
            self.refusal = Refusal(message.n, source, target, sentence, fixes(grown, new[0], verdict))
            return
        drafting.edit(grown)

    def _fix(self, drafting: Drafting, message: FixIt, refused: Refusal | None) -> None:
        offered: Sequence[Fix] = ()
        if not message.node:
            offered = refused.fixes if refused is not None else ()
        else:
            verdict = checked(drafting.pipeline)
            offered = [
                fix for problem in verdict.of(message.node) for fix in fixes(drafting.pipeline, problem, verdict)
            ]
        for fix in offered:
            if fix.label == message.label:
                drafting.edit(fix.document)
                drafting.selection = message.node or (refused.target if refused else None)
                return


def _named(problem: PlanRejected, target: str) -> str:
    sentence = problem.sentence
    if problem.node == target:
        return sentence[:1].upper() + sentence[1:]
    return f"{problem.node}: {sentence}"


def _occupied(pipeline: Pipeline, message: Connect, taken: tuple[str, ...]) -> Refusal:
    target, port, source = message.target, message.port, message.source
    where = f"its input {port}" if port != "in" else "its input"
    why = f"{where} takes one edge and is already connected to {taken[0]}"
    sentence = f"{source} cannot be connected to {target}: {why}."
    options = [Fix(f"Replace {taken[0]} by {source}", joined(pipeline, source, target, port, message.out))]
    both = united(pipeline, target, port, (*taken, source))
    if not checked(both).problems or len(checked(both).problems) <= len(checked(pipeline).problems):
        options.append(Fix("Put a union of both before it", both))
    return Refusal(message.n, source, target, sentence, tuple(options))


def _added(pipeline: Pipeline, message: Add) -> tuple[Pipeline, str]:
    edge = edge_at(pipeline, message.edge or "")
    cls = operator_class(message.operator)
    if edge is not None and cls is not None and cls.role == "operator":
        grown, node_id = insert_on_edge(pipeline, edge, message.operator, wanted=message.id)
    else:
        after, port = (edge.source, edge.source_port) if edge is not None else (message.after, OUT)
        after = after if _can_feed(pipeline, after) else None
        grown, node_id = add_node(pipeline, message.operator, after, wanted=message.id, after_port=port)
    if message.place is None:
        return grown, node_id
    nodes = tuple(_placed(node, {node_id: message.place}) for node in grown.nodes)
    return grown.model_copy(update={"nodes": nodes}), node_id


def _can_feed(pipeline: Pipeline, node_id: str | None) -> bool:
    """Whether the node exists and has an output."""
    node = next((node for node in pipeline.nodes if node.id == node_id), None)
    return node is not None and getattr(operator_class(node.operator), "role", None) != "sink"


def _inserted(pipeline: Pipeline, message: Insert) -> Pipeline:
    """The document with an unconnected node inserted into an edge."""
    edge = edge_at(pipeline, message.edge)
    node = pipeline.node(message.node)
    cls = operator_class(node.operator)
    if edge is None or cls is None or not cls.ports:
        return pipeline
    cut = disconnect(pipeline, edge)
    fed = joined(cut, edge.source, node.id, cls.ports[0], edge.source_port)
    grown = in_group_of(connect(fed, node.id, edge.target, edge.target_port), edge, node.id)
    nodes = tuple(_placed(grown_node, {node.id: None}) for grown_node in grown.nodes)
    return grown.model_copy(update={"nodes": nodes})


def _delete(drafting: Drafting, nodes: Sequence[str], edges: Sequence[str]) -> None:
    pipeline = drafting.pipeline
    for key in edges:
        if (edge := edge_at(pipeline, key)) is not None:
            pipeline = disconnect(pipeline, edge)
    for node_id in nodes:
        if any(node.id == node_id for node in pipeline.nodes):
            pipeline = delete_node(pipeline, node_id)
    drafting.edit(pipeline)


def _pasted(pipeline: Pipeline, message: Paste) -> tuple[Pipeline, list[str]]:
    """The document with the pasted nodes; a name that is taken is replaced by a free one."""
    grown, names = pipeline, dict[str, str]()
    for pasted in message.nodes:
        names[pasted.id] = free_node_id(grown, pasted.id)
        group = pasted.group if any(group.name == pasted.group for group in pipeline.groups) else ""
        node = Node(id=names[pasted.id], operator=pasted.operator, parameters=pasted.parameters, group=group)
        node = _placed(node, {node.id: pasted.place})
        grown = grown.model_copy(update={"nodes": (*grown.nodes, node)})
    edges = tuple(
        Edge(source=names[edge.source], source_port=edge.out, target=names[edge.target], target_port=edge.port)
        for edge in message.edges
    )
    return grown.model_copy(update={"edges": (*grown.edges, *edges)}), list(names.values())


def _placed(node: Node, places: Mapping[str, Spot | None]) -> Node:
    """The node at its new place; None returns it to the automatic layout."""
    if node.id not in places:
        return node
    return node.model_copy(update={"place": _place(places[node.id])})


def _placed_group(group: Group, places: Mapping[str, Spot | None]) -> Group:
    name = f"{PREFIX}{group.name}"
    return group.model_copy(update={"place": _place(places[name])}) if name in places else group


def _place(spot: Spot | None) -> Place:
    if spot is None:
        return UNPLACED
    # The origin stands for the automatic layout.
    return Place(x=1) if tuple(spot) == (0, 0) else Place(x=spot[0], y=spot[1])
