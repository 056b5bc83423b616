"""Why each record of a cascade was emitted, in words: the operators give the meaning, this module the text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.contract.explanation import PlanExplanation
from engine.contract.meaning import Emission, EmittedRecord, Meaning, of_forwarded, of_result
from engine.contract.operator import Operator
from engine.errors import StudioError
from engine.model.changelog import RowKind
from engine.model.pipeline import Pipeline
from engine.model.position import origin_of
from engine.registry import configured
from storage.model import Record
from ui.inspect.branches import Branch
from ui.shell import words


def reasons(tree: Sequence[Branch], operators: Mapping[str, Operator], plan: PlanExplanation) -> list[str]:
    """One reason per branch of a cascade, in its order. plan: the plan of the run that emitted it."""
    together: dict[tuple[int, str, bytes], list[Record]] = {}
    for branch in tree:
        together.setdefault(_group(branch), []).append(branch.record)
    sentences = []
    for branch in tree:
        planned = plan.node(branch.edge.node)
        if branch.edge.role == "operator" and not (planned is not None and planned.is_stateless):
            operator, inputs = operators.get(branch.edge.node), plan.columns_into(branch.edge.node)
            sentences.append(_of_operator(branch, together[_group(branch)], operator, inputs))
        else:
            sentences.append(_of_wiring(branch))
    return sentences


def operators_of(pipeline: Pipeline) -> dict[str, Operator]:
    """The operators by node, without unknown or invalid ones."""
    operators = {}
    for node in pipeline.nodes:
        try:
            operator = configured(node)
        except StudioError:
            continue
        if isinstance(operator, Operator):
            operators[node.id] = operator
    return operators


def _group(branch: Branch) -> tuple[int, str, bytes]:
    """The group of a record: records emitted for one cause, or by one firing, have the same group."""
    return id(branch.cause), branch.edge.node, branch.record.step[:-1] if branch.is_fired else b""


def _of_wiring(branch: Branch) -> str:
    """The reason for a record of a source, of a sink or of a stateless operator."""
    cause = branch.cause.record.kind if branch.cause is not None else None
    match branch.edge.role:
        case "source":
            return _of_source(branch.record)
        case "sink" if cause is None or cause is branch.record.kind:
            return "written"
        case "sink":
            return f"written as {branch.record.kind.symbol}: the row of its key in the sink"
        case _:
            return of_forwarded(branch.record.kind, cause)


def _of_source(record: Record) -> str:
    match record.kind:
        case RowKind.INSERT:
            return "the event: a new row"
        case RowKind.UPDATE_BEFORE:
            return "the event: the source retracts a row"
        case RowKind.UPDATE_AFTER:
            return "the event: the row after the update"
        case _:
            return "the event: the source deletes a row"


def _of_operator(
    branch: Branch, beside: Sequence[Record], operator: Operator | None, inputs: tuple[tuple[str, ...], ...]
) -> str:
    edge = branch.edge
    emitted = tuple(EmittedRecord(record.kind, record.values) for record in beside)
    at = next(at for at, record in enumerate(beside) if record is branch.record)
    emission = Emission(edge.names, edge.upsert_key, emitted, at, inputs)
    text = _sentence(of_result(emission) if operator is None else operator.meaning(emission))
    return f"{_fired(branch.record)}: {text}" if branch.is_fired else text


def _sentence(meaning: Meaning) -> str:
    """The text of a meaning: `cnt 1 → 2: the new value is emitted`."""
    changed = ", ".join(
        f"{change.name} {words.value(change.before)} → {words.value(change.after)}" for change in meaning.changes
    )
    return f"{changed}: {meaning.sentence}" if changed else meaning.sentence


def _fired(record: Record) -> str:
    origin = origin_of(record.step)
    if origin is None:
        return "the watermark fired"
    return f"the watermark reached {words.instant(origin.time_ms)}, which event {origin.seq:,} waited for"
