"""Relations without rows as nodes: an empty source, one row of counts, or the other side of an outer join."""

from __future__ import annotations

from collections.abc import Sequence

from engine.model.schema import Column
from engine.model.types import quote
from engine.sql.algebra import Relation
from engine.sql.empty import Empty, Padded, Totals
from engine.sql.nodes.emitter import Emitted, Emitter
from engine.sql.rules.empty_pruning import whole


def empty(emitter: Emitter, relation: Empty, needed: frozenset[str]) -> Emitted:
    """A source without rows."""
    columns = [name for name in relation.columns if name in needed] or list(relation.columns[:1])
    schema, arrival = _columns(emitter, relation.input, columns)
    return _source(emitter, schema, [], arrival)


def totals(emitter: Emitter, relation: Totals, needed: frozenset[str]) -> Emitted:
    """A source of one row."""
    schema, _ = _columns(emitter, relation.aggregate, relation.columns)
    return _source(emitter, schema, [[0 if name in relation.counts else None for name, _ in schema]], frozenset())


def padded(emitter: Emitter, relation: Padded, needed: frozenset[str]) -> Emitted:
    """A projection of the other side."""
    join = relation.join
    names = dict(join.right_names) if relation.is_left_kept else {name: name for name in join.left.columns}
    none, some = (join.right, join.left) if relation.is_left_kept else (join.left, join.right)
    wanted = [name for name in none.columns if names[name] in needed]
    nulls = {names[name]: column for name, column in _columns(emitter, none, wanted)[0]} if wanted else {}
    own = (
        {name: name for name in some.columns} if relation.is_left_kept else {b: a for a, b in join.right_names.items()}
    )
    used = [name for name in own if name in needed]
    emitted = emitter.emit(some, [own[name] for name in used]).renamed({name: own[name] for name in used})
    if not nulls:
        return emitted
    plain = [name for name in used if name not in emitted.arrival]
    items = [(name, quote(emitted.names[name])) for name in plain]
    items += [(name, emitter.cast("NULL", column.type)) for name, column in nulls.items()]
    node = emitter.project(emitted.node, items, join.at)
    return Emitted(node, {name: name for name, _ in items}, emitted.arrival)


def _columns(
    emitter: Emitter, relation: Relation, names: Sequence[str]
) -> tuple[list[tuple[str, Column]], frozenset[str]]:
    """The columns of a relation by name, and those that represent the arrival order."""
    described = emitter.described(whole(relation), names)
    emitted = described.emitted
    columns = [(name, described.schema.column(emitted.names[name])) for name in names if name not in emitted.arrival]
    return columns, emitted.arrival & frozenset(names)


def _source(
    emitter: Emitter, schema: Sequence[tuple[str, Column]], rows: list[list[int | None]], arrival: frozenset[str]
) -> Emitted:
    columns = [{"name": name, "type": column.type.flink} for name, column in schema]
    node = emitter.constants({"columns": columns, "rows": rows, "in_query": True}, None)
    return Emitted(node, {name: name for name, _ in schema}, arrival)
