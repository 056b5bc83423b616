"""What a run leaves out of its pipeline: statements of a script that could not be read, and what needs them."""

from __future__ import annotations

from collections.abc import Mapping

from engine.contract.unread import Unread
from engine.model.pipeline import Pipeline
from ui.builder.editing import descendants


def left_out(pipeline: Pipeline) -> Mapping[str, str]:
    """The nodes that no run has, in the document's order, each with the reason."""
    unread = {
        node.id: str(node.parameters.get("reason", "it could not be read."))
        for node in pipeline.nodes
        if node.operator == Unread.operator
    }
    needs = {below: f"it needs {above}." for above in unread for below in descendants(pipeline, above)}
    reasons = needs | unread
    return {node.id: reasons[node.id] for node in pipeline.nodes if node.id in reasons}
