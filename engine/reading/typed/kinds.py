"""The kind of a record, read from a file's kind column: +I, -U, +U, -D, or a word for one of them.

Case and surrounding blanks do not matter. The word `update` alone means the row after it (+U).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from engine.model.changelog import DELETE, INSERT, SYMBOLS, UPDATE_AFTER, UPDATE_BEFORE

if TYPE_CHECKING:
    import pyarrow as pa

WORDS: Final = {
    INSERT: ("+i", "i", "insert"),
    UPDATE_BEFORE: ("-u", "ub", "update_before"),
    UPDATE_AFTER: ("+u", "u", "ua", "update", "update_after"),
    DELETE: ("-d", "d", "delete"),
}
_KINDS: Final = {word: kind for kind, words in WORDS.items() for word in words}
_WORD_CHARS: Final = 40
NO_KIND_ADVICE: Final = f"use {', '.join(SYMBOLS)}, or insert, update, delete"


def kinds_of(texts: pa.Array) -> pa.Array:
    """The kinds of these texts; null for any other text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    words = pc.utf8_lower(pc.utf8_trim(texts.cast(pa.string()), " "))
    places = pc.index_in(words, pa.array(list(_KINDS)))
    return pa.array(list(_KINDS.values()), pa.int8()).take(places)


def unknown_kind(name: str, text: str | None) -> str:
    """The reason to reject a row without a valid kind. name: of the column."""
    if text is None:
        return f"column {name!r}: the row kind is missing; {NO_KIND_ADVICE}"
    return f'column {name!r}: "{text[:_WORD_CHARS]}" is not a row kind; {NO_KIND_ADVICE}'
