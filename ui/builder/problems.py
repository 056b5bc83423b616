"""The planner's problems as the builder words them: with the titles of a node's form, not the names in the document."""

from __future__ import annotations

from engine.errors import StudioError
from engine.model.pipeline import Pipeline
from ui.builder.editing import operator_class
from ui.forms.complaints import in_words


def explained(pipeline: Pipeline, problem: StudioError) -> str:
    """A problem without the name of its node, for a place that shows it at the node."""
    node = next((each for each in pipeline.nodes if each.id == problem.node), None)
    cls = operator_class(node.operator) if node is not None else None
    return in_words(cls, node.parameters, problem) if node is not None and cls is not None else problem.sentence


def explained_with_node(pipeline: Pipeline, problem: StudioError) -> str:
    """A problem with the name of its node before it."""
    return f"{problem.node}: {explained(pipeline, problem)}" if problem.node else problem.sentence
