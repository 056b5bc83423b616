"""The kind of a record, where a file has a column for it: +I, -U, +U, -D, or a word for one of them.

Case and surrounding blanks do not matter. An update without further word is the row after it (+U).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from engine.changelog import DELETE, INSERT, SYMBOLS, UPDATE_AFTER, UPDATE_BEFORE
from engine.reading.texts import Field

if TYPE_CHECKING:
    from pyspark.sql import Column

WORDS: Final = {
    INSERT: ("+i", "i", "insert"),
    UPDATE_BEFORE: ("-u", "ub", "update_before"),
    UPDATE_AFTER: ("+u", "u", "ua", "update", "update_after"),
    DELETE: ("-d", "d", "delete"),
}
_WORD_CHARS: Final = 40


def kind_of(text: Column) -> Field:
    """The kind that a text stands for, TINYINT; null where it stands for none."""
    from pyspark.sql import functions as F

    word = F.lower(F.trim(text))
    found = F.lit(None).cast("tinyint")
    for kind, words in WORDS.items():
        found = F.when(word.isin(*words), F.lit(kind).cast("tinyint")).otherwise(found)
    return Field(text, found)


def unknown_kind(name: str, kind: Field) -> Column:
    """Why a row without a kind is rejected; null where it has one. name: the column's."""
    from pyspark.sql import functions as F

    advice = f"use {', '.join(SYMBOLS)}, or insert, update, delete"
    said = F.concat(
        F.lit(f'column {name!r}: "'),
        F.substring(kind.text, 1, _WORD_CHARS),
        F.lit(f'" is no row kind; {advice}'),
    )
    missing = F.lit(f"column {name!r}: the row kind is missing; {advice}")
    return F.when(kind.value.isNull(), F.when(kind.text.isNull(), missing).otherwise(said))
