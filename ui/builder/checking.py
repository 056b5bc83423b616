"""The planner's check of the edited document, in the shapes that the builder draws."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from engine.contract.derived import Derived
from engine.contract.operator import Operator
from engine.contract.source import Source
from engine.errors import NotRead, StudioError
from engine.expressions.analyzer import TypeRules
from engine.model.changelog import ChangelogMode, UpdateKind
from engine.model.pipeline import Node, Pipeline
from engine.model.schema import Schema
from engine.planner import Check, check
from engine.python_functions.consent import CodeNotAllowed, is_allowed
from ui.builder.editing import operator_class
from ui.forms.spec import fields_of
from ui.shell import workspace
from ui.shell.log import app_log

LOG: Final = app_log()


def checked(pipeline: Pipeline) -> Check:
    """The check of a document. It needs no Spark, and an unexpected error becomes a problem on the canvas."""
    try:
        result = check(pipeline, TypeRules(), workspace.folder())
        return replace(result, problems=(*result.problems, *_not_allowed(result), *_cannot_write(result)))
    except Exception:
        LOG.exception("a document could not be checked")
        message = "this pipeline cannot be checked; the details are in the app's log. Undo the last change, or go on."
        return Check(None, {}, (StudioError(message),))


def _not_allowed(verdict: Check) -> Iterator[CodeNotAllowed]:
    """A problem for each node of a plan whose code is not allowed."""
    for node in verdict.plan.nodes if verdict.plan is not None else ():
        if isinstance(node.operator, Operator) and not is_allowed(node.operator.foreign_code):
            yield CodeNotAllowed(node.id)


def _cannot_write(verdict: Check) -> Iterator[StudioError]:
    """A problem for each sink that could not write where it is told to: a live run would tell it when it begins."""
    plan = verdict.plan
    for node in plan.nodes if plan is not None else ():
        if plan is not None and isinstance(node.operator, Operator):
            try:
                node.operator.check_place(plan.context(node), workspace.folder())
            except StudioError as error:
                yield error


def blocking(verdict: Check) -> tuple[StudioError, ...]:
    """The problems because of which nothing can run: a statement that could not be read does not stop the rest."""
    wrong = verdict.problems
    return tuple(error for error in wrong if not isinstance(error, NotRead)) if verdict.plan is not None else wrong


def modes(verdict: Check) -> Mapping[str, ChangelogMode]:
    """The changelog mode of every output; if there are problems elsewhere, the widest mode that it can have."""
    if verdict.plan is not None:
        return {node.id: node.mode for node in verdict.plan.nodes}
    return {
        name: ChangelogMode.of(derived.modify, UpdateKind.BEFORE_AND_AFTER) for name, derived in verdict.derived.items()
    }


def input_schemas(pipeline: Pipeline, node_id: str, verdict: Check) -> Mapping[str, Schema | None]:
    """The columns at each port of a node; None if they are not known."""
    cls = operator_class(pipeline.node(node_id).operator)
    schemas: dict[str, Schema | None] = {port: None for port in (cls.ports if cls else ())}
    for edge in pipeline.inputs(node_id):
        derived = verdict.output(edge.source, edge.source_port)
        if derived is not None and schemas.get(edge.target_port) is None:
            schemas[edge.target_port] = derived.schema
    return schemas


def output_schema(node: Node, verdict: Check) -> Schema | None:
    """The output columns of a node; for a source even if its time settings are wrong, so that they can be corrected."""
    if node.id in verdict.derived:
        return verdict.derived[node.id].schema
    cls = operator_class(node.operator)
    if cls is None or not issubclass(cls, Source):
        return None
    shared = {field.name for field in fields_of(cls)} & set(Source.model_fields)
    # A computed column can be the remedy for a wrong event time: it is left out only if it is wrong itself.
    for left_out in (shared - {"computed"}, shared):
        own = {name: value for name, value in node.parameters.items() if name not in left_out}
        alone = checked(Pipeline(nodes=(node.with_parameters(own),)))
        if node.id in alone.derived:
            return alone.derived[node.id].schema
    return None


def edge_reason(verdict: Check, source: str, target: str, port: str) -> str:
    """The reason for the mode of an edge: the need of its consumer."""
    planned = [] if verdict.plan is None else [node for node in verdict.plan.nodes if node.id == target]
    needs = planned[0].needs if planned else ()
    return next((need.reason for need in needs if (need.source, need.port) == (source, port)), "")


def keys_in_words(derived: Derived) -> str:
    """The upsert keys as `(user) or (id, day)`; without a key, `the whole row`."""
    keys = sorted(sorted(key) for key in derived.upsert_keys)
    return " or ".join("(" + ", ".join(key) + ")" if key else "(a single row)" for key in keys) or "the whole row"
