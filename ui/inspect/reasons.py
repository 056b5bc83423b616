"""Why an operator emitted a record, in words: from what the operator is, the kinds, and what stands beside it.

The records that one cause (or one firing) made an operator emit are read together: a -U and a +U of one key are a
change of value, of one row under another rank a move.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from engine.model.changelog import RowKind
from engine.model.pipeline import Node, Pipeline
from engine.model.position import origin_of
from storage.changelogs.update_pairs import differing, key_of
from storage.model import Edge, Record
from ui.inspect.branches import Branch
from ui.shell import words

_INSERT, _BEFORE, _AFTER, _DELETE = RowKind
_FORWARDS: Final = frozenset({"filter", "project", "union"})
Explain = Callable[[Edge, Record, Sequence[Record], Mapping[str, Any]], str]


def reasons(tree: Sequence[Branch], pipeline: Pipeline) -> list[str]:
    """One reason per branch of a cascade, in its order."""
    nodes = {node.id: node for node in pipeline.nodes}
    together: dict[tuple[int, str, bytes], list[Record]] = {}
    for branch in tree:
        together.setdefault(_group(branch), []).append(branch.record)
    return [_reason(branch, together[_group(branch)], nodes.get(branch.edge.node)) for branch in tree]


def _group(branch: Branch) -> tuple[int, str, bytes]:
    return id(branch.cause), branch.edge.node, branch.record.step[:-1] if branch.is_fired else b""


def _reason(branch: Branch, beside: Sequence[Record], node: Node | None) -> str:
    edge, record = branch.edge, branch.record
    if edge.role == "source":
        return _of_source(record)
    if edge.role == "sink":
        return _of_sink(branch)
    if edge.operator in _FORWARDS:
        return "passed on" if branch.cause is not None and record.kind is branch.cause.record.kind else "let through"
    parameters = node.parameters if node is not None else {}
    explain = _BY_OPERATOR.get(edge.operator, _of_result)
    text = explain(edge, record, beside, parameters)
    return f"{_fired(record)}: {text}" if branch.is_fired else text


def _of_source(record: Record) -> str:
    match record.kind:
        case RowKind.INSERT:
            return "the event: a new row"
        case RowKind.UPDATE_BEFORE:
            return "the event: the source takes a row back"
        case RowKind.UPDATE_AFTER:
            return "the event: the row in its new state"
        case _:
            return "the event: the source deletes a row"


def _of_sink(branch: Branch) -> str:
    cause = branch.cause
    if cause is None or cause.record.kind is branch.record.kind:
        return "written"
    return f"written as {branch.record.kind.symbol}: the row that stands for its key in the sink"


def _fired(record: Record) -> str:
    origin = origin_of(record.step)
    if origin is None:
        return "the watermark fired"
    return f"the watermark reached {words.instant(origin.time_ms)}, which event {origin.seq:,} waited for"


def _partner(edge: Edge, record: Record, beside: Sequence[Record]) -> Record | None:
    """The other half of an update: the record of the same key with the other sign."""
    wanted = {_BEFORE: _AFTER, _AFTER: _BEFORE}.get(record.kind)
    of_key = [
        other for other in beside if other.kind is wanted and key_of(edge, other.values) == key_of(edge, record.values)
    ]
    if of_key or edge.upsert_key:
        return of_key[0] if of_key else None
    others = [other for other in beside if other.kind is wanted]
    return others[0] if len(others) == 1 else None


def _change(edge: Edge, record: Record, partner: Record) -> str:
    """`cnt 1 → 2`, of the columns that differ."""
    before, after = (record, partner) if record.kind is _BEFORE else (partner, record)
    places = {name: at for at, name in enumerate(edge.names)}
    changed = [
        f"{name} {words.value(before.values[places[name]])} → {words.value(after.values[places[name]])}"
        for name in differing(edge.names, before.values, after.values)
    ]
    return ", ".join(changed)


def _of_result(edge: Edge, record: Record, beside: Sequence[Record], parameters: Mapping[str, Any]) -> str:
    """An aggregate, and whatever keeps one row per key."""
    partner = _partner(edge, record, beside)
    if partner is not None:
        change = _change(edge, record, partner)
        if not change:
            return "nothing changed: what is taken back is said again"
        return f"{change}: {'the old value is taken back' if record.kind is _BEFORE else 'the new value is said'}"
    match record.kind:
        case RowKind.INSERT:
            return "the first result of its key"
        case RowKind.UPDATE_BEFORE:
            return "the old value is taken back"
        case RowKind.UPDATE_AFTER:
            return "the new value replaces the old one of its key"
        case _:
            return "no row of its key is left"


def _of_window(edge: Edge, record: Record, beside: Sequence[Record], parameters: Mapping[str, Any]) -> str:
    if record.kind is _INSERT:
        return "the window's result"
    return _of_result(edge, record, beside, parameters)


def _of_deduplication(edge: Edge, record: Record, beside: Sequence[Record], parameters: Mapping[str, Any]) -> str:
    kept = "first" if parameters.get("keep") == "first" else "last"
    by = "by arrival" if parameters.get("order") == "arrival" else "by event time"
    match record.kind:
        case RowKind.INSERT:
            return "the first row of its key" if kept == "last" else f"the first row of its key {by}"
        case RowKind.UPDATE_BEFORE:
            return f"no longer the {kept} row of its key {by}: it is taken back"
        case RowKind.UPDATE_AFTER:
            return f"the {kept} row of its key {by} now"
        case _:
            return "the kept row of its key was deleted"


def _of_ranking(edge: Edge, record: Record, beside: Sequence[Record], parameters: Mapping[str, Any]) -> str:
    name = str(parameters.get("rank_column", "rank"))
    if not parameters.get("with_rank") or name not in edge.names:
        return _of_unnumbered(edge, record, beside, parameters)
    place = edge.names.index(name)

    def row_of(other: Record) -> tuple[str, ...]:
        return tuple(repr(value) for at, value in enumerate(other.values) if at != place)

    rank = record.values[place]
    taking = record.kind in (_BEFORE, _DELETE)
    others = [
        other.values[place]
        for other in beside
        if other is not record and row_of(other) == row_of(record) and (other.kind in (_BEFORE, _DELETE)) is not taking
    ]
    if not others:
        if taking:
            gone = "falls past the last rank" if len(beside) > 1 and _somebody_comes(beside) else "is gone"
            return f"rank {rank}: the row that stood there {gone}"
        return f"rank {rank}: a row comes in"
    before, after = (rank, others[0]) if taking else (others[0], rank)
    if before == after:
        return f"rank {rank}: the row stays, and is said again"
    moved = "the incumbent moves down" if after > before else "the row moves up"
    return f"rank {before} → {after}: {moved}"


def _somebody_comes(beside: Sequence[Record]) -> bool:
    """Whether as many rows come as go: then one that goes was pushed out."""
    return sum(r.kind in (_INSERT, _AFTER) for r in beside) >= sum(r.kind in (_BEFORE, _DELETE) for r in beside)


def _of_unnumbered(edge: Edge, record: Record, beside: Sequence[Record], parameters: Mapping[str, Any]) -> str:
    best = f"the best {parameters['rank_end']}" if parameters.get("rank_end") else "the best rows"
    partner = _partner(edge, record, beside)
    if partner is not None and edge.upsert_key:
        return _of_result(edge, record, beside, parameters)
    match record.kind:
        case RowKind.INSERT:
            return f"it is among {best} now"
        case RowKind.UPDATE_BEFORE:
            return "the row that stood there is taken back"
        case RowKind.UPDATE_AFTER:
            return "the row that stands there now"
        case _:
            return f"it is no longer among {best}"


def _of_join(edge: Edge, record: Record, beside: Sequence[Record], parameters: Mapping[str, Any]) -> str:
    kind = str(parameters.get("kind", "inner"))
    comes = record.kind in (_INSERT, _AFTER)
    if kind in ("semi", "anti"):
        if kind == "semi":
            return "it has a partner" if comes else "its last partner has gone, or the row itself"
        return "it has no partner" if comes else "it has a partner now, or the row itself has gone"
    if kind != "inner" and _is_padded(record):
        return (
            "no partner: the row stands alone, padded with NULL" if comes else "the padded row goes: a partner has come"
        )
    if comes:
        return "two rows meet"
    return "one of the two rows was taken back, and the pair with it"


def _is_padded(record: Record) -> bool:
    """Whether one side of a joined row is all NULL: the first or the last column is, which a key column fills."""
    return bool(record.values) and (record.values[0] is None or record.values[-1] is None)


_BY_OPERATOR: Final[Mapping[str, Explain]] = {
    "deduplicate": _of_deduplication,
    "window_aggregate": _of_window,
    "topn": _of_ranking,
    "window_topn": _of_ranking,
    "join": _of_join,
    "interval_join": _of_join,
    "window_join": _of_join,
}
