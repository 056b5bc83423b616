"""The vocabulary of changelogs: row kinds, modify kinds, update kinds, changelog modes.

Source: Flink RowKind, ChangelogMode, and the traits ModifyKindSet and UpdateKind of its planner.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, IntEnum
from typing import Final


class RowKind(IntEnum):
    """What a record does to the table that its changelog describes. Values are those of Flink."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    @property
    def symbol(self) -> str:
        """`+I`, `-U`, `+U` or `-D`."""
        return SYMBOLS[self]

    @property
    def is_accumulate(self) -> bool:
        """True for the kinds that add a row to the table, False for those that take one back."""
        return self in (RowKind.INSERT, RowKind.UPDATE_AFTER)

    @classmethod
    def of(cls, symbol: str) -> RowKind:
        """The kind with this symbol. Raises KeyError that lists the four."""
        if symbol not in SYMBOLS:
            symbols = ", ".join(SYMBOLS)
            message = f"unknown row kind {symbol!r}; the kinds are {symbols}"
            raise KeyError(message)
        return cls(SYMBOLS.index(symbol))


SYMBOLS: Final = ("+I", "-U", "+U", "-D")

_IN_PLANS: Final = dict(zip(("I", "UB", "UA", "D"), RowKind, strict=True))

# Kernels compare kinds once per record; plain ints are several times faster there than enum members.
INSERT: Final = 0
UPDATE_BEFORE: Final = 1
UPDATE_AFTER: Final = 2
DELETE: Final = 3
RETRACTIONS: Final = (UPDATE_BEFORE, DELETE)
"""The kinds that take a row back."""


class ModifyKind(Enum):
    """The three ways in which a table can change."""

    INSERT = "I"
    UPDATE = "U"
    DELETE = "D"


ModifyKinds = frozenset[ModifyKind]
INSERT_ONLY: Final[ModifyKinds] = frozenset({ModifyKind.INSERT})
INSERT_UPDATE: Final[ModifyKinds] = frozenset({ModifyKind.INSERT, ModifyKind.UPDATE})
ALL_CHANGES: Final[ModifyKinds] = frozenset(ModifyKind)


class UpdateKind(Enum):
    """How an update is written: not at all, as +U only, or as the pair -U, +U."""

    NONE = "none"
    ONLY_UPDATE_AFTER = "only +U"
    BEFORE_AND_AFTER = "-U and +U"


class ChangelogMode(frozenset[RowKind]):
    """The set of row kinds that an edge can carry. Its text is that of plans and documents: `[I,UB,UA,D]`."""

    def __str__(self) -> str:
        return "[" + ",".join(name for name, kind in _IN_PLANS.items() if kind in self) + "]"

    @classmethod
    def read(cls, text: str) -> ChangelogMode:
        """The changelog mode of a text such as `[I,UB,UA,D]`."""
        return cls(_IN_PLANS[name] for name in text.strip("[]").split(",") if name in _IN_PLANS)

    @property
    def signs(self) -> str:
        """The kinds as people read them: `+I -U +U -D`."""
        return " ".join(SYMBOLS[kind] for kind in sorted(self))

    @property
    def is_insert_only(self) -> bool:
        """True where no row is ever taken back: Flink's append-only."""
        return self == ChangelogMode({RowKind.INSERT})

    @property
    def has_update_before(self) -> bool:
        """True where updates are written as the pair -U, +U."""
        return RowKind.UPDATE_BEFORE in self

    @property
    def retracts(self) -> bool:
        """True where records take rows back: -U or -D."""
        return RowKind.UPDATE_BEFORE in self or RowKind.DELETE in self

    @property
    def without_retraction(self) -> ChangelogMode:
        """The accumulate mode of the retraction document: Acc where nothing is retracted."""
        return ChangelogMode(kind for kind in self if kind.is_accumulate)

    @classmethod
    def of(cls, modify: Iterable[ModifyKind], update: UpdateKind) -> ChangelogMode:
        """The mode of an edge that changes in these ways and writes updates so."""
        kinds: set[RowKind] = set()
        for kind in modify:
            match kind:
                case ModifyKind.INSERT:
                    kinds.add(RowKind.INSERT)
                case ModifyKind.DELETE:
                    kinds.add(RowKind.DELETE)
                case ModifyKind.UPDATE:
                    kinds.add(RowKind.UPDATE_AFTER)
                    if update is UpdateKind.BEFORE_AND_AFTER:
                        kinds.add(RowKind.UPDATE_BEFORE)
        return cls(kinds)


APPEND: Final = ChangelogMode({RowKind.INSERT})
"""The mode of what only inserts."""
