"""Adjacent projections are one, and one of all columns is none.

Source: Calcite ProjectMergeRule, ProjectRemoveRule; Flink's pruning of unread window functions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from engine.sql.algebra import Expr, Named, Numbered, Over, Relation, Select, mentioned, plain, substituted

_DEEPEST: Final = 32
_LARGEST: Final = 400


def selected(relation: Relation, items: tuple[Named, ...]) -> Relation:
    """A projection of a relation, merged with a projection below it."""
    if isinstance(relation, Select):
        values = dict(relation.items)
        merged = tuple((name, substituted(item, values)) for name, item in items)
        computed = [item for (_, given), (_, item) in zip(items, merged, strict=True) if plain(given) is None]
        if not any(map(is_too_large, computed)):
            items, relation = merged, relation.input
    relation = without_unread(relation, frozenset().union(*(mentioned(item) for _, item in items)))
    if relation.columns == tuple(name for name, _ in items) and all(plain(item) == name for name, item in items):
        return relation
    return Select(relation, items)


def is_too_large(expression: Expr) -> bool:
    """Whether an expression made of those of several views is better computed in steps, each on the one below.

    A chain of views would otherwise become one expression that nobody can parse, and one that doubles with every view
    that names its column twice. Source: Calcite RelOptUtil.pushPastProjectUnlessBloat, which looks at the size alone.
    """
    level, size = [expression], 1
    for _ in range(_DEEPEST):
        level = [part for node in level for part in node.iter_expressions()]
        size += len(level)
        if size > _LARGEST or not level:
            break
    return bool(level)


def without_unread(relation: Relation, read: frozenset[str]) -> Relation:
    """The relation without unread OVER aggregates and row numbers at its top, which would drop late rows.

    Below a filter, a join or a window table function they stay even if unread, as in Flink.
    """
    match relation:
        case Over(calls=calls):
            read_calls = tuple(call for call in calls if call[0] in read)
            return replace(relation, calls=read_calls) if read_calls else relation.input
        case Numbered(name=name) if name not in read:
            return relation.input
        case _:
            return relation
