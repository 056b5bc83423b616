"""The pipeline document: nodes, edges, and the order in which the sources arrive.

A versioned JSON document that people save, share and write by hand. It validates its own shape; what
operators mean and whether they fit each other is for the planner (`engine.planner`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import to_jsonable_python

from engine.errors import PipelineError, unknown_name
from engine.model.free_names import LONGEST_ID, free_id
from engine.model.story import Story
from engine.model.whole_texts import half_character
from engine.model.wrong_values import in_plain_words

VERSION: Final = 1
LONGEST_IDENTITY: Final = 100


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Place(_Document):
    """Where a node stands on the canvas, in pixels."""

    x: float = 0.0
    y: float = 0.0


class Node(_Document):
    """One source, operator or sink: `operator` names it, `parameters` are its own model's fields.

    description: for people; in a script, the comment above the node's statement. group: the name of its group.
    Parameters are what JSON has (lists, no tuples, no NaN): a node is equal to itself after it was written and read.
    """

    id: str = Field(min_length=1, max_length=LONGEST_ID, pattern=r"^[A-Za-z][A-Za-z0-9_ -]*$")
    operator: str
    parameters: dict[str, Any] = Field(default_factory=dict)
    description: str = Field(default="", exclude_if=lambda description: not description)
    group: str = Field(default="", exclude_if=lambda group: not group)
    place: Place = Place()

    @field_validator("parameters", mode="before")
    @classmethod
    def _as_json(cls, given: Any) -> Any:
        return to_jsonable_python(given, inf_nan_mode="null")

    def with_parameters(self, parameters: Mapping[str, Any]) -> Node:
        """The node with other parameters. Raises PipelineError for a text that is none."""
        for name, value in parameters.items():
            if (broken := half_character([name, value])) is not None:
                message = f"{name}: it has {broken}, which is half of a character. Write the whole one."
                raise PipelineError(message, self.id, name)
        return self.model_copy(update={"parameters": self._as_json(parameters)})


class Group(_Document):
    """Nodes that belong together, as those of a view in SQL. What the pipeline does is the same without it.

    inside: the group around it. folded: it is drawn as one node. place: of that one.
    """

    name: str = Field(min_length=1, max_length=LONGEST_ID)
    inside: str = Field(default="", exclude_if=lambda inside: not inside)
    folded: bool = False
    place: Place = Place()


class Edge(_Document):
    """A connection from a node's output port to a node's input port."""

    source: str
    target: str
    source_port: str = "out"
    target_port: str = "in"


class Arrival(_Document):
    """How several sources interleave, and when a finished source sends its last watermark.

    in_turn: one record of each source after the other. one_after_the_other: all of the first source,
    then of the second. by_event_time: merged, each source in its own order, so that what is late in it stays late: a
    record comes when the largest event time of its source so far does, equal ones in the order of the sources.
    by_column: sorted by each source's own `arrival_column`, equal values in the order of the sources. listed: `order`
    names the source of each event. recorded: as in the run of which all sources are recordings; a source ends where it
    ended then, or after the last event of all.
    ends: at_its_last_record (a finished source's watermark becomes MAX there and then) or together (all
    sources end after the last event of all).
    """

    mode: Literal["one_after_the_other", "in_turn", "by_event_time", "by_column", "listed", "recorded"] = (
        "one_after_the_other"
    )
    order: tuple[str, ...] = ()
    ends: Literal["at_its_last_record", "together"] = "at_its_last_record"


class Pipeline(_Document):
    """A pipeline document. Node ids are unique, edges join existing nodes, and there is no cycle.

    identity: of an exported document, the pipeline whose runs it has; inside of a store, drafts, saved pipelines and
    runs have theirs beside their documents.
    script: the Flink SQL as its author wrote it, if the document was opened from one. The nodes are what counts: where
    they say something else, another script is written (`engine.script.kept_text`).
    story: what to see in its runs, in the studio and in a replay.
    """

    version: Literal[1] = VERSION
    name: str = "untitled"
    description: str = ""
    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    groups: tuple[Group, ...] = Field(default=(), exclude_if=lambda groups: not groups)
    arrival: Arrival = Arrival()
    options: dict[str, str] = Field(default_factory=dict)
    script: str = Field(default="", exclude_if=lambda script: not script)
    story: Story | None = Field(default=None, exclude_if=lambda story: story is None)
    identity: str = Field(default="", max_length=LONGEST_IDENTITY, exclude_if=lambda identity: not identity)

    def node(self, node_id: str) -> Node:
        """The node with this id. Raises PipelineError that lists those that exist."""
        for node in self.nodes:
            if node.id == node_id:
                return node
        message = f"{unknown_name('node', node_id, (node.id for node in self.nodes))}."
        raise PipelineError(message)

    def inputs(self, node_id: str) -> tuple[Edge, ...]:
        """The edges into a node, in the document's order."""
        return tuple(edge for edge in self.edges if edge.target == node_id)

    def inputs_of_all(self) -> dict[str, list[Edge]]:
        """By node, the edges into it, in the document's order."""
        inputs: dict[str, list[Edge]] = {node.id: [] for node in self.nodes}
        for edge in self.edges:
            inputs[edge.target].append(edge)
        return inputs

    def outputs(self, node_id: str) -> tuple[Edge, ...]:
        """The edges out of a node, in the document's order."""
        return tuple(edge for edge in self.edges if edge.source == node_id)

    def with_node(self, node: Node, other: Node) -> Pipeline:
        """The pipeline with another node in the place of one."""
        return self.model_copy(update={"nodes": tuple(other if current is node else current for current in self.nodes)})

    def part(self, nodes: Collection[str]) -> Pipeline:
        """The pipeline of these nodes alone."""
        return self.model_copy(
            update={
                "nodes": tuple(node for node in self.nodes if node.id in nodes),
                "edges": tuple(edge for edge in self.edges if edge.source in nodes and edge.target in nodes),
            }
        )

    def around(self, group: str) -> Iterator[str]:
        """A group, by its name, and the groups around it, from the innermost; nothing for ''."""
        inside = {grouping.name: grouping.inside for grouping in self.groups}
        while group:
            yield group
            group = inside[group]

    def sorted_nodes(self) -> tuple[Node, ...]:
        """The nodes, each after its inputs, else in the document's order. Raises PipelineError on a cycle."""
        order = {node.id: at for at, node in enumerate(self.nodes)}
        inputs = self.inputs_of_all()
        sorter = TopologicalSorter({name: [edge.source for edge in edges] for name, edges in inputs.items()})
        try:
            sorter.prepare()
        except CycleError as error:
            cycle = " -> ".join(reversed(error.args[1]))
            message = f"the edges form a cycle: {cycle}. Remove one of them."
            raise PipelineError(message, error.args[1][0]) from error
        done: list[Node] = []
        while sorter.is_active():
            ready = sorted(sorter.get_ready(), key=lambda node_id: order[node_id])
            done.extend(self.nodes[order[node_id]] for node_id in ready)
            sorter.done(*ready)
        return tuple(done)

    def check(self) -> None:
        """Raise PipelineError for a repeated id, an edge from or to nowhere, a cycle, or a group that is none."""
        seen: set[str] = set()
        ids = {node.id for node in self.nodes}
        for node in self.nodes:
            if node.id.lower() in seen:
                message = f"two nodes are called {node.id!r}; ids must differ in more than case."
                raise PipelineError(message, node.id, "id")
            seen.add(node.id.lower())
        for edge in self.edges:
            for node_id in (edge.source, edge.target):
                if node_id not in ids:
                    self.node(node_id)
        self._check_groups()
        self.sorted_nodes()

    def _check_groups(self) -> None:
        around = {group.name: group.inside for group in self.groups}
        if len(around) < len(self.groups):
            message = "two groups have the same name. Rename one of them."
            raise PipelineError(message, "", "groups")
        named = [(node.id, node.group) for node in self.nodes] + [("", inside) for inside in around.values()]
        for node_id, name in named:
            if name and name not in around:
                message = f"{unknown_name('group', name, around)}."
                raise PipelineError(message, node_id, "group")
        for name in around:
            seen = {name}
            inside = around[name]
            while inside and inside not in seen:
                seen.add(inside)
                inside = around[inside]
            if inside:
                message = f"the group {name!r} is inside of itself. Take it out of {around[name]!r}."
                raise PipelineError(message, "", "groups")

    def to_json(self) -> str:
        """The document as indented JSON, fields in a fixed order."""
        return self.model_dump_json(indent=2)

    @classmethod
    def from_json(cls, text: str) -> Pipeline:
        """Read a document. Raises PipelineError with the node, the field, the wrong value and the known ones."""
        try:
            raw = json.loads(text.removeprefix("\ufeff"))
        except json.JSONDecodeError as error:
            message = f"the pipeline is not JSON: {error.msg} in line {error.lineno}, column {error.colno}."
            raise PipelineError(message) from error
        except RecursionError as error:
            message = "the pipeline cannot be read as JSON: it is nested too deeply."
            raise PipelineError(message) from error
        except ValueError as error:
            message = "the pipeline cannot be read as JSON: it has a number of thousands of digits."
            raise PipelineError(message) from error
        return cls.from_dict(raw)

    @classmethod
    def from_dict(cls, raw: object) -> Pipeline:
        """Read a document that is already parsed. Raises PipelineError."""
        if not isinstance(raw, dict):
            message = f"a pipeline is a JSON object with nodes and edges, not {type(raw).__name__}."
            raise PipelineError(message)
        if (broken := half_character(raw)) is not None:
            message = f"the pipeline has {broken}, which is half of a character. Write the whole one."
            raise PipelineError(message)
        version = raw.get("version", VERSION)
        if isinstance(version, int) and version > VERSION:
            message = f"the pipeline has version {version}; this studio reads up to {VERSION}. Update the studio."
            raise PipelineError(message, "", "version")
        try:
            pipeline = cls.model_validate(raw)
        except ValidationError as error:
            raise explain(error, cls, raw) from error
        pipeline.check()
        return pipeline


