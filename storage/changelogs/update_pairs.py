"""Update pairs: a -U and the +U next to it, as one change that names the changed columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.contract.meaning import differing
from engine.model.changelog import RowKind
from storage.model import Change, Edge, Record, Values


def pair_updates(
    edge: Edge, records: Sequence[Record], around: Mapping[int, Record], passes: frozenset[int]
) -> tuple[Change, ...]:
    """The changes of a page of records.

    around: the records up to two rows before and after each update of the page, by row. passes: those of them that
    pass the page's filter. A pair belongs to the page of its first record that passes.
    """
    by_row = {**around, **{record.row: record for record in records}}
    changes: list[Change] = []
    for record in records:
        match record.kind:
            case RowKind.INSERT:
                changes.append(Change(None, record))
            case RowKind.DELETE:
                changes.append(Change(record, None))
            case RowKind.UPDATE_BEFORE:
                after = by_row[record.row + 1] if is_pair(edge, by_row, record.row) else None
                changes.append(Change(record, after, changed_columns(edge.names, record, after)))
            case RowKind.UPDATE_AFTER:
                before = by_row[record.row - 1] if is_pair(edge, by_row, record.row - 1) else None
                if before is None or before.row not in passes:
                    changes.append(Change(before, record, changed_columns(edge.names, before, record)))
    return tuple(changes)


def is_pair(edge: Edge, known: Mapping[int, Record], row: int) -> bool:
    """Whether the records at `row` and `row + 1` are the two halves of one update.

    They are a -U and a +U of one event with the same upsert key. Without an upsert key (a join), only an isolated -U
    and +U are a pair: in -U -U +U +U the pairs are ambiguous.
    """
    before, after = known.get(row), known.get(row + 1)
    if before is None or after is None or before.seq != after.seq:
        return False
    if before.kind is not RowKind.UPDATE_BEFORE or after.kind is not RowKind.UPDATE_AFTER:
        return False
    if edge.upsert_key:
        return key_of(edge, before.values) == key_of(edge, after.values)
    previous, following = known.get(row - 1), known.get(row + 2)
    return not (
        (previous and previous.seq == before.seq and previous.kind is before.kind)
        or (following and following.seq == after.seq and following.kind is after.kind)
    )


def changed_columns(names: Sequence[str], before: Record | None, after: Record | None) -> tuple[str, ...]:
    """The columns in which two records differ; none if one of them is missing."""
    if before is None or after is None:
        return ()
    return differing(names, before.values, after.values)


def key_of(edge: Edge, values: Values) -> tuple[str, ...]:
    """The identity of a row: its upsert key, or all of it. As text, since lists and maps cannot be hashed."""
    if not edge.upsert_key:
        return tuple(map(repr, values))
    return tuple(repr(value) for name, value in zip(edge.names, values, strict=True) if name in edge.upsert_key)
