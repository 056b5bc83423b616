"""The meaning of an emitted record, in words, from its operator (`Operator.meaning`).

The records that an operator emits for one cause or one firing are read together: a -U and a +U of one key are a
change of its value; if the row is the same under another rank, it has moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.model.changelog import RowKind

Values = tuple[object, ...]


@dataclass(frozen=True)
class ColumnChange:
    """A column whose value changed."""

    name: str
    before: object
    after: object


@dataclass(frozen=True)
class Meaning:
    """Why a record was emitted. changes: the changed columns, to which the sentence refers."""

    sentence: str
    changes: tuple[ColumnChange, ...] = ()


@dataclass(frozen=True)
class EmittedRecord:
    """A record of an operator's output."""

    kind: RowKind
    values: Values

    @property
    def adds(self) -> bool:
        """True for +I and +U."""
        return self.kind in (RowKind.INSERT, RowKind.UPDATE_AFTER)


@dataclass(frozen=True)
class Emission:
    """The records that an operator emitted for one cause, and the record in question.

    names, key: of the output's columns, and of its upsert key; () if only the whole row identifies a row. inputs: the
    columns of each input; () if they are unknown.
    """

    names: tuple[str, ...]
    key: tuple[str, ...]
    records: tuple[EmittedRecord, ...]
    at: int
    inputs: tuple[tuple[str, ...], ...] = ()

    @property
    def record(self) -> EmittedRecord:
        """The record in question."""
        return self.records[self.at]

    @property
    def kind(self) -> RowKind:
        """Its kind."""
        return self.record.kind

    @property
    def others(self) -> tuple[EmittedRecord, ...]:
        """The other records."""
        return self.records[: self.at] + self.records[self.at + 1 :]

    @property
    def partner(self) -> EmittedRecord | None:
        """The other half of an update: the record of the same key with the other sign."""
        sign = {RowKind.UPDATE_BEFORE: RowKind.UPDATE_AFTER, RowKind.UPDATE_AFTER: RowKind.UPDATE_BEFORE}
        halves = [other for other in self.others if other.kind is sign.get(self.kind)]
        of_key = [other for other in halves if self._key_of(other) == self._key_of(self.record)]
        if of_key or self.key:
            return of_key[0] if of_key else None
        return halves[0] if len(halves) == 1 else None

    def changes(self, partner: EmittedRecord) -> tuple[ColumnChange, ...]:
        """The columns in which the two halves of an update differ."""
        pair = (self.record, partner) if self.kind is RowKind.UPDATE_BEFORE else (partner, self.record)
        before, after = (dict(zip(self.names, half.values, strict=True)) for half in pair)
        return tuple(
            ColumnChange(name, before[name], after[name])
            for name in differing(self.names, pair[0].values, pair[1].values)
        )

    def _key_of(self, record: EmittedRecord) -> tuple[str, ...]:
        pairs = zip(self.names, record.values, strict=True)
        return tuple(repr(value) for name, value in pairs if not self.key or name in self.key)


def differing(names: Sequence[str], before: Sequence[object], after: Sequence[object]) -> tuple[str, ...]:
    """The names of the values that differ."""
    triples = zip(names, before, after, strict=True)
    # By repr: so NaN equals itself, and lists and maps are compared as shown.
    return tuple(name for name, old, new in triples if repr(old) != repr(new))


def of_result(emission: Emission) -> Meaning:
    """The meaning of a record from an aggregate, or from another operator with one row per key."""
    partner = emission.partner
    if partner is not None:
        changes = emission.changes(partner)
        if not changes:
            return Meaning("nothing changed: the same row is retracted and emitted again")
        takes_back = emission.kind is RowKind.UPDATE_BEFORE
        return Meaning("the old value is retracted" if takes_back else "the new value is emitted", changes)
    match emission.kind:
        case RowKind.INSERT:
            return Meaning("the first result of its key")
        case RowKind.UPDATE_BEFORE:
            return Meaning("the old value is retracted")
        case RowKind.UPDATE_AFTER:
            return Meaning("the new value replaces the old one of its key")
        case _:
            return Meaning("no row of its key is left")


def of_forwarded(kind: RowKind, cause: RowKind | None) -> str:
    """The meaning of a record from a stateless operator. cause: the kind of the input record; None if unknown."""
    return "passed on" if kind is cause else "let through"
