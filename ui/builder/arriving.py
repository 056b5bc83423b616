"""The order of arrival of several sources, set when it begins to matter: when a node sees two of them, and all have an
event time, whether they were connected on the canvas, in a form, by a fix or pasted.

One source after the other, the default, is not how they would arrive: a join would see all of the left side first.
"""

from __future__ import annotations

from typing import Final

from engine.contract.source import Source
from engine.errors import PipelineError
from engine.model.pipeline import Arrival, Node, Pipeline
from engine.registry import configured
from ui.builder.checking import checked
from ui.builder.editing import descendants, operator_class, set_arrival

SENTENCE = (
    "the sources now arrive by event time, since {node} sees several of them. Each keeps its own order, so what is "
    "late in it stays late. Under Pipeline you can choose another order."
)


ONE_BY_ONE: Final = (
    "the sources of {node} arrive one after the other: all records of the first, then those of the next. Under "
    "Pipeline you can merge them by their event times."
)


def by_event_time(before: Pipeline, grown: Pipeline) -> tuple[Pipeline, str]:
    """An edited document with its sources merged by event time, and a sentence about it; as it is, and no sentence, if
    that was so before the edit, an order was chosen, or a source that a node sees beside another has no such time.

    A script that is taken over stays as its author wrote it.
    """
    is_script = bool(grown.script) and grown.script != before.script
    if is_script or grown.arrival != Arrival() or (before.nodes, before.edges) == (grown.nodes, grown.edges):
        return grown, ""
    meeting = _meeting_in_time(grown)
    if meeting is None or _meeting_in_time(before) is not None:
        return grown, ""
    merged = set_arrival(grown, mode="by_event_time")
    old_problems = {str(problem) for problem in checked(grown).problems}
    if any(str(problem) not in old_problems for problem in checked(merged).problems):
        return grown, ""
    return merged, SENTENCE.format(node=meeting)


def one_by_one(pipeline: Pipeline) -> str:
    """A sentence on an opened document whose sources could be merged by event time and are not; "" for any other."""
    meeting = _meeting_in_time(pipeline) if pipeline.arrival == Arrival() else None
    return "" if meeting is None else ONE_BY_ONE.format(node=meeting)


def _meeting_in_time(pipeline: Pipeline) -> str | None:
    """The first node that sees several sources, if all sources have an event time and none has an order of its own."""
    sources = _sources(pipeline)
    if len(sources) < 2 or (meeting := _meeting(pipeline)) is None:
        return None
    for node in sources:
        source = _configured(node)
        if source is None or source.event_time is None or source.arrival_column is not None:
            return None
    return meeting


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
    return next((node.id for node in pipeline.nodes if sum(node.id in reached for reached in below) > 1), None)
