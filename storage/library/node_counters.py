"""The counters of a run's nodes: records in and out, and those that were late or rejected."""

from __future__ import annotations

from typing import Final

from engine.model.changelog import RowKind
from storage.database.connection import Database
from storage.library.stored_run import StoredRun
from storage.model import NodeCounters

_PROBLEMS: Final = (
    "SELECT node, sum(dropped), sum(used), sum(rejected) FROM run_problems WHERE run_id = ? GROUP BY node"
)


def counters_of(database: Database, run: StoredRun) -> tuple[NodeCounters, ...]:
    """The counters of every node, in topological order."""
    problems = {
        str(node): (int(dropped), int(used), int(rejected))
        for node, dropped, used, rejected in database.rows(_PROBLEMS, [run.run_id])
    }
    nodes = dict.fromkeys(edge.node for edge in run.edges)
    return tuple(_counters(run, node, *problems.get(node, (0, 0, 0))) for node in nodes)


def _counters(run: StoredRun, node: str, dropped: int, used: int, rejected: int) -> NodeCounters:
    outputs = [edge for edge in run.edges if edge.node == node]
    counts = {kind: sum(edge.counts[kind] for edge in outputs) for kind in RowKind}
    return NodeCounters(
        node=node,
        operator=outputs[0].operator,
        role=outputs[0].role,
        records_in=sum(edge.total + edge.left_out for _, edge in run.input_edges(node)) if run.inputs(node) else None,
        records_out=sum(edge.total + edge.left_out for edge in outputs),
        counts=counts,
        dropped=dropped,
        used=used,
        rejected=rejected,
    )
