"""Spark SQL that is written here: a text that knows of which parts it was made, so that nobody parses it.

    spark_sql("({} + {})", left, right)     the text, whose tree is the one of `(a + b)` around those of left and right

`engine.expressions.parsing.tree_of` makes the tree when it is asked for. A document holds the text alone; who reads it
back finds what was written by `written_here`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Self

from sqlglot import exp

from engine.model.types import Type, quote

_NAME: Final = re.compile(r"`((?:[^`]|``)+)`")
_PLACE: Final = re.compile(r"\{(\d+)\}")


class SparkText(str):
    """Spark SQL. shape: the same with a name for each part; "" if it has no parts but is this leaf."""

    shape: str
    parts: tuple[str, ...]
    leaf: exp.Expr | None

    def __new__(cls, text: str, shape: str = "", parts: Sequence[str] = (), leaf: exp.Expr | None = None) -> Self:
        """A text of a shape, or a leaf."""
        written = super().__new__(cls, text)
        written.shape, written.parts, written.leaf = shape, tuple(parts), leaf
        return written

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """Workers get the text alone."""
        return str, (str(self),)

    def __deepcopy__(self, memo: object) -> Self:
        """Itself, as any text."""
        return self


class _Written(dict[str, SparkText]):
    """Texts by themselves. Workers get none of them: there, they would be texts without parts."""

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        return type(self), ()


_MOST_WRITTEN: Final = 16_384
_WRITTEN: Final = _Written()


def noted(written: str) -> str:
    """What was written, found again by its text. The oldest of many are forgotten, and would be parsed."""
    if isinstance(written, SparkText) and written not in _WRITTEN:
        _WRITTEN[written] = written
        if len(_WRITTEN) > _MOST_WRITTEN:
            _WRITTEN.pop(next(iter(_WRITTEN)), None)
    return written


def written_here(text: str) -> SparkText | None:
    """A text with its parts, if it was written here."""
    if (named := _NAME.fullmatch(text)) is not None:
        return column_named(named[1].replace("``", "`"))
    if isinstance(text, SparkText) and (text.leaf is not None or text.shape):
        return text
    return _WRITTEN.get(text)


def spark_sql(template: str, *parts: str | Sequence[str], **words: object) -> SparkText:
    """A template of str.format with expressions in its places. Several in one place have commas between them.

    words: what is no expression, such as the name of a type.
    """
    flat: list[str] = []
    places: list[str] = []
    for part in parts:
        several = (part,) if isinstance(part, str) else part
        places.append(", ".join(place(len(flat) + at) for at in range(len(several))))
        flat += several
    text = template.format(*(part if isinstance(part, str) else ", ".join(part) for part in parts), **words)
    return SparkText(text, template.format(*places, **words), flat)


def as_type(value: str, type_: Type, word: str = "CAST") -> SparkText:
    """A CAST, or a TRY_CAST."""
    return spark_sql("{word}({} AS {type})", value, word=word, type=type_.sql)


def column_named(name: str) -> SparkText:
    """A column, quoted."""
    return SparkText(quote(name), leaf=exp.column(name, quoted=True))


def literal(value: str) -> SparkText:
    """A string, with escaped backslashes and quotes."""
    return SparkText(text(value), leaf=exp.Literal.string(value))


def text(value: str) -> str:
    """A string as a word of a template is written: with escaped backslashes and quotes."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def written_number(digits: str) -> SparkText:
    """A number as it was written."""
    return SparkText(digits, leaf=exp.Literal.number(digits))


def place(at: int) -> str:
    """The name that stands for a part in a shape."""
    return f"`{{{at}}}`"


def part_at(name: str) -> int | None:
    """The place of the part for which a name stands in a shape; None for other names."""
    found = _PLACE.fullmatch(name)
    return None if found is None else int(found[1])
