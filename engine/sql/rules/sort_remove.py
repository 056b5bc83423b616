"""Orders that no reader sees: below an aggregate, a join and the like an order has no effect, unless it is fixed.

Source: Calcite SortRemoveRule; Flink keeps the order of a view below projections, filters and OVER.
"""

from __future__ import annotations

from functools import partial

from engine.sql.algebra import Filter, Over, Relation, Select, Sorted
from engine.sql.rules.inputs import with_inputs


def ordered(relation: Relation, *, is_seen: bool = True) -> Relation:
    """The relation without orders that nobody sees. is_seen: whether the order of its own rows is."""
    if isinstance(relation, Sorted) and not (relation.is_fixed or is_seen):
        return ordered(relation.input, is_seen=False)
    passes_on = isinstance(relation, Select | Filter | Over | Sorted)
    return with_inputs(relation, partial(ordered, is_seen=is_seen and passes_on))
