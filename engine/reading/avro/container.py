"""Avro's object container files: their schema, and their records on the workers.

A file carries the schema that it was written with. Its blocks are decompressed one by one, in limited memory. The text
of a rejected record is its JSON.
Source: the Avro specification, Object Container Files; Flink AvroFileFormatFactory.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from itertools import chain, islice
from typing import IO, Any, Final, NamedTuple

from engine.contract.scan import RAW_CHARS, ReadPart, Rejected
from engine.errors import SourceError
from engine.reading.apart.limits import limited_memory, memory_bytes
from engine.reading.avro.gathering import Gathering
from engine.reading.avro.resolution import Unreadable, resolver
from engine.reading.avro.schemas import Avro, BadSchema, Undecodable, decoder, reading, schema_of
from engine.reading.files.input_files import InputFile
from engine.reading.files.storage import open_file
from engine.reading.typed.typed_rows import RowTypes

ADVICE: Final = "Choose another file, or write this one again, in smaller blocks."
CODECS: Final = ("null", "deflate", "snappy", "bzip2", "xz")
_SCHEMA: Final = "avro.schema"
_CODEC: Final = "avro.codec"
_AT_ONCE: Final = 10_000
_LOOKED_AT: Final = 20
_BROKEN: Final = (ValueError, IndexError, KeyError, TypeError, EOFError, OverflowError, zlib.error)


class ContainerPart(NamedTuple):
    """A whole file."""

    path: str
    name: str


def schema_in(file: InputFile, node: str) -> str:
    """The schema that a file was written with, as JSON. Raises SourceError."""
    try:
        with file.open() as stream:
            metadata = _blocks(stream).metadata
    except (OSError, *_BROKEN) as error:
        message = f"{file.name} is not an Avro file; choose another, or the source for its format."
        raise SourceError(message, node, "path") from error
    if (codec := metadata.get(_CODEC, "null")) not in CODECS:
        message = f"{file.name} is compressed with {codec[:40]}, which is not read. Write it with {', '.join(CODECS)}."
        raise SourceError(message, node, "path")
    text = str(metadata.get(_SCHEMA, ""))
    try:
        decoder((text,))
    except BadSchema as error:
        message = f"{file.name} cannot be read: its schema {error}."
        raise SourceError(message, node, "path") from error
    return text


def record_bytes_in(file: InputFile) -> float | None:
    """How many bytes of the file a record takes, from its first blocks; None if it has none, or is broken."""
    try:
        with file.open() as stream, limited_memory():
            first = [(block.num_records, stream.tell()) for block in islice(_blocks(stream), _LOOKED_AT)]
    except (OSError, MemoryError, *_BROKEN):
        return None
    records = sum(count for count, _ in first)
    return first[-1][1] / records if records else None


@dataclass(frozen=True)
class ContainerReader:
    """Reads a file. schema: of the rows as they are read, including that of their kinds."""

    rows: RowTypes
    schema: Avro

    def __call__(self, part: ContainerPart) -> Iterator[ReadPart]:
        """Its records and rejected records. Raises OSError with the name of the file."""
        before = 0
        try:
            for values in _batches(part):
                yield self._read(part, values, before)
                before += len(values.decoded)
        except MemoryError as error:
            message = f"{part.name} takes more than {memory_bytes() >> 20:,} MB of memory to be read. {ADVICE}"
            raise OSError(message) from error
        except (OSError, BadSchema, Undecodable, *_BROKEN) as error:
            message = f"{part.name} is damaged after record {before}: {str(error).rstrip('.')}. Save or copy it again."
            raise OSError(message) from error

    def _read(self, part: ContainerPart, values: _Values, before: int) -> ReadPart:
        resolve = resolver(values.schema, self.schema)
        gathering = Gathering(self.rows)
        for at, value in enumerate(values.decoded):
            try:
                gathering.add(at, [(0, resolve(value))])
            except Unreadable as error:
                gathering.reasons[at] = str(error)
        read = gathering.read()
        rejected = [
            Rejected(part.name, before + at + 1, _text(values.decoded[at]), why)
            for at, why in sorted(read.reasons.items())
        ]
        return ReadPart(read.records, part.name, [at + 1 for at in read.owners], rejected, partial(int, before))


class _Values(NamedTuple):
    """Some decoded values, and the schema that they were written with."""

    schema: Avro
    decoded: list[Any]


def _batches(part: ContainerPart) -> Iterator[_Values]:
    with open_file(part.path) as stream:
        blocks = _blocks(stream)
        texts = (str(blocks.metadata[_SCHEMA]),)
        schema, decode = schema_of(texts), decoder(texts)

        def values() -> Iterator[Any]:
            while True:
                # Not around the `yield`: what its reader does meanwhile has no limit.
                with limited_memory():
                    block = next(blocks, None)
                    if block is None:
                        return
                    data = BytesIO(block.bytes_.read())
                for _ in range(block.num_records):
                    yield decode(data)

        records = values()
        while some := list(islice(records, _AT_ONCE)):
            yield _Values(schema, some)


def head_of(rows: int, node: str, file: InputFile, target: str) -> Iterator[None]:
    """Write the first records of a file to another one. Raises SourceError."""
    from fastavro import reader as reading_all
    from fastavro import writer

    try:
        with file.open() as stored, open(target, "wb") as head:
            records = reading_all(stored, return_named_type=True)
            writer(head, records.writer_schema, chain(islice(records, rows)))
    except (OSError, *_BROKEN) as error:
        message = f"{file.name} cannot be read: {error}. Choose another file, or write this one again."
        raise SourceError(message, node, "path") from error
    yield


def _blocks(stream: IO[bytes]) -> Any:
    return reading().block_reader(stream)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)[:RAW_CHARS]
