"""Edits of a pipeline document: each takes a Pipeline and returns the changed one. Nothing here can fail halfway.

Input is kept as it was typed, valid or not; the planner decides whether it is valid.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from engine.contract.operator import OUT, Operator
from engine.contract.source import Source
from engine.errors import PipelineError, UnknownOperator
from engine.model.options import BUNDLE_SIZE, KEEP_EDGES, LATENCY, MINI_BATCH, Option, kept_outputs
from engine.model.pipeline import Arrival, Edge, Node, Pipeline, Place, free_node_id
from engine.registry import lookup, operators, sources

ABSENT: Final = object()
_MINI_BATCH_STARTS_WITH: Final = {BUNDLE_SIZE.name: "1000", LATENCY.name: "5 s"}
_ID: Final = re.compile(r"^[A-Za-z][A-Za-z0-9_ -]*$")


def edge_key(edge: Edge) -> str:
    """An edge as a word for URLs and widgets."""
    source = edge.source if edge.source_port == OUT else f"{edge.source}.{edge.source_port}"
    return f"{source}>{edge.target}:{edge.target_port}"


def edge_at(pipeline: Pipeline, key: str) -> Edge | None:
    """The edge with this key, or None."""
    return next((edge for edge in pipeline.edges if edge_key(edge) == key), None)


def operator_class(name: str) -> type[Operator] | type[Source] | None:
    """The class of an operator or source, or None for an unknown name."""
    try:
        return lookup(Node(id="x", operator=name))
    except UnknownOperator:
        return None


def operator_title(name: str) -> str:
    """The title of an operator or source in the palette; for an unknown one, its name."""
    cls = operator_class(name)
    return name.replace("_", " ") if cls is None else cls.title


def palette() -> Mapping[str, tuple[type[Operator] | type[Source], ...]]:
    """Everything that can be added, by group: sources first, sinks last."""
    groups: dict[str, list[type[Operator] | type[Source]]] = {}
    node_classes: list[type[Operator] | type[Source]] = [*sources().values(), *operators().values()]
    for cls in node_classes:
        groups.setdefault(cls.group, []).append(cls)
    roles = {"source": 0, "operator": 1, "sink": 2}
    ordered = sorted(groups.items(), key=lambda item: (roles.get(item[1][0].role, 1), item[0]))
    return {group: tuple(classes) for group, classes in ordered}


def outputs_of(pipeline: Pipeline) -> list[str]:
    """The names of all outputs: the nodes, and NODE.PORT for second outputs."""
    names = []
    for node in pipeline.nodes:
        cls = operator_class(node.operator)
        ports = cls.output_ports(node.parameters) if cls is not None else (OUT,)
        names += [node.id if port == OUT else f"{node.id}.{port}" for port in ports]
    return names


def free_port(pipeline: Pipeline, node: Node) -> str | None:
    """The first input port of a node that can take one more edge, or None."""
    cls = operator_class(node.operator)
    if cls is None:
        return None
    for port in cls.ports:
        if takes_many(node) or not any(edge.target_port == port for edge in pipeline.inputs(node.id)):
            return port
    return None


def takes_many(node: Node) -> bool:
    """Whether each of the node's ports takes several edges."""
    return bool(getattr(operator_class(node.operator), "many_edges", False))


def add_node(
    pipeline: Pipeline,
    operator: str,
    after: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    wanted: str | None = None,
    after_port: str = OUT,
) -> tuple[Pipeline, str]:
    """Add a node, connected to `after` if it has an input. Also returns its id, the wanted one if that is free."""
    node = Node(id=free_node_id(pipeline, wanted or operator), operator=operator, parameters=dict(parameters or {}))
    grown = pipeline.model_copy(update={"nodes": (*pipeline.nodes, node)})
    port = free_port(grown, node)
    if after is not None and port is not None:
        grown = connect(grown, after, node.id, port, after_port)
    return grown, node.id


