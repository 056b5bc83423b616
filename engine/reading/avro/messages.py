"""Reads messages in Avro on the workers: rows as they are, or changes of Debezium in an envelope.

    avro             the value alone, as the table's own schema writes it
    avro-confluent   a zero byte, the number of the writer's schema (4 bytes), the value

The writers' schemas stand beside the messages (`engine.reading.avro.registry`). A message that cannot be read is
rejected with the reason.
Source: Flink AvroRowDataDeserializationSchema, ConfluentSchemaRegistryCoder, DebeziumAvroDeserializationSchema.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, NamedTuple

from engine.reading.avro.gathering import Changes, Gathering, Read
from engine.reading.avro.registry import HEADER, Written, number_in
from engine.reading.avro.resolution import Resolve, Unreadable, resolver
from engine.reading.avro.schemas import Avro, AvroField, BadSchema, Decode, Undecodable, decoder, schema_of
from engine.reading.documents.json_scan import NoChange
from engine.reading.typed.typed_rows import RowTypes

ChangesOf = Callable[[dict[str, Any]], Changes]


class _Reader(NamedTuple):
    decode: Decode
    resolve: Resolve


@dataclass(frozen=True)
class AvroReader:
    """Reads values as rows.

    schema: of the values as they are read. own: the schema that values are written with; empty if each begins with the
    number of its own. changes_of: the changes in an envelope, if a value is one; raises NoChange.
    """

    rows: RowTypes
    schema: Avro
    own: str = ""
    changes_of: ChangesOf | None = None

    def of_messages(self, values: Sequence[bytes], written: Written) -> Read:
        """The records of some values, and the reasons for those that cannot be read."""
        readers = _Readers(self, written)
        gathering = Gathering(self.rows, has_kinds=self.changes_of is not None)
        for at, value in enumerate(values):
            try:
                gathering.add(at, self._changes(readers.read(value)))
            except (Unreadable, Undecodable, BadSchema, NoChange) as error:
                gathering.reasons[at] = str(error)
        return gathering.read()

    def _changes(self, value: dict[str, Any]) -> Changes:
        return [(0, value)] if self.changes_of is None else self.changes_of(value)


@dataclass
class _Readers:
    """The readers of the values of some messages, by the number of the writer's schema."""

    of: AvroReader
    written: Written
    known: dict[int, _Reader | str] = field(default_factory=dict)

    def read(self, value: bytes) -> Any:
        """A value in the reader's schema. Raises Unreadable, Undecodable and BadSchema."""
        number = 0 if self.of.own else number_in(value)
        reader = self.known.get(number)
        if reader is None:
            reader = self.known[number] = self._made(number)
        if isinstance(reader, str):
            raise Unreadable(reader)
        stream = BytesIO(value)
        stream.seek(0 if self.of.own else HEADER)
        return reader.resolve(reader.decode(stream))

    def _made(self, number: int) -> _Reader | str:
        texts: Sequence[str] | str | None = (self.of.own,) if self.of.own else self.written.get(number)
        if texts is None:
            return f"the registry has no schema {number}, which the message names"
        if isinstance(texts, str):
            return f"schema {number} of the registry {texts}"
        try:
            return _Reader(decoder(tuple(texts)), resolver(schema_of(texts), self.of.schema))
        except BadSchema as error:
            return f"schema {number} of the registry {error}"


def envelope_of(rows: Avro) -> Avro:
    """The schema of Debezium's envelope around a row."""
    parts = [("before", rows), ("after", rows), ("op", Avro("string"))]
    return Avro("record", "record", parts=tuple(AvroField(name, of.nullable(), (), True) for name, of in parts))
