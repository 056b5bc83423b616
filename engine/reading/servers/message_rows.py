"""Reads stored messages on the workers: key and value, each in a format, and metadata, as one record.

    message   (topic, partition, offset, timestamp, timestamp-type, key, value)
    record    the columns of the value, of the key, and of the metadata

A message is accepted or rejected as a whole. Of a rejected one, the file is topic and partition, and the line is the
offset. A message without a value is no record; if messages are upserts, it deletes its key.
Source: Flink DynamicKafkaDeserializationSchema.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.contract.frames import KIND
from engine.contract.scan import LINE_BYTES, RAW_CHARS, ReadPart, Rejected
from engine.model.changelog import DELETE, INSERT
from engine.model.schema import Column
from engine.model.types import BIGINT, INT, STRING, TIMESTAMP, Type
from engine.reading.avro.gathering import Read
from engine.reading.avro.registry import Written, written_in
from engine.reading.files.csv_scan import CsvReader
from engine.reading.files.text_files import TOO_LONG, Block, Places
from engine.reading.servers.kept_messages import Piece, messages_in
from engine.reading.typed.typed_rows import RowTypes

METADATA: Final[dict[str, Type]] = {
    "timestamp": TIMESTAMP,
    "timestamp-type": STRING,
    "offset": BIGINT,
    "partition": INT,
    "topic": STRING,
}
"""The metadata of a message, with types."""
_EMPTY: Final = "the {} of the message is empty"
_NO_KEY: Final = "the message has no key"
_LINES: Final = "the {} of the message has a line break; a message is one row"


class Format(Protocol):
    """Reads lines."""

    @property
    def rows(self) -> RowTypes:
        """The columns of a line."""

    def of(self, block: Block, name: str, numbers: Places) -> ReadPart:
        """The records and rejected lines of a block."""


@runtime_checkable
class Binary(Protocol):
    """Reads values that are no lines."""

    @property
    def rows(self) -> RowTypes:
        """The columns of a value."""

    def of_messages(self, values: Sequence[bytes], written: Written) -> Read:
        """The records of values. written: the schemas of a registry that stand beside the messages."""


@dataclass(frozen=True)
class MessageReader:
    """Reads a piece.

    columns: of a record. value, key: the formats, None for a key without columns. key_prefix: prepended to the names of
    the key's columns in a record. metadata: by column, the metadata of a message. upserts: whether a message without a
    value deletes its key.
    """

    columns: tuple[Column, ...]
    value: Format | Binary
    key: Format | Binary | None = None
    metadata: tuple[tuple[str, str], ...] = ()
    upserts: bool = False
    key_prefix: str = ""

    def __call__(self, piece: Piece) -> Iterator[ReadPart]:
        """Its records and rejected messages."""
        messages = messages_in(piece)
        places = _Places(messages, piece.name)
        rejected: dict[int, Rejected] = {}
        cut: Counter[str] = Counter()
        values = messages.column("value").to_pylist()
        keys = messages.column("key").to_pylist() if self.key is not None else []
        wanted = [at for at, value in enumerate(values) if value is not None]
        part, owners = self._read(self.value, "value", values, wanted, places, rejected, cut)
        columns = {name: part.column(name) for name in part.schema.names}
        if self.key is not None:
            said = dict(rejected)
            asked = list(range(len(values))) if self.upserts else wanted
            of_keys, keyed = self._read(self.key, "key", keys, asked, places, rejected, cut)
            of_keys = of_keys.rename_columns([f"{self.key_prefix}{name}" for name in of_keys.schema.names])
            # If the value cannot be read, its error is the reason.
            rejected |= said
            records, owners = _joined(columns, owners, of_keys, keyed, deletes=self.upserts, values=values)
        else:
            records = columns
        if rejected:
            is_record = np.array([at not in rejected for at in owners], np.bool_)
            records = {name: column.filter(pa.array(is_record)) for name, column in records.items()}
            owners = [at for at in owners if at not in rejected]
        records |= self._known(messages, owners)
        batch = self._batch(records, len(owners))
        lost = self._unfit(batch, owners, places, values, rejected)
        if lost:
            is_record = np.array([at not in lost for at in owners], np.bool_)
            batch = batch.filter(pa.array(is_record))
            owners = [at for at in owners if at not in lost]
        yield ReadPart(
            batch,
            piece.name,
            [places.offset(at) for at in owners],
            [rejected[at] for at in sorted(rejected)],
            files=[places.file(at) for at in owners],
            cut=cut,
        )

    def _read(
        self,
        format_: Format | Binary,
        what: str,
        texts: Sequence[bytes | None],
        wanted: Sequence[int],
        places: _Places,
        rejected: dict[int, Rejected],
        cut: Counter[str],
    ) -> tuple[pa.RecordBatch, list[int]]:
        """The records of some keys or values, and the index of the message of each."""
        if isinstance(format_, Binary):
            return self._read_bytes(format_, what, texts, wanted, places, rejected)
        lines: list[bytes] = []
        owners: list[int] = []
        one_line = isinstance(format_, CsvReader)
        for at in wanted:
            text = texts[at]
            reason = ""
            if text is None:
                reason = _NO_KEY
            if text is not None and not text.strip():
                reason = _EMPTY.format(what)
            if text is not None and (b"\n" in text or b"\r" in text):
                text = text.strip(b"\r\n")
                if one_line and (b"\n" in text or b"\r" in text):
                    reason = _LINES.format(what)
                # Outside JSON strings a line break is white space, and inside them it is not allowed.
                text = text.replace(b"\n", b"\t").replace(b"\r", b"\t")
            if text is not None and len(text) > LINE_BYTES:
                reason = TOO_LONG.replace("line", what)
            if reason:
                rejected[at] = places.rejected_message(at, text or b"", reason)
                continue
            assert text is not None
            lines.append(text)
            owners.append(at)
        if not lines:
            return _nothing(format_.rows), []
        block = Block(b"\n".join(lines) + b"\n", 1, len(lines))
        part = format_.of(block, places.name, _Numbers(places, owners, what))
        prefix = self.key_prefix if what == "key" else ""
        cut.update({f"{prefix}{name}": count for name, count in part.cut.items()})
        for reject in part.rejected:
            rejected[reject.line] = places.rejected_message(reject.line, reject.raw.encode(), reject.reason)
        return part.records, [owners[line - 1] for line in part.lines]

    @staticmethod
    def _read_bytes(
        format_: Binary,
        what: str,
        values: Sequence[bytes | None],
        wanted: Sequence[int],
        places: _Places,
        rejected: dict[int, Rejected],
    ) -> tuple[pa.RecordBatch, list[int]]:
        """The same of values that are no text. A rejected one is shown in hexadecimal digits."""
        asked: list[bytes] = []
        owners: list[int] = []
        for at in wanted:
            value = values[at]
            if value is None or len(value) > LINE_BYTES:
                reason = _NO_KEY if value is None else TOO_LONG.replace("line", what)
                rejected[at] = places.rejected_bytes(at, value or b"", reason)
                continue
            asked.append(value)
            owners.append(at)
        read = format_.of_messages(asked, places.written)
        for index, why in read.reasons.items():
            reason = why if what == "value" else f"the key: {why}"
            rejected[owners[index]] = places.rejected_bytes(owners[index], asked[index], reason)
        return read.records, [owners[index] for index in read.owners]

    def _known(self, messages: pa.RecordBatch, owners: Sequence[int]) -> dict[str, pa.Array]:
        """The metadata columns."""
        places = pa.array(owners, pa.int64())
        columns: dict[str, pa.Array] = {}
        for name, what in self.metadata:
            values = messages.column(what).take(places)
            if what == "timestamp":
                values = pc.multiply(values, 1000).cast(pa.timestamp("us", tz="UTC"))
            columns[name] = values
        return columns

    def _batch(self, records: Mapping[str, pa.Array], size: int) -> pa.RecordBatch:
        kinds = {KIND: records[KIND]} if KIND in records else {}
        typed = {
            column.name: records[column.name].cast(column.type.arrow)
            if column.name in records
            else pa.nulls(size, column.type.arrow)
            for column in self.columns
        }
        return pa.RecordBatch.from_pydict({**kinds, **typed})

    def _unfit(
        self,
        batch: pa.RecordBatch,
        owners: Sequence[int],
        places: _Places,
        values: Sequence[bytes | None],
        rejected: dict[int, Rejected],
    ) -> set[int]:
        """The messages without an event time, which metadata or a deletion should have."""
        types = RowTypes(tuple(column for column in self.columns if column.time is not None))
        reasons = types.misfits({column.name: batch.column(column.name) for column in types.columns})
        for at, why in reasons.items():
            owner = owners[at]
            rejected.setdefault(owner, places.rejected_message(owner, values[owner] or b"", why))
        return {owners[at] for at in reasons}


def _nothing(rows: RowTypes) -> pa.RecordBatch:
    columns = [pa.nulls(0, column.type.arrow) for column in rows.payload]
    return pa.RecordBatch.from_arrays(columns, names=[column.name for column in rows.payload])


def _joined(
    columns: Mapping[str, pa.Array],
    owners: Sequence[int],
    keys: pa.RecordBatch,
    keyed: Sequence[int],
    *,
    deletes: bool,
    values: Sequence[bytes | None],
) -> tuple[dict[str, pa.Array], list[int]]:
    """Records of values joined with the columns of their keys, which are null if a message has no key.

    deletes: a key without a value becomes a record, too.
    """
    place_of = {owner: place for place, owner in enumerate(keyed)}
    pairs = [(owner, at) for at, owner in enumerate(owners)]
    if deletes:
        pairs += [(owner, -1) for owner in keyed if values[owner] is None]
        pairs.sort(key=lambda each: each[0])
    of_values = pa.array([at if at >= 0 else None for _, at in pairs], pa.int64())
    of_keys = pa.array([place_of.get(owner) for owner, _ in pairs], pa.int64())
    joined = {name: column.take(of_values) for name, column in columns.items()}
    for name in keys.schema.names:
        of_key = keys.column(name).take(of_keys)
        # For a column in both, the value's column counts.
        joined[name] = pc.if_else(pc.is_valid(of_values), joined[name], of_key) if name in joined else of_key
    if deletes:
        joined[KIND] = pa.array([INSERT if at >= 0 else DELETE for _, at in pairs], pa.int8())
    return joined, [owner for owner, _ in pairs]


class _Places:
    """The places of messages: topic and partition as the file, the offset as the line."""

    def __init__(self, messages: pa.RecordBatch, name: str) -> None:
        self.name = name
        self._topics = messages.column("topic").to_pylist()
        self._partitions = messages.column("partition").to_pylist()
        self._offsets = messages.column("offset").to_pylist()
        self.written = written_in(messages)

    def file(self, at: int) -> str:
        """The file of a message."""
        return f"{self._topics[at]}, partition {self._partitions[at]}"

    def offset(self, at: int) -> int:
        """The offset of a message."""
        return int(self._offsets[at])

    def rejected_message(self, at: int, text: bytes, reason: str) -> Rejected:
        """A message that cannot be read."""
        said = reason.replace("the line ", "the message ")
        return Rejected(self.file(at), self.offset(at), text.decode(errors="replace")[:RAW_CHARS], said)

    def rejected_bytes(self, at: int, value: bytes, reason: str) -> Rejected:
        """The same, of a message that is no text."""
        shown = value[: RAW_CHARS // 3].hex(" ")
        return Rejected(self.file(at), self.offset(at), shown, reason.replace("the line ", "the message "))


@dataclass(frozen=True)
class _Numbers:
    """Numbers for a block whose lines are messages: a rejected line has the number of its message."""

    places: _Places
    owners: Sequence[int]
    what: str

    def before(self) -> int:
        """Messages are not in a file: no line precedes them."""
        return 0

    def rejected(self, line: int, raw: bytes, reason: str) -> Rejected:
        """A line of the block that cannot be read."""
        said = reason if self.what == "value" else f"the key: {reason}"
        return Rejected("", self.owners[line - 1], raw.decode(errors="replace")[:RAW_CHARS], said)
