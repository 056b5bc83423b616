"""Flink's formats: their options, and those of CSV as parameters, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

from engine.reading.avro.registry import OPTIONS

_OF_JSON: Final = (
    "ignore-parse-errors timestamp-format.standard map-null-key.mode map-null-key.literal "
    "encode.decimal-as-plain-number encode.ignore-null-fields"
)
_OF_A_REGISTRY: Final = f"""
url schema-registry.url schema-registry.subject schema-registry.schema auto.register.schemas properties.*
{" ".join(OPTIONS)}
"""
FORMATS: Final[Mapping[str, str]] = {
    "csv": (
        "field-delimiter disable-quote-character quote-character allow-comments ignore-parse-errors "
        "array-element-delimiter escape-character null-literal write-bigdecimal-in-scientific-notation"
    ),
    "json": f"{_OF_JSON} fail-on-missing-field decode.json-parser.enabled",
    "debezium-json": f"{_OF_JSON} schema-include",
    "canal-json": f"{_OF_JSON} database.include table.include",
    "maxwell-json": _OF_JSON,
    "raw": "charset endianness",
    "avro": "encoding codec timestamp_mapping.legacy ignore-parse-errors",
    "avro-confluent": _OF_A_REGISTRY,
    "debezium-avro-confluent": _OF_A_REGISTRY,
    "excel": "sheet header",
}
"""The options of each format. Source: the option classes of Flink's formats."""
OF_NO_MATTER: Final = (
    r".*\.(ignore-parse-errors|fail-on-missing-field|timestamp-format\.standard|allow-comments|encode\..*"
    r"|map-null-key\..*|schema-include)"
)
"""The options of formats that are as if they were not there, as a pattern."""
CSV: Final = {"field-delimiter": "separator", "quote-character": "quote", "null-literal": "null_text"}
"""The parameters of options of CSV."""


class OfCsv(Protocol):
    """The parameters of a source that reads CSV."""

    separator: str
    quote: str
    null_text: str
    empty_is_null: bool


def csv_options(source: OfCsv, prefix: str = "csv.") -> dict[str, str]:
    """The options of CSV. Flink has one text for NULL, and none if an empty field is no NULL."""
    options = {f"{prefix}{option}": str(getattr(source, field)) for option, field in CSV.items()}
    if not (source.null_text or source.empty_is_null):
        del options[f"{prefix}null-literal"]
    return options


def csv_parameters(options: dict[str, str], prefix: str = "csv.") -> dict[str, Any]:
    """The parameters of CSV, whose options are taken out of these. Without a text for NULL an empty field is none."""
    given = {field: options.pop(f"{prefix}{option}", None) for option, field in CSV.items()}
    texts = {field: text for field, text in given.items() if text is not None}
    return {**texts, "empty_is_null": texts.get("null_text") == ""}
