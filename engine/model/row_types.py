"""ROW types as text: `struct<`a`:int,`b`:array<string>>`, each name in backticks, so that any name is allowed.

Arrow represents a ROW as a struct, kernels as a tuple of its values, which can be compared and hashed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa

_START: Final = "struct<"
_COMMENT: Final = re.compile(r"\s+(comment\s+)?'(?:[^']|'')*'\s*$", re.IGNORECASE)


def row_type(fields: Iterable[tuple[str, str]]) -> str:
    """The type of rows with these names and types."""
    written = (f"`{name.replace('`', '``')}`:{type_}" for name, type_ in fields)
    return f"{_START}{','.join(written)}>"


def is_row(type_: str) -> bool:
    """Whether a type is a ROW."""
    return type_.startswith(_START)


def has_row(type_: str) -> bool:
    """Whether a type contains a ROW at any depth."""
    return _START in type_


def fields_of(type_: str) -> tuple[tuple[str, str], ...]:
    """Names and types of the fields of a ROW. Raises ValueError for any other type."""
    if not (is_row(type_) and type_.endswith(">")):
        message = f"{type_} is no ROW"
        raise ValueError(message)
    return tuple(map(_name_and_rest, parts_of(type_[len(_START) : -1])))


def parts_of(text: str, separator: str = ",") -> Iterator[str]:
    """The parts of a text between separators outside brackets and quotes."""
    depth, start, quoted = 0, 0, ""
    for at, char in enumerate(text):
        if char in "`'" and quoted in ("", char):
            quoted = "" if quoted else char
        elif not quoted:
            depth += (char in "<([") - (char in ">)]")
            if char == separator and depth == 0:
                yield text[start:at].strip()
                start = at + 1
    if text[start:].strip():
        yield text[start:].strip()


def declared_fields(text: str, type_from: Callable[[str], str]) -> str:
    """The type for the text between the brackets of `ROW<a INT, b STRING>` or `struct<a:int>`.

    type_from: reads a field's type. Raises ValueError for a field without a name or type, and for a repeated name.
    """
    fields: list[tuple[str, str]] = []
    for part in parts_of(text):
        name, rest = _name_and_rest(part)
        type_ = _COMMENT.sub("", rest)
        if not name or not type_:
            message = f"the field {part!r} of a ROW needs a name and a type: ROW<a INT, b STRING>"
            raise ValueError(message)
        if any(name == known for known, _ in fields):
            message = f"a ROW has two fields {name!r}; give one of them another name"
            raise ValueError(message)
        fields.append((name, type_from(type_)))
    if not fields:
        message = "a ROW needs a field: ROW<a INT>"
        raise ValueError(message)
    return row_type(fields)


def to_pylist(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values of a column in Python, a ROW as a tuple at any depth."""
    values: list[Any] = column.to_pylist()
    convert = _converter(column.type)
    return values if convert is None else [None if value is None else convert(value) for value in values]


def _converter(type_: pa.DataType) -> Callable[[Any], Any] | None:
    """A function that converts the ROWs in a value to tuples; None for types without ROWs."""
    import pyarrow as pa

    if pa.types.is_struct(type_):
        inner = [(field.name, _converter(field.type)) for field in type_]
        return lambda row: tuple(_converted(row[name], convert) for name, convert in inner)
    if pa.types.is_list(type_):
        item = _converter(type_.value_type)
        return item and (lambda values: [_converted(value, item) for value in values])
    if pa.types.is_map(type_):
        key, value = _converter(type_.key_type), _converter(type_.item_type)
        if key is None and value is None:
            return None
        return lambda pairs: [(_converted(each, key), _converted(other, value)) for each, other in pairs]
    return None


def _converted(value: Any, convert: Callable[[Any], Any] | None) -> Any:
    return value if value is None or convert is None else convert(value)


def _name_and_rest(part: str) -> tuple[str, str]:
    """A field's name, and the text after it and a colon or blank."""
    if part.startswith("`"):
        end = 1
        while end < len(part) and (part[end] != "`" or part[end + 1 : end + 2] == "`"):
            end += 2 if part[end] == "`" else 1
        return part[1:end].replace("``", "`"), part[end + 1 :].lstrip(": \t\n")
    end = next((at for at, char in enumerate(part) if char in ": \t\n"), len(part))
    return part[:end], part[end:].lstrip(": \t\n")
