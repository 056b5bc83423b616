"""ROW_NUMBER with a range of ranks as a node: a deduplication if Flink uses one, else a Top N.

Source: Flink RankUtil.canConvertToDeduplicate, RankNumberColumnRemoveRule, CalcRankTransposeRule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from engine.model.free_names import free_name
from engine.model.options import MINI_BATCH, is_on
from engine.model.types import BIGINT, quote
from engine.sql.algebra import (
    Aggregate,
    Filter,
    Join,
    Rank,
    Relation,
    Select,
    is_free,
    mentioned,
    plain,
    ref,
    substituted,
)
from engine.sql.clauses.grouping_sets import NUMBER
from engine.sql.nodes.emitter import Emitted, Emitter, order_by
from engine.sql.nodes.processing_time import is_processing_time
from engine.sql.nodes.window_ranks import window_rank


def rank(emitter: Emitter, relation: Rank, needed: frozenset[str]) -> Emitted:
    """The rows in a range of ranks. A single rank is a constant, so its rows are not numbered."""
    relation = _without_constants(relation)
    is_constant = relation.start == relation.end
    wants_number = relation.name in needed and not is_constant
    order = [key.expression.name for key in relation.order]
    end = [relation.end] if isinstance(relation.end, str) else []
    read = {*relation.keeps, *needed, *relation.partition, *order, *end}
    used = [name for name in relation.input.columns if name in read]
    ranked = window_rank(emitter, relation, used, needed | {*relation.keeps}, wants_number=wants_number)
    if ranked is None:
        below, more, computed = _with_more(relation)
        more = [name for name in more if name not in used]
        emitted = emitter.emit(below, [*used, *more, *computed])
        used += more
        ranked = _deduplicated(emitter, relation, emitted, used) if not wants_number else None
        ranked = ranked or _top_n(emitter, relation, emitted, used, wants_number=wants_number)
    if relation.name in needed and is_constant:
        return _with_constant(emitter, ranked, relation)
    return ranked


def _without_constants(relation: Rank) -> Rank:
    """The ranking without literals in its partition: a literal does not distinguish partitions."""
    below = relation.input
    if not isinstance(below, Select):
        return relation
    literals = {name for name, item in below.items if isinstance(item.unnest(), exp.Literal | exp.Boolean)}
    return replace(relation, partition=tuple(name for name in relation.partition if name not in literals))


def _with_more(relation: Rank) -> tuple[Relation, list[str], tuple[str, ...]]:
    """The input of a Top N, with the columns that it keeps in addition, and those that are only computed."""
    if relation.is_limit:
        return relation.input, [], ()
    below, rank_columns = _with_inner_rank(relation.input, is_narrow=relation.is_narrow)
    below, computed = with_results(below, is_narrow=relation.is_narrow)
    below, keys = _with_keys(below, is_narrow=relation.is_narrow)
    return below, rank_columns + keys, computed


def _with_inner_rank(relation: Relation, *, is_narrow: bool) -> tuple[Relation, list[str]]:
    """The relation with the rank of a Top N below among its columns, and the rank's name; [] without such a Top N.

    In a Top N over another, Flink keeps the inner rank, which is the key of the inner Top N's rows.
    """
    inner = relation.input if isinstance(relation, Select) else relation
    is_ranked = isinstance(inner, Rank) and inner.start != inner.end and inner.function == "ROW_NUMBER"
    if not isinstance(inner, Rank) or not is_ranked or inner.is_limit:
        return relation, []
    if not isinstance(relation, Select):
        return relation, [inner.name]
    name = next((name for name, item in relation.items if plain(item) == inner.name), None)
    if name is not None:
        return relation, [name]
    if is_narrow or any(plain(item) is None for _, item in relation.items):
        return relation, []
    return _with_columns(relation, [inner.name])


def _with_keys(relation: Relation, *, is_narrow: bool) -> tuple[Relation, list[str]]:
    """The relation with the keys that a projection of columns drops, and the names of all its keys.

    Flink's Top N keeps the columns of all unique keys of its input.
    """
    if is_narrow:
        return relation, []
    if not isinstance(relation, Select):
        return relation, _key_columns(relation)
    if any(plain(item) is None for _, item in relation.items):
        return relation, []
    names = {plain(item): name for name, item in relation.items}
    keys = _key_columns(relation.input)
    dropped = [column for column in keys if column not in names]
    wider, added = _with_columns(relation, dropped)
    names |= zip(dropped, added, strict=True)
    return wider, [names[column] for column in keys]


def _with_columns(relation: Select, columns: Sequence[str]) -> tuple[Select, list[str]]:
    """A projection with more columns of its input, and their names in it."""
    items, names = list(relation.items), list[str]()
    for column in columns:
        names.append(free_name(column, [taken for taken, _ in items]))
        items.append((names[-1], ref(column)))
    return Select(relation.input, tuple(items)), names


def _key_columns(relation: Relation) -> list[str]:
    """The columns of the unique keys of aggregates, and of joins of these."""
    match relation:
        case Aggregate(groups=groups):
            return [name for name, _ in groups]
        case Filter(input=below):
            return _key_columns(below)
        case Select(input=below, items=items):
            names = {plain(item): name for name, item in items}
            keys = _key_columns(below)
            return [names[key] for key in keys] if all(key in names for key in keys) else []
        case Join(left=left, right=right, kind=kind):
            own, others = _key_columns(left), _key_columns(right)
            if kind.is_left_only:
                return own
            return [*own, *(relation.right_names[name] for name in others)] if own and others else []
    return []


def with_results(relation: Relation, *, is_narrow: bool) -> tuple[Relation, tuple[str, ...]]:
    """The relation with all results of an aggregate below among its columns, and the names to read in addition.

    The aggregate is the relation itself or below its projection of columns. Flink computes unread results too; they
    update rows. Below a projection that is narrow or computes something it computes what that reads.
    """
    relation = _without_distinct(relation)
    if isinstance(relation, Aggregate):
        return relation, relation.columns
    if not isinstance(relation, Select) or not isinstance(relation.input, Aggregate):
        return relation, ()
    if not is_narrow and not _computes(relation):
        read = frozenset().union(*(mentioned(item) for _, item in relation.items))
        relation, _ = _with_columns(relation, [call for call, _ in relation.input.calls if call not in read])
    return relation, tuple(name for name, item in relation.items if mentioned(item))


def _computes(relation: Select) -> bool:
    """Whether a projection computes anything; GROUPING of grouping sets is a result of the aggregate in Flink."""
    return not all(mentioned(item) and (is_free(item) or mentioned(item) == {NUMBER}) for _, item in relation.items)


def _without_distinct(relation: Relation) -> Relation:
    """The relation with a redundant DISTINCT as a projection: the keys of an aggregate below identify the rows."""
    below = relation.input if isinstance(relation, Aggregate) and not relation.calls else None
    if not isinstance(relation, Aggregate) or not isinstance(below, Select) or not isinstance(below.input, Aggregate):
        return relation
    values = dict(below.items)
    items = tuple((name, substituted(group, values)) for name, group in relation.groups)
    is_distinct = {name for name, _ in below.input.groups} <= {plain(item) for _, item in items}
    return Select(below.input, items) if is_distinct else relation


def _deduplicated(emitter: Emitter, relation: Rank, emitted: Emitted, used: list[str]) -> Emitted | None:
    """The deduplication for rank 1 by a time attribute alone; None for other ranks and orders."""
    is_first = (relation.start, relation.end) == (1, 1) and relation.function == "ROW_NUMBER"
    if not is_first or len(relation.order) != 1:
        return None
    (key,) = relation.order
    column = key.expression.name
    derived = emitter.derived[emitted.node]
    parameters: dict[str, Any] = {"keep": "last" if key.descending else "first"}
    if column in emitted.arrival or is_processing_time(relation.input, column, has_value=True):
        parameters["order"] = "arrival"
    else:
        is_time = derived.schema.column(emitted.names[column]).time is not None
        if not is_time or not derived.is_insert_only:
            return None
        parameters["order"] = "event_time"
        if not key.descending and is_on(emitter.options, MINI_BATCH):
            parameters["first_row"] = "at_once"
    narrow = emitter.narrowed(emitted, used, relation.at)
    parameters["keys"] = [narrow.names[name] for name in relation.partition]
    node = emitter.add("deduplicate", parameters, [narrow.node], relation.at)
    return Emitted(node, narrow.names, narrow.arrival)


def _top_n(emitter: Emitter, relation: Rank, emitted: Emitted, used: list[str], *, wants_number: bool) -> Emitted:
    # Flink materializes a processing time only if its value is read. In an order, all rows are equal by it in either
    # direction, and equal rows rank by arrival.
    order = [key for key in relation.order if key.expression.name not in emitted.arrival]
    narrow = emitter.narrowed(emitted, [*used, *_key(emitter, emitted)], relation.at)
    parameters: dict[str, Any] = {
        "partition_by": [narrow.names[name] for name in relation.partition],
        "order_by": [order_by(key, narrow) for key in order],
        "rank_start": relation.start,
        "with_rank": wants_number,
    }
    if relation.order and not order:
        parameters["by_arrival"] = True
    if relation.is_limit and order:
        parameters["limit"] = True
    if relation.function != "ROW_NUMBER":
        parameters["ranking"] = relation.function.lower()
    if isinstance(relation.end, int):
        parameters["rank_end"] = relation.end
    else:
        parameters["rank_end_column"] = narrow.names[relation.end]
    names = dict(narrow.names)
    if wants_number:
        names[relation.name] = parameters["rank_column"] = emitter.free_name(relation.name, narrow)
    return Emitted(emitter.add("topn", parameters, [narrow.node], relation.at), names, narrow.arrival)


def _key(emitter: Emitter, emitted: Emitted) -> list[str]:
    """The key columns of an updating input, so that its rows need not be kept whole; none for an insert-only input."""
    derived = emitter.derived[emitted.node]
    key = derived.shortest_key
    if derived.is_insert_only or key is None:
        return []
    return [column for column, name in emitted.names.items() if name in key]


def _with_constant(emitter: Emitter, ranked: Emitted, relation: Rank) -> Emitted:
    """The columns and the rank as a literal."""
    name = emitter.free_name(relation.name, ranked)
    columns = [(column.name, quote(column.name)) for column in emitter.schema(ranked)]
    literal = exp.Literal.number(relation.start).name
    node = emitter.project(ranked.node, [*columns, (name, emitter.cast(literal, BIGINT))], relation.at)
    return Emitted(node, {**ranked.names, relation.name: name}, ranked.arrival)
