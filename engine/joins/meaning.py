"""The meaning of a join's records: pairs that are added or removed, and rows without a partner."""

from __future__ import annotations

from collections.abc import Sequence

from engine.contract.meaning import Emission, Meaning
from engine.joins.sides import JoinKind


def of_join(emission: Emission, kind: JoinKind, left_keys: Sequence[str], right_keys: Sequence[str]) -> Meaning:
    """A record of a join of this kind. left_keys, right_keys: the key columns of each input; () without equal keys."""
    record = emission.record
    match kind:
        case JoinKind.SEMI:
            return Meaning("it has a partner" if record.adds else "its last partner is gone, or the row itself")
        case JoinKind.ANTI:
            return Meaning("it has no partner" if record.adds else "it has a partner now, or the row itself is gone")
    if kind is not JoinKind.INNER:
        sides = _key_values(emission, left_keys, right_keys)
        if sides is None:
            return Meaning("a joined row is added" if record.adds else "a joined row is retracted")
        if _is_padded(kind, *sides, has_keys=bool(left_keys)):
            if record.adds:
                return Meaning("no partner: the row stands alone, padded with NULL")
            return Meaning("the padded row is retracted: a partner has arrived")
    return Meaning("two rows meet" if record.adds else "one of the two rows was retracted, and the pair with it")


def _key_values(
    emission: Emission, left_keys: Sequence[str], right_keys: Sequence[str]
) -> tuple[list[object], list[object]] | None:
    """The key values of both sides of a joined row; all of their values without keys. None if the inputs are unknown.

    A joined row has the left columns first.
    """
    match emission.inputs:
        case (left, right) if {*left_keys} <= {*left} and {*right_keys} <= {*right}:
            values = emission.record.values
            lefts = [values[left.index(name)] for name in left_keys or left]
            return lefts, [values[len(left) + right.index(name)] for name in right_keys or right]
    return None


def _is_padded(kind: JoinKind, left: Sequence[object], right: Sequence[object], *, has_keys: bool) -> bool:
    """Whether a side is padded: one of its keys is NULL, as rows only meet on keys that are not.

    Without keys: all of its columns are NULL.
    """
    some = any if has_keys else all
    return any(
        keeps_other and some(value is None for value in values)
        for keeps_other, values in ((kind.keeps_left, right), (kind.keeps_right, left))
    )
