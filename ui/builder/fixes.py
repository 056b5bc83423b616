"""Fixes of a problem by one click. A fix is tried before it is offered: the planner has to accept the result.

respell       write what an unread statement of a script probably means
spell         write Flink SQL in place of a spelling of Spark's
reorder       put a node that needs insert-only input before the node that emits updates
rename        replace the name of a missing column, wherever it is used
choose        take another choice of one of the node's own parameters
replace       take an equivalent operator that the node's own operator offers
take over     use the attached windows of the input
declare time  give the source the event time that its columns suggest
declare key   give a source the primary key that it, or a join below it, needs
prepare       put an operator before an input that the node's own operator offers
fill in       give required parameters their usual values
connect       connect an open input to an unused output
unite         put a union before an input with several edges
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from engine.contract.operator import OUT, Operator
from engine.contract.source import Source
from engine.errors import ExpressionError, NotRead, StudioError, UnknownColumn, shortened
from engine.expressions.analyzer import TypeRules
from engine.expressions.flink_sql import flink
from engine.joins.sides import seen
from engine.model.guesses import key_column, time_column
from engine.model.pipeline import Edge, Node, Pipeline, Place
from engine.planner import Check
from engine.registry import configured, operators
from engine.script import script_of
from engine.script.kept_text import kept_script
from engine.script.other_spelling import suggested as suggested_spellings
from engine.script.readable import flink_instead
from engine.windows.parameters import LENGTHS
from ui.builder.checking import checked, input_schemas, output_schema
from ui.builder.editing import (
    add_node,
    connect,
    descendants,
    operator_class,
    placed_like,
    set_parameter,
    takes_many,
    with_value,
)
from ui.builder.grouping import grouped_like
from ui.builder.renaming import with_column_renamed
from ui.forms.complaints import path_of
from ui.forms.spec import FieldKind, fields_of
from ui.forms.suggest import suggested, windows_of
from ui.shell import workspace

_MOST: Final = 3
_LONGEST: Final = 20_000
_KEY: Final = "primary_key"
_UNRESOLVED: Final = re.compile(r"unknown column ('[^']+'|\"[^\"]+\")")


@dataclass(frozen=True)
class Fix:
    """The label of the button, and the resulting document."""

    label: str
    document: Pipeline


def fixes(pipeline: Pipeline, problem: StudioError, verdict: Check) -> tuple[Fix, ...]:
    """The fixes of a problem at a node that were tried and work, the best first."""
    node = next((candidate for candidate in pipeline.nodes if candidate.id == problem.node), None)
    if node is None or operator_class(node.operator) is None:
        return ()
    working: list[Fix] = []
    for fix in (*_rename(pipeline, problem, verdict), *_candidates(pipeline, node, problem, verdict)):
        if len(working) < _MOST and all(fix.label != mend.label for mend in working) and _works(fix, node.id, verdict):
            working.append(fix)
    return tuple(working)


def filled(pipeline: Pipeline, node_id: str) -> Pipeline:
    """The document with usual values for a node's unset parameters, if the node is not valid without them."""
    node = pipeline.node(node_id)
    cls = operator_class(node.operator)
    return pipeline if cls is None or _is_whole(cls, node.parameters) else suggested_for(pipeline, node_id)


def joined(pipeline: Pipeline, source: str, node_id: str, port: str, source_port: str = OUT) -> Pipeline:
    """The document with one more edge; a node that has only suggested values gets those of its new inputs."""
    node = pipeline.node(node_id)
    cls = operator_class(node.operator)
    grown = connect(pipeline, source, node_id, port, source_port)
    if cls is None or node.parameters != suggested(cls, input_schemas(pipeline, node_id, checked(pipeline))):
        return filled(grown, node_id)
    bare = node.with_parameters({})
    return suggested_for(grown.with_node(node, bare), node_id)


def suggested_for(pipeline: Pipeline, node_id: str) -> Pipeline:
    """The document with usual values for a node's unset parameters, so that the node works at once."""
    node = pipeline.node(node_id)
    cls = operator_class(node.operator)
    if cls is None:
        return pipeline
    for name, value in suggested(cls, input_schemas(pipeline, node_id, checked(pipeline))).items():
        if name not in node.parameters:
            pipeline = set_parameter(pipeline, node_id, name, value)
    return pipeline


