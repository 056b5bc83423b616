"""What is asked of the store: filters of records, and orders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from engine.model.changelog import RowKind


class Comparison(StrEnum):
    """How a term compares a column, as SQL writes it, with SQL's NULL."""

    EQ = "="
    NE = "<>"
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    LIKE = "LIKE"
    NOT_LIKE = "NOT LIKE"
    IN = "IN"
    NOT_IN = "NOT IN"
    IS_NULL = "IS NULL"
    IS_NOT_NULL = "IS NOT NULL"


@dataclass(frozen=True)
class Term:
    """A condition on a column. values: one, several for IN, none for IS NULL; a text is cast to the column's type."""

    column: str
    comparison: Comparison
    values: tuple[object, ...] = ()


def equal(pairs: Iterable[tuple[str, object]]) -> tuple[Term, ...]:
    """The terms of columns with these values; None is NULL."""
    return tuple(
        Term(name, Comparison.IS_NULL) if value is None else Term(name, Comparison.EQ, (value,))
        for name, value in pairs
    )


@dataclass(frozen=True)
class Filter:
    """A filter on a changelog's records: every condition must hold; an empty or None condition does not filter.

    text: occurs in any column, case-insensitive. from_seq and to_seq are inclusive.
    """

    kinds: frozenset[RowKind] = frozenset()
    text: str = ""
    terms: tuple[Term, ...] = ()
    from_seq: int | None = None
    to_seq: int | None = None

    @property
    def is_empty(self) -> bool:
        """True if every record passes."""
        return self == Filter()

    @property
    def of_rows(self) -> Filter:
        """What of it is about a row, and not about the record that brought it."""
        return Filter(text=self.text, terms=self.terms)


ALL: Final = Filter()


@dataclass(frozen=True)
class SortOrder:
    """The sort order of a table: the name of a column, or of what else a table is sorted by, and the direction."""

    by: str
    descending: bool = False

    def sql(self, orders: Mapping[str, str], then: str = "rowid") -> str:
        """The ORDER BY clause. orders: by name, the SQL. NULL is last, and ties keep the stored order."""
        way = "DESC" if self.descending else "ASC"
        return f"ORDER BY {orders[self.by]} {way} NULLS LAST, {then}"

    def __str__(self) -> str:
        return f"{'-' if self.descending else '+'}{self.by}"

    @classmethod
    def of(cls, text: str) -> SortOrder | None:
        """The order of a text such as -n; None for any other text."""
        return cls(text[1:], text[0] == "-") if text[:1] in ("-", "+") and len(text) > 1 else None
