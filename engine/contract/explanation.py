"""A plan explained: what was decided of every node and edge, and why, as values that are kept, shown and printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from engine.contract.late_rule import LateRule
from engine.model.changelog import APPEND, UpdateKind
from engine.model.combining import Above
from engine.model.schema import TimeUnit

if TYPE_CHECKING:
    from pydantic import TypeAdapter

NO_STATE: Final = "none"
"""What a stateless operator's `state` says."""


@dataclass(frozen=True)
class ColumnExplanation:
    """A column of a node's output; time: how it counts where it is the event time."""

    name: str
    type: str
    time: TimeUnit | None = None


@dataclass(frozen=True)
class InputExplanation:
    """An input of a node. node, output: whose it is, and which of its outputs; port: where it goes in.

    mode: what is given of it. update_kind: how the node has its updates written; NONE where there are none.
    needs_retract: whether it has to hand over what it takes back (-U). reason: why, in words.
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
        """Whether anything of it is ever replaced or taken back."""
        return self.mode != str(APPEND)


@dataclass(frozen=True)
class SecondOutputExplanation:
    """A second output of a node: its port, its changelog mode and the names of its columns."""

    port: str
    mode: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class NodeExplanation:
    """A node. operator: its name; title: as people read it; role: source, operator or sink; rank: its place in order.

    mode: the changelog mode, `[I,UB,UA]`. table_type, accumulate_mode: in the terms of the retraction document.
    strategy, reason, state: how it works here, why, and what it keeps. late_rule: when a record is too late for it;
    None where none ever is. kernel: what computes it, and why. sources:
    those above, each with the ms by which the watermark is held back on the way. above: what the watermark is made of
    that the node itself sees; None of runs of older versions.
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
        """Whether it makes its output of one record at a time, at once."""
        return self.role == "operator" and self.state == NO_STATE


@dataclass(frozen=True)
class PlanExplanation:
    """All nodes, each after its inputs. There are none where nothing is known of a plan.

    has_late_rules: whether the nodes have theirs. Plans that were kept before there were any have none.
    """

    nodes: tuple[NodeExplanation, ...] = ()
    has_late_rules: Annotated[bool, Field(alias="has late rules")] = False

    def node(self, node_id: str) -> NodeExplanation | None:
        """What is known of a node, where anything is."""
        return next((node for node in self.nodes if node.id == node_id), None)

    def to_json(self) -> str:
        """The plan as a JSON object."""
        return _adapter().dump_json(self, by_alias=True).decode()

    @classmethod
    def from_json(cls, text: str) -> PlanExplanation:
        """What `to_json` wrote, by this studio or another: what it lacks is as empty as here by default.

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
    columns = (f"{column.name} {column.type}" + (" event time" if column.time else "") for column in node.schema)
    keys = " or ".join(f"({', '.join(key)})" for key in node.upsert_keys)
    facts = [
        ("columns", ", ".join(columns)),
        ("upsert key", keys or "none: only the whole row identifies a row"),
        ("table", f"{node.table_type}, {node.accumulate_mode}"),
        ("strategy", f"{node.strategy}: {node.reason}"),
        ("state", node.state),
        *([("kernel", node.kernel)] if node.kernel else []),
        *((f"from {_output(input_)}", f"{input_.mode}, {_need(input_)}") for input_ in node.inputs),
        *((f"port {more.port}", f"{more.mode}, the late records, unchanged") for more in node.second_outputs),
    ]
    lines = [f"{node.id}: {node.title}  {node.mode}  {node.strategy}"]
    lines += [f"    {name:<13} {fact}" for name, fact in facts]
    return "\n".join(lines) + "\n"


def _output(input_: InputExplanation) -> str:
    return input_.node if input_.output == "out" else f"{input_.node}.{input_.output}"


def _need(input_: InputExplanation) -> str:
    if not input_.takes_back:
        return "which has no retractions"
    return f"{'needs' if input_.needs_retract else 'does not need'} retraction: {input_.reason}"