def insert_on_edge(pipeline: Pipeline, edge: Edge, operator: str, wanted: str | None = None) -> tuple[Pipeline, str]:
    """Put a node between the two ends of an edge: what flowed through the edge flows through the node."""
    grown, node_id = add_node(pipeline, operator, edge.source, wanted=wanted, after_port=edge.source_port)
    if not grown.inputs(node_id):
        return grown, node_id
    passed_on = edge.model_copy(update={"source": node_id, "source_port": OUT})
    grown = _with_edges(grown, tuple(passed_on if link == edge else link for link in grown.edges))
    return in_group_of(grown, edge, node_id), node_id


def in_group_of(pipeline: Pipeline, edge: Edge, node_id: str) -> Pipeline:
    """The document with a node in the group of an edge, if both ends of the edge are in it."""
    group = pipeline.node(edge.source).group
    if not group or pipeline.node(edge.target).group != group:
        return pipeline
    nodes = tuple(node.model_copy(update={"group": group}) if node.id == node_id else node for node in pipeline.nodes)
    return pipeline.model_copy(update={"nodes": nodes})


def refusal(pipeline: Pipeline, source: str, target: str, port: str) -> str | None:
    """Why two nodes cannot be connected, regardless of their columns, as a sentence; None if they can."""
    from_class, to_class = (operator_class(pipeline.node(node_id).operator) for node_id in (source, target))
    if source != target:
        if from_class is not None and from_class.role == "sink":
            return f"{source} is a sink and has no output."
        if to_class is not None and port not in to_class.ports:
            return f"{target} has no input {port}."
    return _cycle(pipeline, source, target)


def _cycle(pipeline: Pipeline, source: str, target: str) -> str | None:
    if source == target:
        return f"{source} cannot be connected to itself."
    if source not in descendants(pipeline, target):
        return None
    message = f"Connecting {source} to {target} would create a cycle."
    return f"{message} Remove an edge between {target} and {source} first."


def connect(pipeline: Pipeline, source: str, target: str, port: str, source_port: str = OUT) -> Pipeline:
    """Connect two nodes; an edge that occupies the input is replaced. Raises PipelineError for a cycle."""
    edge = Edge(source=source, target=target, source_port=source_port, target_port=port)
    many = takes_many(pipeline.node(target))
    remaining = tuple(
        link for link in pipeline.edges if link != edge and (many or (link.target, link.target_port) != (target, port))
    )
    if (cycle := _cycle(pipeline, source, target)) is not None:
        raise PipelineError(cycle, target, port)
    return _with_edges(pipeline, (*remaining, edge))


def disconnect(pipeline: Pipeline, edge: Edge) -> Pipeline:
    """Remove an edge."""
    return _with_edges(pipeline, tuple(link for link in pipeline.edges if link != edge))


def rename_node(pipeline: Pipeline, old: str, new: str) -> Pipeline:
    """Give a node another id, everywhere. Raises PipelineError for an id that is taken or invalid."""
    new = new.strip()
    if not _ID.fullmatch(new):
        message = f"a name must start with a letter and contain only letters, digits, spaces, - and _ (got {new!r})."
        raise PipelineError(message, old, "id")
    if any(node.id.lower() == new.lower() for node in pipeline.nodes if node.id != old):
        message = f"a node {new!r} already exists; names must differ in more than case."
        raise PipelineError(message, old, "id")

    def named(node_id: str) -> str:
        return new if node_id == old else node_id

    nodes = tuple(node.model_copy(update={"id": named(node.id)}) for node in pipeline.nodes)
    edges = tuple(
        edge.model_copy(update={"source": named(edge.source), "target": named(edge.target)}) for edge in pipeline.edges
    )
    order = tuple(named(name) for name in pipeline.arrival.order)
    arrival = pipeline.arrival.model_copy(update={"order": order})
    story = pipeline.story.renamed(old, new) if pipeline.story is not None else None
    changed = pipeline.model_copy(update={"nodes": nodes, "edges": edges, "arrival": arrival, "story": story})
    return _keeping(changed, old, new)