def united(pipeline: Pipeline, node_id: str, port: str, sources: tuple[str, ...]) -> Pipeline:
    """The document with a union of these sources before an input."""
    remaining = tuple(edge for edge in pipeline.edges if (edge.target, edge.target_port) != (node_id, port))
    uniting = next(name for name, cls in operators().items() if cls.many_edges)
    grown, union = add_node(pipeline.model_copy(update={"edges": remaining}), uniting)
    for source in sources:
        grown = connect(grown, source, union, "in")
    return connect(grown, union, node_id, port)


def _works(fix: Fix, node_id: str, verdict: Check) -> bool:
    """Whether the node has no problem any more, and no valid node has become invalid."""
    after = checked(fix.document)
    wrong = {problem.node for problem in after.problems}
    return "" not in wrong and node_id not in wrong and not any(name in wrong for name in verdict.derived)


def _candidates(pipeline: Pipeline, node: Node, problem: StudioError, verdict: Check) -> Iterator[Fix]:
    if isinstance(problem, NotRead):
        yield from _respelt(pipeline.to_json(), problem.sentence, workspace.folder())
        return
    yield from _in_flink(pipeline, node, problem, verdict)
    yield from _unite(pipeline, node)
    yield from _connect(pipeline, node)
    whole = filled(pipeline, node.id)
    if whole != pipeline:
        yield Fix("Fill in usual values", whole)
    yield from _reorder(pipeline, node, verdict)
    yield from _take_over_windows(pipeline, node, verdict)
    yield from _declare_time(pipeline, node, verdict)
    yield from _declare_key(pipeline, node, problem, verdict)
    yield from _prepare(pipeline, node, problem)
    yield from _replace(pipeline, node, verdict)
    yield from _choose(pipeline, node)


@lru_cache(64)
def _respelt(document: str, sentence: str, folder: Path) -> tuple[Fix, ...]:
    """Correct the script of a document, if it still says what the document is."""
    pipeline = Pipeline.from_json(document)
    if len(pipeline.script) > _LONGEST or (own_script := kept_script(pipeline, TypeRules(), folder)) is None:
        return ()
    corrections = []
    for new, text in suggested_spellings(own_script[0], sentence):
        with suppress(StudioError):
            read = script_of(text, TypeRules(), folder, pipeline.name).pipeline
            corrections.append(Fix(f"Write {shortened(new, 60)}", grouped_like(placed_like(read, pipeline), pipeline)))
    return tuple(corrections)


def _in_flink(pipeline: Pipeline, node: Node, problem: StudioError, verdict: Check) -> Iterator[Fix]:
    """Write Flink SQL in place of a spelling of Spark's."""
    operator = operator_of(node)
    schemas = [schema for schema in input_schemas(pipeline, node.id, verdict).values() if schema is not None]
    if not isinstance(problem, ExpressionError) or operator is None or len(schemas) < len(operator.ports):
        return
    instead = flink_instead(problem.expression, seen(schemas), operator.variables)
    if instead is not None:
        name, *path = path_of(problem.field)
        value = with_value(node.parameters.get(str(name)), path, flink(instead)) if path else flink(instead)
        yield Fix(f"Write {shortened(instead, 60)}", set_parameter(pipeline, node.id, str(name), value))


def _rename(pipeline: Pipeline, problem: StudioError, verdict: Check) -> Iterator[Fix]:
    """Rename a missing column to one that the inputs have: at this node, and wherever it is then missing."""
    old = _missing_column(problem)
    schemas = input_schemas(pipeline, problem.node, verdict).values()
    names = [name for schema in schemas if schema is not None for name in schema.names]
    if old is None or old in names:
        return
    written = " ".join(
        node.model_dump_json(include={"parameters"}) for node in pipeline.nodes if pipeline.inputs(node.id)
    )
    # A column that no parameter mentions yet is likely to be the new name.
    likely = sorted(names, key=lambda name: (name in written, -SequenceMatcher(None, old, name).ratio()))
    for new in likely[:2]:
        document = pipeline
        for _ in pipeline.nodes:
            missing = {error.node for error in checked(document).problems if _missing_column(error) == old}
            if not missing:
                break
            for node_id in missing:
                document = with_column_renamed(document, node_id, old, new)
        yield Fix(f"Rename {old} to {new} everywhere", document)


