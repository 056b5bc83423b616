"""Differences between Flink 2.3 and the studio that `engine/FLINK.md` lists, recognised by what a run has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from engine.flink.values import Records
from engine.planner import NodePlan, Plan

FLINK_MD: Final = Path(__file__).parents[1] / "FLINK.md"


class Known(NamedTuple):
    """A difference. begins: how its line begins in the table of FLINK.md, or the heading that tells it."""

    begins: str
    is_it: Callable[[Sequence[NodePlan], Records, Records], bool]


def _has(*operators: str) -> Callable[[Sequence[NodePlan], Records, Records], bool]:
    return lambda nodes, ours, theirs: any(node.operator.operator in operators for node in nodes)


def _lacks_update_before(nodes: Sequence[NodePlan], ours: Records, theirs: Records) -> bool:
    without = [[*record] for record in ours if record[0] != "-U"]
    return _has("topn")(nodes, ours, theirs) and without == [[*record] for record in theirs]


def _has_offset(nodes: Sequence[NodePlan], ours: Records, theirs: Records) -> bool:
    return any(getattr(node.operator, "rank_from", 1) != 1 for node in nodes if node.operator.operator == "topn")


def _is_padded(nodes: Sequence[NodePlan], ours: Records, theirs: Records) -> bool:
    kinds = (getattr(getattr(node.operator, "kind", None), "value", "") for node in nodes if _is_join(node))
    return any(kind in ("left", "right", "full", "semi", "anti") for kind in kinds)


def _is_join(node: NodePlan) -> bool:
    return node.operator.operator == "join"


KNOWN: Final = (
    Known("| Top 1 ordered by a value ascending", _lacks_update_before),
    Known("| Top N with an offset", _has_offset),
    Known("| outer, semi and anti joins fed +U without -U", _is_padded),
    Known("## Timers that are due at once", _has("window_aggregate", "window_topn", "window_join", "interval_join")),
    Known("| a join's pairs with several rows of one key", _has("join")),
)


def known(plan: Plan, above: set[str], ours: Records, theirs: Records) -> str:
    """The line of FLINK.md that tells a difference, or a likely one; empty if none is recognised."""
    nodes = [node for node in plan.nodes if node.id in above]
    for difference in KNOWN:
        if difference.is_it(nodes, ours, theirs):
            return line_of(difference.begins)
    return ""


def line_of(begins: str) -> str:
    """The line of FLINK.md that begins so; of a heading, the heading."""
    lines = FLINK_MD.read_text(encoding="utf-8").splitlines()
    entry = next((line for line in lines if line.startswith(begins)), begins)
    return " / ".join(cell.strip() for cell in entry.strip("|# ").split(" | "))
