"""Second pass, from the sinks up: determines who needs UPDATE_BEFORE, and so how every node writes updates.

A node is asked to write its updates in a certain way; its answers are its offers (`Operator.offers`, the
cheapest first), each of which in turn has requirements for the node's inputs. The first offer that holds all
the way up to the sources is chosen, as in Flink's SatisfyUpdateKindTraitVisitor. A node with several consumers
writes -U if one of them needs it. The output of a source is fixed; consumers that need no -U do not
receive it (Flink: DropUpdateBefore).
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from engine.contract.operator import OUT, Operator
from engine.contract.requirements import Offer
from engine.errors import PlanRejected
from engine.model.changelog import UpdateKind
from engine.planner.derive import DerivedNode


@dataclass(frozen=True)
class Chosen:
    """How a node writes updates, and the chosen offer."""

    update_kind: UpdateKind
    offer: Offer


def choose_update_kinds(nodes: Mapping[str, DerivedNode]) -> Mapping[str, Chosen]:
    """Decide every node. Raises PlanRejected if no choice is possible."""
    consumers: dict[str, list[str]] = {name: [] for name in nodes}
    for name, node in nodes.items():
        for edge in node.edges:
            if edge.source_port == OUT:
                consumers[edge.source].append(name)
    pinned: dict[str, UpdateKind] = {}
    while True:
        search = _Search(nodes, pinned)
        for name, above in consumers.items():
            if not above:
                search.choose_sink(name)
        disputed = {
            source: UpdateKind.BEFORE_AND_AFTER
            for source, kinds in _asked(nodes, search.chosen).items()
            if len(kinds) > 1 and source not in pinned
        }
        if not disputed:
            return search.chosen
        pinned.update(disputed)


def _asked(nodes: Mapping[str, DerivedNode], chosen: Mapping[str, Chosen]) -> Mapping[str, set[UpdateKind]]:
    """The requirements of the consumers of each node with updates."""
    asked: dict[str, set[UpdateKind]] = {}
    for name, node in nodes.items():
        for edge, need in zip(node.edges, chosen[name].offer.needs, strict=True):
            source = nodes[edge.source]
            if edge.source_port == OUT and source.edges and source.derived.has_updates:
                asked.setdefault(edge.source, set()).add(need)
    return asked


_Question = tuple[str, UpdateKind]


class _Way(NamedTuple):
    """A way for a node to write updates as requested. below: its requirements for the inputs."""

    chosen: Chosen
    below: tuple[_Question, ...]


class _Search:
    """One depth-first search from the sinks up that answers each question once.

    pinned: shared nodes that are already decided. The stack is a list: chains may exceed Python's recursion limit.
    """

    def __init__(self, nodes: Mapping[str, DerivedNode], pinned: Mapping[str, UpdateKind]) -> None:
        self.nodes = nodes
        self.pinned = pinned
        self.chosen: dict[str, Chosen] = {}
        self._known: dict[_Question, _Way | None] = {}

    def choose_sink(self, name: str) -> None:
        """Decide a node without consumers: a sink has its own preference; other nodes show -U and +U."""
        node = self.nodes[name]
        wanted = self._clip(name, UpdateKind.BEFORE_AND_AFTER)
        choices = self._satisfy(name, wanted)
        if choices is None and wanted is not UpdateKind.NONE:
            choices = self._satisfy(name, UpdateKind.ONLY_UPDATE_AFTER)
        if choices is None:
            inputs = ", ".join(edge.source for edge in node.edges) or "its source"
            message = (
                f"it needs updates that {inputs} cannot emit: a changelog without -U reaches an operator that needs "
                "the old row. Put a changelog normaliser after the source."
            )
            raise PlanRejected(message, name)
        self.chosen.update(choices)

    def _clip(self, name: str, wanted: UpdateKind) -> UpdateKind:
        return wanted if self.nodes[name].derived.has_updates else UpdateKind.NONE

    def _satisfy(self, name: str, wanted: UpdateKind) -> dict[str, Chosen] | None:
        """The decisions for everything above `name` so that it writes updates as wanted, or None."""
        first = (name, self._clip(name, wanted))
        stack = [(first, self._way(*first))]
        answer: _Way | None = None
        while stack:
            question, search = stack[-1]
            try:
                asked = search.send(answer)
            except StopIteration as stop:
                answer = self._known[question] = stop.value
                stack.pop()
                continue
            answer = self._known.get(asked)
            if asked not in self._known:
                stack.append((asked, self._way(*asked)))
        return self._gathered(first) if answer is not None else None

    def _way(self, name: str, wanted: UpdateKind) -> Generator[_Question, _Way | None, _Way | None]:
        """How a node can write updates as wanted. Yields the questions to its inputs, and is sent their answers."""
        if wanted is not UpdateKind.NONE and wanted is not self.pinned.get(name, wanted):
            return None
        node = self.nodes[name]
        inputs = [self.nodes[edge.source].output(edge.source_port) for edge in node.edges]
        if not isinstance(node.operator, Operator):
            emitted = self._clip(name, node.operator.update_kind)
            can_drop = emitted is UpdateKind.BEFORE_AND_AFTER and wanted is UpdateKind.ONLY_UPDATE_AFTER
            return _Way(Chosen(emitted, Offer((), ())), ()) if wanted is emitted or can_drop else None
        for offer in node.operator.offers(name, inputs, wanted):
            below: list[_Question] = []
            for edge, need in zip(node.edges, offer.needs, strict=True):
                if edge.source_port != OUT:
                    # Second outputs only insert; the first output determines the node's behaviour.
                    continue
                asked = (edge.source, self._clip(edge.source, need))
                if (yield asked) is None:
                    break
                below.append(asked)
            else:
                return _Way(Chosen(wanted, offer), tuple(below))
        return None

    def _gathered(self, first: _Question) -> dict[str, Chosen]:
        """The decisions for a question and all below it; for a node with two questions, the later answer counts."""
        decisions: dict[str, Chosen] = {}
        seen: set[_Question] = set()
        waiting = [first]
        while waiting:
            question = waiting.pop()
            way = self._known[question]
            if question in seen or way is None:
                continue
            seen.add(question)
            decisions.setdefault(question[0], way.chosen)
            waiting += way.below
        return decisions