def _keeping(pipeline: Pipeline, old: str, new: str | None) -> Pipeline:
    """Name a node anew among the outputs whose records are kept, or leave it out."""
    parts = [name.partition(".") for name in kept_outputs(pipeline.options)]
    names = ["".join((new if node == old and new else node, *port)) for node, *port in parts if node != old or new]
    return set_option(pipeline, KEEP_EDGES, ", ".join(names)) if parts else pipeline


def delete_node(pipeline: Pipeline, node_id: str) -> Pipeline:
    """Delete a node. If it has one input, its consumers are connected to that input.

    Its late records have no replacement: edges from any port but the first are deleted with it.
    """
    inputs = pipeline.inputs(node_id)
    edges: list[Edge] = []
    for edge in pipeline.edges:
        if edge.target == node_id:
            continue
        bridged = edge
        if edge.source == node_id:
            if len(inputs) != 1 or edge.source_port != OUT:
                continue
            bridged = edge.model_copy(update={"source": inputs[0].source, "source_port": inputs[0].source_port})
        if bridged not in edges:
            edges.append(bridged)
    nodes = tuple(node for node in pipeline.nodes if node.id != node_id)
    order = tuple(name for name in pipeline.arrival.order if name != node_id)
    arrival = pipeline.arrival.model_copy(update={"order": order})
    left = pipeline.model_copy(update={"nodes": nodes, "edges": tuple(edges), "arrival": arrival})
    return _keeping(without_empty_groups(left), node_id, None)


def duplicate_node(pipeline: Pipeline, node_id: str) -> tuple[Pipeline, str]:
    """Add a second node with the same parameters and inputs. Also returns its id."""
    node = pipeline.node(node_id)
    twin = node.model_copy(update={"id": free_node_id(pipeline, re.sub(r"_\d+$", "", node_id))})
    at = pipeline.nodes.index(node) + 1
    edges = tuple(edge.model_copy(update={"target": twin.id}) for edge in pipeline.inputs(node_id))
    nodes = (*pipeline.nodes[:at], twin, *pipeline.nodes[at:])
    return pipeline.model_copy(update={"nodes": nodes, "edges": (*pipeline.edges, *edges)}), twin.id


def with_source(pipeline: Pipeline, node: Node, made: Node) -> tuple[Pipeline, str]:
    """Give a source the parameters of a node that was made for its file, and its name, if it has none of its own."""
    changed = node.with_parameters({**node.parameters, **made.parameters})
    pipeline = pipeline.with_node(node, changed)
    if re.sub(r"_\d+$", "", node.id) != node.operator:
        return pipeline, node.id
    name = free_node_id(pipeline, made.id)
    return rename_node(pipeline, node.id, name), name


def set_parameter(pipeline: Pipeline, node_id: str, name: str, value: object) -> Pipeline:
    """Set a parameter as it was typed; ABSENT removes it, so that the default applies."""
    node = pipeline.node(node_id)
    parameters = {key: old_value for key, old_value in node.parameters.items() if key != name}
    if value is not ABSENT:
        parameters = {**node.parameters, name: value}
    return pipeline.with_node(node, node.with_parameters(parameters))


def with_value(container: Any, path: Sequence[str | int], value: object) -> Any:
    """A copy of a list or object with another value at a path; missing lists and objects are created."""
    head, rest = path[0], path[1:]
    if isinstance(head, int):
        items = list(container) if isinstance(container, (list, tuple)) else []
        while len(items) <= head:
            items.append({})
        items[head] = with_value(items[head], rest, value) if rest else value
        return items
    fields = dict(container) if isinstance(container, Mapping) else {}
    if rest:
        fields[head] = with_value(fields.get(head, {}), rest, value)
    elif value is ABSENT:
        fields.pop(head, None)
    else:
        fields[head] = value
    return fields


def set_arrival(pipeline: Pipeline, **values: Any) -> Pipeline:
    """Change how the sources interleave."""
    return pipeline.model_copy(update={"arrival": Arrival.model_validate({**pipeline.arrival.model_dump(), **values})})


