"""The formats of Avro that messages have, by Flink's names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from engine.contract.parameters import Parameters, parameter
from engine.contract.source import TypedColumn
from engine.errors import SourceError
from engine.model.schema import Column
from engine.reading.avro.messages import AvroReader, ChangesOf, envelope_of
from engine.reading.avro.registry import number_in, written_in
from engine.reading.avro.resolution import Unreadable
from engine.reading.avro.schemas import Avro, BadSchema, schema_of
from engine.reading.avro.types import record_of, type_of
from engine.reading.typed.typed_rows import RowTypes

if TYPE_CHECKING:
    import pyarrow as pa

REGISTERED: Final = ("avro-confluent", "debezium-avro-confluent")
"""Those whose messages name a schema in a registry."""
AVRO: Final = ("avro", *REGISTERED)


class RegistryOption(Parameters):
    """An option of the schema registry."""

    name: str = parameter("Name", "Flink's name of an option, such as basic-auth.user-info.", min_length=1)
    value: str = parameter("Value", "For a secret, name an environment variable: ${env:REGISTRY_USER}.", default="")


def avro_reader(
    name: str,
    columns: Sequence[Column],
    required: Collection[str],
    changes_of: ChangesOf | None,
    *,
    legacy: bool,
    given: str,
) -> AvroReader:
    """The reader of a format. required: the columns that are NOT NULL. given: a schema to read with, or "".

    changes_of: the changes in an envelope, if messages are such. Raises BadSchema, and NoAvro for a type that Avro does
    not have.
    """
    rows = record_of(columns, required, legacy=legacy)
    schema = rows if changes_of is None else envelope_of(rows)
    own = schema_of((given,)) if given else schema
    return AvroReader(RowTypes(tuple(columns)), own, "" if name in REGISTERED else rows.text, changes_of)


def columns_written(
    batches: Iterable[pa.RecordBatch], origin: str, *, is_change: bool, node: str
) -> Sequence[TypedColumn]:
    """The columns of the schema of the first message. Raises SourceError."""
    for batch in batches:
        for value in filter(None, batch.column("value").to_pylist()):
            try:
                texts = written_in(batch).get(number_in(value))
                if not isinstance(texts, list):
                    continue
                schema = schema_of(texts)
            except (Unreadable, BadSchema):
                continue
            row = _row_in(schema) if is_change else schema
            if row.kind == "record":
                return [_typed(field.name, field.type, node) for field in row.parts]
    message = f"columns: none of the first messages of {origin} has a schema of the registry. Type their names."
    raise SourceError(message, node, "columns")


def _row_in(envelope: Avro) -> Avro:
    """The record within Debezium's envelope."""
    of_rows = [field.type for field in envelope.parts if field.name in ("after", "before")]
    rows = [branch for type_ in of_rows for branch in type_.branches if branch.kind == "record"]
    return rows[0] if rows else envelope


def _typed(name: str, schema: Avro, node: str) -> TypedColumn:
    type_ = type_of(schema, legacy=True)
    if type_ is None:
        message = (
            f"columns: {name} is {' or '.join(part.title for part in schema.branches)} in Avro, for which Flink has no "
            "type. Type the names of the other columns."
        )
        raise SourceError(message, node, "columns")
    return TypedColumn(name=name, type=type_.flink)