def _missing_column(problem: StudioError) -> str | None:
    if isinstance(problem, UnknownColumn):
        return problem.name
    if isinstance(problem, ExpressionError):
        match = _UNRESOLVED.search(problem.reason)
        return match[1][1:-1] if match else None
    return None


def _reorder(pipeline: Pipeline, node: Node, verdict: Check) -> Iterator[Fix]:
    """Put the node before a node above it that turns insert-only input into updates, along nodes with one input."""
    above = _only_input(pipeline, node.id)
    while above is not None and above in verdict.derived and not verdict.derived[above].is_insert_only:
        before = _only_input(pipeline, above)
        if before is not None and before in verdict.derived and verdict.derived[before].is_insert_only:
            yield Fix(f"Put {node.id} before {above}", _moved_before(pipeline, node.id, above, before))
        above = before


def _moved_before(pipeline: Pipeline, node_id: str, step: str, before: str) -> Pipeline:
    inputs, rewired = pipeline.inputs(node_id)[0], []
    for edge in pipeline.edges:
        if edge == inputs:
            continue
        if edge.source == node_id:
            edge = edge.model_copy(update={"source": inputs.source})
        elif (edge.source, edge.target) == (before, step):
            edge = edge.model_copy(update={"source": node_id})
        rewired.append(edge)
    edges = (*rewired, Edge(source=before, target=node_id, target_port=inputs.target_port))
    free = pipeline.node(node_id).model_copy(update={"place": Place()})
    nodes = tuple(free if node.id == node_id else node for node in pipeline.nodes)
    return pipeline.model_copy(update={"nodes": nodes, "edges": edges})


def _take_over_windows(pipeline: Pipeline, node: Node, verdict: Check) -> Iterator[Fix]:
    """Use the attached windows of the rows instead of windows assigned by event time."""
    cls = operator_class(node.operator)
    windows = windows_of(cls, input_schemas(pipeline, node.id, verdict)) if cls is not None else {}
    if not windows:
        return
    lengths = {"kind", "windows", "offset_ms", *chain.from_iterable(LENGTHS.values())}
    remaining = {name: value for name, value in node.parameters.items() if name not in lengths}
    taken = node.with_parameters({**remaining, **windows})
    yield Fix("Use the windows of its input", pipeline.with_node(node, taken))


def _declare_time(pipeline: Pipeline, node: Node, verdict: Check) -> Iterator[Fix]:
    above = {node.id}
    for other in reversed(pipeline.sorted_nodes()):
        if other.id in above:
            above |= {edge.source for edge in pipeline.inputs(other.id)}
    for other in pipeline.nodes:
        cls = operator_class(other.operator)
        if other.id not in above or cls is None or not issubclass(cls, Source) or other.parameters.get("event_time"):
            continue
        column = time_column(output_schema(other, verdict))
        if column is not None:
            label = f"Use {column} of {other.id} as event time"
            yield Fix(label, set_parameter(pipeline, other.id, "event_time", column))


def _declare_key(pipeline: Pipeline, node: Node, problem: StudioError, verdict: Check) -> Iterator[Fix]:
    """Declare a missing primary key: of the node itself, or of the source of an input whose rows need one."""
    if problem.field == _KEY:
        if (column := key_column(output_schema(node, verdict))) is not None:
            yield _with_key(pipeline, node, (column,))
        return
    below = next((edge for edge in pipeline.inputs(node.id) if edge.target_port == problem.field), None)
    keys = tuple(node.parameters.get(f"{problem.field}_keys", ()))
    if below is None or not keys or "primary key" not in problem.sentence:
        return
    above = below.source
    while (before := _only_input(pipeline, above)) is not None:
        above = before
    source = pipeline.node(above)
    cls = operator_class(source.operator)
    if cls is not None and issubclass(cls, Source) and _KEY in cls.model_fields:
        yield _with_key(pipeline, source, keys)


