"""The planner's problems as the builder words them: with the titles of a node's form, not the names in the document."""

from __future__ import annotations

from engine.errors import StudioError
from engine.model.pipeline import Pipeline
from ui.builder.editing import operator_class
from ui.forms.complaints import in_words, is_empty_at, path_of


def is_to_do(pipeline: Pipeline, problem: StudioError) -> bool:
    """Whether nothing is wrong, but something is still missing: any node, an input, or the value of a field."""
    node = next((candidate for candidate in pipeline.nodes if candidate.id == problem.node), None)
    cls = operator_class(node.operator) if node is not None else None
    if node is None or cls is None:
        return not pipeline.nodes
    if problem.field in cls.ports:
        return all(edge.target_port != problem.field for edge in pipeline.inputs(node.id))
    return is_empty_at(node.parameters, path_of(problem.field))


def explained(pipeline: Pipeline, problem: StudioError) -> str:
    """A problem without the name of its node, for a place that shows it at the node."""
    node = next((candidate for candidate in pipeline.nodes if candidate.id == problem.node), None)
    cls = operator_class(node.operator) if node is not None else None
    return in_words(cls, node.parameters, problem) if node is not None and cls is not None else problem.sentence


def explained_with_node(pipeline: Pipeline, problem: StudioError) -> str:
    """A problem with the name of its node before it."""
    return f"{problem.node}: {explained(pipeline, problem)}" if problem.node else problem.sentence
