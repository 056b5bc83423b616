"""The order of arrival of several sources, set when it begins to matter: when a node sees two of them.

One source after the other, the default, is not how they would arrive: a join would see all of the left side first.
"""

from __future__ import annotations

from engine.contract.source import Source
from engine.errors import PipelineError
from engine.model.pipeline import Arrival, Node, Pipeline
from engine.registry import configured
from ui.builder.checking import checked
from ui.builder.editing import descendants, operator_class, set_arrival, set_parameter

SENTENCE = (
    "the records of all sources now arrive by their event times, since {node} sees several of them. Under Pipeline you "
    "can choose another order."
)


def by_event_time(before: Pipeline, grown: Pipeline) -> tuple[Pipeline, str]:
    """A grown document with its sources merged by event time, and a sentence about it; as it is, and no sentence, if
    no node came to see several sources, an order was chosen already, or a source has no such time."""
    meeting = _meeting(grown)
    if meeting is None or _meeting(before) is not None or grown.arrival != Arrival():
        return grown, ""
    merged = set_arrival(grown, mode="by_column")
    units: set[object] = set()
    for node in _sources(grown):
        source = _configured(node)
        if source is None or source.event_time is None or source.arrival_column is not None:
            return grown, ""
        units.add(source.event_time_unit)
        merged = set_parameter(merged, node.id, "arrival_column", source.event_time)
    known = {str(problem) for problem in checked(grown).problems}
    if len(units) > 1 or any(str(problem) not in known for problem in checked(merged).problems):
        return grown, ""
    return merged, SENTENCE.format(node=meeting)


def _sources(pipeline: Pipeline) -> list[Node]:
    return [node for node in pipeline.nodes if getattr(operator_class(node.operator), "role", "") == "source"]


def _configured(node: Node) -> Source | None:
    """The source with its parameters; None if they are not complete yet."""
    try:
        source = configured(node)
    except PipelineError:
        return None
    return source if isinstance(source, Source) else None


def _meeting(pipeline: Pipeline) -> str | None:
    """The first node, in the document's order, that sees several sources."""
    below = [descendants(pipeline, source.id) for source in _sources(pipeline)]
    return next((node.id for node in pipeline.nodes if sum(node.id in each for each in below) > 1), None)