def _prepare(pipeline: Pipeline, node: Node, problem: StudioError) -> Iterator[Fix]:
    """Put an operator before the input with the problem, of those that the node's operator offers."""
    below = next((edge for edge in pipeline.inputs(node.id) if edge.target_port == problem.field), None)
    operator = operator_of(node)
    if below is None or operator is None:
        return
    cut = pipeline.model_copy(update={"edges": tuple(edge for edge in pipeline.edges if edge != below)})
    for step in operator.preparations(problem.field):
        grown, added = add_node(cut, step.operator)
        for name, value in step.parameters.items():
            grown = set_parameter(grown, added, name, value)
        grown = connect(grown, below.source, added, "in", below.source_port)
        yield Fix(step.label, connect(grown, added, node.id, problem.field))


def operator_of(node: Node) -> Operator | None:
    """The operator of a node with its parameters; None if they are not valid, or of a source."""
    try:
        operator = configured(node)
    except StudioError:
        return None
    return operator if isinstance(operator, Operator) else None


def _with_key(pipeline: Pipeline, source: Node, columns: tuple[str, ...]) -> Fix:
    label = f"Use {', '.join(columns)} as primary key of {source.id}"
    return Fix(label, set_parameter(pipeline, source.id, _KEY, list(columns)))


def _replace(pipeline: Pipeline, node: Node, verdict: Check) -> Iterator[Fix]:
    """Replace the operator by the alternatives that it offers for its inputs."""
    operator = operator_of(node)
    inputs = [verdict.derived.get(edge.source) for edge in pipeline.inputs(node.id)]
    derived_inputs = [derived for derived in inputs if derived is not None]
    if operator is None or len(derived_inputs) < max(len(inputs), 1):
        return
    for other in operator.alternatives(derived_inputs):
        replaced = node.model_copy(update={"operator": other.operator}).with_parameters(other.parameters)
        yield Fix(other.label, pipeline.with_node(node, replaced))


def _choose(pipeline: Pipeline, node: Node) -> Iterator[Fix]:
    cls = operator_class(node.operator)
    for field in fields_of(cls) if cls is not None else ():
        if field.kind is not FieldKind.CHOICE:
            continue
        for choice in field.choices:
            if choice != node.parameters.get(field.name, field.default):
                words = str(choice).replace("_", " ")
                yield Fix(f"{field.title}: {words}", set_parameter(pipeline, node.id, field.name, choice))


def _connect(pipeline: Pipeline, node: Node) -> Iterator[Fix]:
    cls = operator_class(node.operator)
    below = descendants(pipeline, node.id) | {node.id}
    loose = [
        candidate.id
        for candidate in pipeline.nodes
        if candidate.id not in below
        and not pipeline.outputs(candidate.id)
        and getattr(operator_class(candidate.operator), "role", "sink") != "sink"
    ]
    for port in cls.ports if cls is not None else ():
        if any(edge.target_port == port for edge in pipeline.inputs(node.id)):
            continue
        for source in loose:
            where = f" ({port})" if cls is not None and len(cls.ports) > 1 else ""
            yield Fix(f"Connect {source} to {node.id}{where}", joined(pipeline, source, node.id, port))


def _unite(pipeline: Pipeline, node: Node) -> Iterator[Fix]:
    for port in {edge.target_port for edge in pipeline.inputs(node.id)}:
        sources = tuple(edge.source for edge in pipeline.inputs(node.id) if edge.target_port == port)
        if len(sources) > 1 and not takes_many(node):
            yield Fix(f"Put a union before {node.id}", united(pipeline, node.id, port, sources))


def _only_input(pipeline: Pipeline, node_id: str) -> str | None:
    inputs = pipeline.inputs(node_id)
    return inputs[0].source if len(inputs) == 1 else None


def _is_whole(cls: type, parameters: Any) -> bool:
    try:
        cls.model_validate(dict(parameters))  # type: ignore[attr-defined]
    except ValidationError:
        return False
    return True
