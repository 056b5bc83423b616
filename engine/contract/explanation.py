"""An explained plan: the decisions for every node and edge with their reasons, as values to store, show and print."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from engine.contract.late_rule import LateRule
from engine.model.changelog import APPEND, ChangelogMode, UpdateKind
from engine.model.combined_watermark import Above
from engine.model.schema import TimeUnit
from engine.model.type_texts import in_flink

if TYPE_CHECKING:
    from pydantic import TypeAdapter

NO_STATE: Final = "none"
"""The `state` of a stateless operator."""


@dataclass(frozen=True)
class ColumnExplanation:
    """A column of a node's output. type: as Flink SQL, in plans of older versions as Spark, writes it.

    time: the unit if it is the event time.
    """

    name: str
    type: str
    time: TimeUnit | None = None


@dataclass(frozen=True)
class InputExplanation:
    """An input of a node. node, output: the node above and its output port. port: the input port.

    mode: the changelog mode that the node receives. update_kind: how updates are written; NONE without updates.
    needs_retract: whether the input has to emit retractions (-U). reason: the reason, in words.
    """

    node: str
    port: str
    mode: str
    output: str = "out"
    needs_retract: bool = False
    update_kind: UpdateKind = UpdateKind.NONE
    reason: str = ""

    @property
    def takes_back(self) -> bool:
        """Whether its rows are ever replaced or retracted."""
        return self.mode != str(APPEND)


@dataclass(frozen=True)
class SecondOutputExplanation:
    """A second output of a node: its port, its changelog mode and the names of its columns."""

    port: str
    mode: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class NodeExplanation:
    """A node. operator: its name. title: its name for users. role: source, operator or sink. rank: its place in order.

    mode: the changelog mode, `[I,UB,UA]`. table_type, accumulate_mode: in the terms of the retraction document.
    strategy, reason, state: how it works here, why, and its state. late_rule: when a record is too late for it;
    None if no record can be. kernel: the kernel that computes it, and why. sources: the sources above, each with the
    ms by which its watermark is held back. above: the origin of the watermark that the node itself sees; None for
    runs of older versions.
    """

    id: str
    operator: str = ""
    title: str = ""
    role: str = "operator"
    rank: int = 0
    schema: tuple[ColumnExplanation, ...] = ()
    upsert_keys: tuple[tuple[str, ...], ...] = ()
    mode: str = ""
    table_type: str = ""
    accumulate_mode: str = ""
    strategy: str = ""
    reason: str = ""
    state: str = ""
    late_rule: Annotated[LateRule | None, Field(alias="late rule")] = None
    kernel: str = ""
    sources: Mapping[str, int] = field(default_factory=dict)
    above: Above | None = None
    second_outputs: Annotated[tuple[SecondOutputExplanation, ...], Field(alias="second outputs")] = ()
    inputs: tuple[InputExplanation, ...] = ()

    @property
    def is_stateless(self) -> bool:
        """Whether it computes its output from one record at a time, without state."""
        return self.role == "operator" and self.state == NO_STATE


@dataclass(frozen=True)
class PlanExplanation:
    """All nodes, each after its inputs. Empty if the plan is unknown.

    has_late_rules: False for stored plans of older versions without late rules.
    """

    nodes: tuple[NodeExplanation, ...] = ()
    has_late_rules: Annotated[bool, Field(alias="has late rules")] = False

    def node(self, node_id: str) -> NodeExplanation | None:
        """The explanation of a node, or None."""
        return next((node for node in self.nodes if node.id == node_id), None)

    def columns_into(self, node_id: str) -> tuple[tuple[str, ...], ...]:
        """The columns of each input of a node, by port; () if they are unknown."""
        node = self.node(node_id)
        return tuple(self._columns(given.node, given.output) for given in node.inputs) if node is not None else ()

    def _columns(self, node_id: str, port: str) -> tuple[str, ...]:
        node = self.node(node_id)
        if node is None:
            return ()
        second = {output.port: output.columns for output in node.second_outputs}
        return second.get(port, tuple(column.name for column in node.schema))

    def to_json(self) -> str:
        """The plan as a JSON object."""
        return _adapter().dump_json(self, by_alias=True).decode()

    @classmethod
    def from_json(cls, text: str) -> PlanExplanation:
        """The plan from `to_json`, possibly of another version: missing fields have their defaults.

        Raises ValueError for anything else.
        """
        return _adapter().validate_json(text)


@cache
def _adapter() -> TypeAdapter[PlanExplanation]:
    from pydantic import TypeAdapter

    return TypeAdapter(PlanExplanation)


def to_text(plan: PlanExplanation) -> str:
    """The plan for a terminal: one paragraph per node, sources first."""
    return "\n".join(_paragraph(node) for node in plan.nodes)


def _paragraph(node: NodeExplanation) -> str:
    columns = (f"{column.name} {in_flink(column.type)}{' event time' if column.time else ''}" for column in node.schema)
    keys = " or ".join(f"({', '.join(key)})" for key in node.upsert_keys)
    facts = [
        ("columns", ", ".join(columns)),
        ("upsert key", keys or "none: only the whole row identifies a row"),
        ("table", f"{node.table_type}, {node.accumulate_mode}"),
        ("strategy", f"{node.strategy}: {node.reason}"),
        ("state", node.state),
        *([("kernel", node.kernel)] if node.kernel else []),
        *((f"from {_output(input_)}", f"{_signs(input_.mode)}, {_need(input_)}") for input_ in node.inputs),
        *(
            (f"port {more.port}", f"{_signs(more.mode)}, the dropped records, unchanged")
            for more in node.second_outputs
        ),
    ]
    lines = [f"{node.id}: {node.title}  {_signs(node.mode)}  {node.strategy}"]
    lines += [f"    {name:<13} {fact}" for name, fact in facts]
    return "\n".join(lines) + "\n"


def _signs(mode: str) -> str:
    return ChangelogMode.read(mode).signs


def _output(input_: InputExplanation) -> str:
    return input_.node if input_.output == "out" else f"{input_.node}.{input_.output}"


def _need(input_: InputExplanation) -> str:
    if not input_.takes_back:
        return "which has no retractions"
    return f"{'needs' if input_.needs_retract else 'does not need'} retraction: {input_.reason}"
