"""The meaning of a join's records: pairs that are added or removed, and rows without a partner."""

from __future__ import annotations

from engine.contract.meaning import Emission, EmittedRecord, Meaning
from engine.joins.sides import JoinKind


def of_join(emission: Emission, kind: JoinKind, left_key: str, right_key: str) -> Meaning:
    """A record of a join of this kind. left_key, right_key: a key column of each input."""
    record = emission.record
    match kind:
        case JoinKind.SEMI:
            return Meaning("it has a partner" if record.adds else "its last partner is gone, or the row itself")
        case JoinKind.ANTI:
            return Meaning("it has no partner" if record.adds else "it has a partner now, or the row itself is gone")
    if kind is not JoinKind.INNER:
        places = _key_places(emission, left_key, right_key)
        if places is None:
            return Meaning("a joined row is added" if record.adds else "a joined row is retracted")
        if _is_padded(record, kind, *places):
            if record.adds:
                return Meaning("no partner: the row stands alone, padded with NULL")
            return Meaning("the padded row is retracted: a partner has arrived")
    return Meaning("two rows meet" if record.adds else "one of the two rows was retracted, and the pair with it")


def _key_places(emission: Emission, left_key: str, right_key: str) -> tuple[int, int] | None:
    """The places of both keys in a joined row, which has the left columns first. None if the inputs are unknown."""
    match emission.inputs:
        case (left, right) if left_key in left and right_key in right:
            return left.index(left_key), len(left) + right.index(right_key)
    return None


def _is_padded(record: EmittedRecord, kind: JoinKind, left: int, right: int) -> bool:
    """Whether the key of a side that may be padded is NULL: two rows only meet on keys that are not."""
    return (kind.keeps_left and record.values[right] is None) or (kind.keeps_right and record.values[left] is None)
