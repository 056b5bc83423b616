"""Reads values of one column, such as messages, their keys, or lines: a text, bytes, or a number as bytes.

A number has exactly the bytes of its type, a BOOLEAN is one byte, which is zero for FALSE. Of a text, bytes that the
charset does not have become U+FFFD.
Source: Flink RawFormatDeserializationSchema.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from engine.errors import PipelineError
from engine.model.schema import Column
from engine.model.types import BIGINT, BINARY, BOOLEAN, DOUBLE, FLOAT, INT, SMALLINT, STRING, TINYINT, Type
from engine.reading.avro.gathering import Read
from engine.reading.avro.registry import Written
from engine.reading.typed.typed_rows import RowTypes

_NUMBERS: Final[dict[Type, str]] = {
    **{BOOLEAN: "i1", TINYINT: "i1", SMALLINT: "i2", INT: "i4", BIGINT: "i8"},
    **{FLOAT: "f4", DOUBLE: "f8"},
}
_RAW: Final[tuple[Type, ...]] = (STRING, BINARY, *_NUMBERS)
"""The types that the format has."""
CHARSET: Final = "UTF-8"


def check_charset(name: str, node: str, field: str) -> None:
    """Raise PipelineError for a charset in which no text can be."""
    try:
        "a".encode(name)
    except (LookupError, ValueError) as error:
        message = f"{field}: {name!r} is no known charset. Write UTF-8, ISO-8859-1 or the like."
        raise PipelineError(message, node, field) from error


def check_type(column: Column, node: str, field: str) -> None:
    """Raise PipelineError for a column of a type that the format does not have."""
    if column.type not in _RAW:
        message = f"{field}: raw has no {column.type.flink}. Make {column.name} one of "
        message += f"{', '.join(type_.flink for type_ in _RAW)}, and cast it in a query."
        raise PipelineError(message, node, field)


@dataclass(frozen=True)
class RawReader:
    """Reads values of one column. charset: of a text. is_little: whether a number begins with its lowest byte."""

    rows: RowTypes
    charset: str = CHARSET
    is_little: bool = False

    def of_messages(self, values: Sequence[bytes], _written: Written) -> Read:
        """The records of values."""
        (column,) = self.rows.columns
        reasons: dict[int, str] = {}
        if column.type in _NUMBERS:
            held = self._numbers(column.type, values, reasons)
        else:
            read: Callable[[bytes], Any] = bytes if column.type == BINARY else self._text
            held = pa.array(map(read, values), column.type.arrow)
        typed, misfits = self.rows.checked([(held, held)], reasons)
        fitting = [at for at in range(len(values)) if at not in misfits]
        return Read(self.rows.batch(typed).take(pa.array(fitting, pa.int64())), fitting, misfits)

    def _text(self, value: bytes) -> str:
        # Without a mark of its order, Java reads it from the highest byte on.
        is_unmarked = value[:2] not in (b"\xfe\xff", b"\xff\xfe")
        is_utf_16 = self.charset.upper().replace("_", "-") == "UTF-16"
        return value.decode("utf-16-be" if is_utf_16 and is_unmarked else self.charset, "replace")

    def _numbers(self, type_: Type, values: Sequence[bytes], reasons: dict[int, str]) -> pa.Array:
        layout = np.dtype(_NUMBERS[type_]).newbyteorder("<" if self.is_little else ">")
        for at, value in enumerate(values):
            if len(value) != layout.itemsize:
                has, of = (f"{size} byte{'s' * (size != 1)}" for size in (len(value), layout.itemsize))
                reasons[at] = f"it has {has}, but {type_.flink} has {of}"
        nothing = bytes(layout.itemsize)
        read = np.frombuffer(b"".join(nothing if at in reasons else value for at, value in enumerate(values)), layout)
        return pa.array(read != 0 if type_ == BOOLEAN else read.astype(layout.newbyteorder("=")))
