"""The plan in words: what was decided of every node and edge, and why."""

from __future__ import annotations

from collections.abc import Mapping

from engine.changelog import APPEND
from engine.operator import OUT, InputPlan
from engine.planner.plan import InputNeed, NodePlan, Plan


def explanation(plan: Plan) -> Mapping[str, object]:
    """The plan as plain values, by node, for the store and the pages."""
    return {"nodes": [_node(node) for node in plan.nodes]}


def _node(node: NodePlan) -> Mapping[str, object]:
    return {
        "id": node.id,
        "operator": node.operator.operator,
        "role": node.role,
        "rank": node.rank,
        "schema": [
            {"name": column.name, "type": column.type, "time": column.time.value if column.time else None}
            for column in node.schema
        ],
        "upsert_keys": sorted(sorted(key) for key in node.derived.upsert_keys),
        "mode": str(node.mode),
        "table_type": node.table_type,
        "accumulate_mode": node.accumulate_mode,
        "strategy": node.strategy.name,
        "reason": node.strategy.reason,
        "state": node.strategy.state,
        "sources": dict(node.derived.holdbacks),
        "second outputs": [
            {"port": port, "mode": str(APPEND), "columns": list(derived.schema.names)}
            for port, derived in node.second.items()
        ],
        "inputs": [
            {
                "node": need.source,
                "output": given.port,
                "port": need.port,
                "mode": str(given.mode),
                "needs_retract": need.needs_retract,
                "update_kind": need.update_kind.value,
                "reason": need.reason,
            }
            for need, given in zip(node.needs, node.inputs, strict=True)
        ],
    }


def to_text(plan: Plan) -> str:
    """The plan for a terminal: one paragraph per node, sources first."""
    lines: list[str] = []
    for node in plan.nodes:
        lines.append(f"{node.id}: {node.operator.title}  {node.mode}  {node.strategy.name}")
        columns = ", ".join(
            f"{column.name} {column.type}" + (" event time" if column.time else "") for column in node.schema
        )
        lines.append(f"    columns       {columns}")
        keys = " or ".join("(" + ", ".join(sorted(key)) + ")" for key in sorted(node.derived.upsert_keys, key=sorted))
        lines.append(f"    upsert key    {keys or 'none: only the whole row identifies a row'}")
        lines.append(f"    table         {node.table_type}, {node.accumulate_mode}")
        lines.append(f"    strategy      {node.strategy.name}: {node.strategy.reason}")
        lines.append(f"    state         {node.strategy.state}")
        for need, given in zip(node.needs, node.inputs, strict=True):
            source = need.source if given.port == OUT else f"{need.source}.{given.port}"
            lines.append(f"    {'from ' + source:<13} {given.mode}, {_need(need, given)}")
        for port in node.second:
            lines.append(f"    {'port ' + port:<13} {APPEND}, the records that were too late, as they came in")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _need(need: InputNeed, given: InputPlan) -> str:
    if not given.mode.retracts and not given.derived.has_updates:
        return "which takes nothing back"
    return f"{'needs' if need.needs_retract else 'does not need'} retraction: {need.reason}"