def explain(error: ValidationError, model: type[BaseModel], raw: object, node: str = "") -> PipelineError:
    """Turn pydantic's first error into a sentence: the node, the field, the wrong value and the known ones."""
    first = error.errors()[0]
    path = list(first["loc"])
    if not node and len(path) > 1 and path[0] == "nodes" and isinstance(raw, dict) and isinstance(path[1], int):
        entry = raw["nodes"][path[1]]
        node = str(entry.get("id", f"node {path[1] + 1}")) if isinstance(entry, dict) else f"node {path[1] + 1}"
        path = path[2:]
    field = ".".join(str(part) for part in path)
    if first["type"] == "extra_forbidden":
        return PipelineError(f"{unknown_name('field', field, _fields_at(model, first['loc']))}.", node, field)
    if first["type"] == "missing":
        return PipelineError(f"the field {field!r} is missing.", node, field)
    got = json.dumps(first["input"], default=str, ensure_ascii=False)
    reason = in_plain_words(first)
    if not field:
        return PipelineError(f"{reason}.", node)
    return PipelineError(f"{field}: {reason} (got {got[:200]}).", node, field)


def _fields_at(model: type[BaseModel], path: tuple[int | str, ...]) -> list[str]:
    """The known fields at the place of an unknown one: follow the path through nested models."""
    for part in path[:-1]:
        field = model.model_fields.get(str(part)) if isinstance(part, str) else None
        if field is None:
            continue
        for candidate in _models_in(field.annotation):
            model = candidate
            break
    return [field.alias or name for name, field in model.model_fields.items()]


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in getattr(annotation, "__args__", ()) for model in _models_in(part)]


def free_node_id(pipeline: Pipeline, wanted: str) -> str:
    """The wanted text as an id, or the first of wanted_2, wanted_3, ... that is not taken."""
    base = re.sub(r"[^A-Za-z0-9_ -]", "_", wanted).strip() or "node"
    return free_id(base if base[0].isalpha() else f"n_{base}", [node.id for node in pipeline.nodes])
