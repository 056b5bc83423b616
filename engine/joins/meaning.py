"""The meaning of a join's records: pairs that are added or removed, and rows without a partner."""

from __future__ import annotations

from engine.contract.meaning import Emission, EmittedRecord, Meaning
from engine.joins.sides import JoinKind


def of_join(emission: Emission, kind: JoinKind) -> Meaning:
    """A record of a join of this kind."""
    record = emission.record
    match kind:
        case JoinKind.SEMI:
            return Meaning("it has a partner" if record.adds else "its last partner is gone, or the row itself")
        case JoinKind.ANTI:
            return Meaning("it has no partner" if record.adds else "it has a partner now, or the row itself is gone")
    if kind is not JoinKind.INNER and _is_padded(record):
        if record.adds:
            return Meaning("no partner: the row stands alone, padded with NULL")
        return Meaning("the padded row is retracted: a partner has arrived")
    return Meaning("two rows meet" if record.adds else "one of the two rows was retracted, and the pair with it")


def _is_padded(record: EmittedRecord) -> bool:
    """Whether one side of a joined row is all NULL: the first or the last column is, which a key column fills."""
    return bool(record.values) and (record.values[0] is None or record.values[-1] is None)