def set_option(pipeline: Pipeline, option: Option, text: str) -> Pipeline:
    """Set an option; its default value removes it. Mini-batch, if switched on, gets the size and latency it needs."""
    options = {name: setting for name, setting in pipeline.options.items() if name != option.name}
    if text != option.default:
        options[option.name] = text
    if option is MINI_BATCH and text == "true":
        options = {**_MINI_BATCH_STARTS_WITH, **options}
    return pipeline.model_copy(update={"options": options})


def unplaced(pipeline: Pipeline) -> Pipeline:
    """The document without its groups and the places of its nodes."""
    nodes = tuple(node.model_copy(update={"place": Place(), "group": ""}) for node in pipeline.nodes)
    return pipeline.model_copy(update={"nodes": nodes, "groups": ()})


def what_runs(pipeline: Pipeline) -> Pipeline:
    """The document without groups, places and story; if documents are equal so, they do the same."""
    return unplaced(pipeline).model_copy(update={"story": None})


def placed_like(pipeline: Pipeline, other: Pipeline) -> Pipeline:
    """The document with its nodes at the places that they have in another one, and its groups folded as there."""
    places = {node.id: node.place for node in other.nodes}
    nodes = tuple(node.model_copy(update={"place": places.get(node.id, node.place)}) for node in pipeline.nodes)
    seen = {group.name: group for group in other.groups}
    groups = tuple(
        group.model_copy(update={"folded": seen[group.name].folded, "place": seen[group.name].place})
        if group.name in seen
        else group
        for group in pipeline.groups
    )
    return pipeline.model_copy(update={"nodes": nodes, "groups": groups})


def without_empty_groups(pipeline: Pipeline) -> Pipeline:
    """The document without groups that have no node, not even in a group inside of them."""
    used = {name for innermost in {node.group for node in pipeline.nodes} for name in pipeline.around(innermost)}
    return pipeline.model_copy(update={"groups": tuple(group for group in pipeline.groups if group.name in used)})


def changed_places(before: Pipeline, after: Pipeline) -> Iterator[str]:
    """The places that differ: a field of the pipeline itself, `node`, `node|parameter`, `node>port`."""
    for name in ("name", "description", "arrival", "options", "story"):
        if getattr(before, name) != getattr(after, name):
            yield name
    old, new = ({node.id: node for node in pipeline.nodes} for pipeline in (before, after))
    yield from old.keys() ^ new.keys()
    for node_id in old.keys() & new.keys():
        if old[node_id].operator != new[node_id].operator:
            yield node_id
        ours, theirs = old[node_id].parameters, new[node_id].parameters
        for name in ours.keys() | theirs.keys():
            if ours.get(name, ABSENT) != theirs.get(name, ABSENT):
                yield f"{node_id}|{name}"
    for edge in set(before.edges) ^ set(after.edges):
        yield f"{edge.target}>{edge.target_port}"


def ancestors(pipeline: Pipeline, node_id: str) -> Pipeline:
    """A node with everything upstream of it, as a pipeline of its own."""
    upstream = {node_id} | _reached(node_id, lambda name: [edge.source for edge in pipeline.inputs(name)])
    order = tuple(name for name in pipeline.arrival.order if name in upstream)
    return pipeline.model_copy(
        update={
            "nodes": tuple(node for node in pipeline.nodes if node.id in upstream),
            "edges": tuple(edge for edge in pipeline.edges if edge.target in upstream),
            "arrival": pipeline.arrival.model_copy(update={"order": order}),
        }
    )


def descendants(pipeline: Pipeline, node_id: str) -> set[str]:
    """All nodes downstream of a node."""
    return _reached(node_id, lambda name: [edge.target for edge in pipeline.outputs(name)])


def _reached(node_id: str, following: Callable[[str], Iterable[str]]) -> set[str]:
    """All nodes that can be reached from a node."""
    reached: set[str] = set()
    waiting = [node_id]
    while waiting:
        new = set(following(waiting.pop())) - reached
        reached |= new
        waiting += new
    return reached


def _with_edges(pipeline: Pipeline, edges: tuple[Edge, ...]) -> Pipeline:
    return pipeline.model_copy(update={"edges": edges})
