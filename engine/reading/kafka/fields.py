"""Parameters of sources over topics: a format, an end, an option of the client, a column of metadata."""

from __future__ import annotations

from typing import Final, Literal

from engine.contract.parameters import Parameters, parameter

KeyFormat = Literal["json", "csv", "raw", "avro", "avro-confluent"]
FORMAT: Final = parameter("Format", "The format of message values.", default="json")
END: Final = parameter(
    "End at",
    "Where the source ends. unbounded: a live run never ends, any other run ends with the last message at its start.",
    default="unbounded",
    last=True,
)


class Property(Parameters):
    """An option of Kafka's client."""

    name: str = parameter("Name", "The name of an option of Kafka's client, such as security.protocol.", min_length=1)
    value: str = parameter("Value", "For a secret, name an environment variable: ${env:KAFKA_PASSWORD}.", default="")


class MetadataColumn(Parameters):
    """A column with the broker's metadata of a message."""

    name: str = parameter("Name", min_length=1)
    of: Literal["timestamp", "timestamp-type", "offset", "partition", "topic"] = parameter(
        "What it is", default="timestamp"
    )
