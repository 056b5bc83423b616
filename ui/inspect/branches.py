"""The cascade of one event as a tree: each record below the record that caused it, siblings in order of emission."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.model.pipeline import Pipeline
from engine.model.position import TIMER
from storage.model import CascadeRecord, Edge, Record

Output = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Branch:
    """A record of the cascade: its depth below the event, its cause, and whether a watermark advance fired it."""

    entry: CascadeRecord
    depth: int
    is_fired: bool
    cause: Branch | None = None

    @property
    def record(self) -> Record:
        """The record itself."""
        return self.entry.record

    @property
    def edge(self) -> Edge:
        """The edge that carried it."""
        return self.entry.edge


def branches(cascade: tuple[CascadeRecord, ...], inputs: Mapping[str, tuple[Output, ...]]) -> tuple[Branch, ...]:
    """The tree from its root down: a record's cause is the last input of its node whose step is a prefix of its own."""
    tree: list[Branch] = []
    above: dict[Output, list[Branch]] = {}
    for entry in cascade:
        causes = [
            cause
            for output in inputs.get(entry.edge.node, ())
            for cause in above.get(output, [])[-1:]
            if _caused(cause.record.step, entry.record.step)
        ]
        deepest = max(causes, key=lambda cause: len(cause.record.step), default=None)
        depth = deepest.depth + 1 if deepest else 0
        branch = Branch(entry, depth, deepest is None and entry.record.step.startswith(TIMER), deepest)
        tree.append(branch)
        above.setdefault((entry.edge.node, entry.edge.port), []).append(branch)
    return _from_the_root(tree)


def inputs_of(pipeline: Pipeline) -> dict[str, tuple[Output, ...]]:
    """The outputs that feed each node."""
    return {
        node.id: tuple((edge.source, edge.source_port) for edge in pipeline.inputs(node.id)) for node in pipeline.nodes
    }


def _caused(cause: bytes, step: bytes) -> bool:
    """Whether the cause's step is a prefix. A source record has an empty step, which does not cause timers' records."""
    return step.startswith(cause) and not (cause == b"" and step.startswith(TIMER))


def _from_the_root(tree: list[Branch]) -> tuple[Branch, ...]:
    """Each branch directly below its cause: if wires fork, the order of positions alone would mix the forks."""
    below: dict[int, list[Branch]] = {}
    for branch in tree:
        below.setdefault(id(branch.cause), []).append(branch)
    ordered: list[Branch] = []
    waiting = list(reversed(below.get(id(None), [])))
    while waiting:
        branch = waiting.pop()
        ordered.append(branch)
        # The records of one consumer are together, in order of emission.
        consumers = dict.fromkeys(child.edge.node for child in below.get(id(branch), []))
        children = [child for node in consumers for child in below[id(branch)] if child.edge.node == node]
        waiting += reversed(children)
    return tuple(ordered)
