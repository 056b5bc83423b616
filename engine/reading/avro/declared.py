"""The options of Flink's formats of Avro as parameters of a source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from engine.reading.avro.formats import REGISTERED
from engine.reading.avro.registry import OPTIONS
from engine.reading.declared_options import DeclaredOptions
from engine.reading.servers.secrets import kept_options

_LEGACY: Final = "timestamp_mapping.legacy"
_FORMER: Final = "schema-registry."
# Of a writer alone.
_NOT_READ: Final = ("subject", "auto.register.schemas", "codec")


def avro_parameters(options: DeclaredOptions, formats: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The parameters of formats, which are given with the prefix of their options. Raises StudioError."""
    table, safe = options.table, kept_options(options.table)
    not_null = [name for name in table.not_null if name not in table.primary_key]
    parameters: dict[str, Any] = {"not_null": not_null} if not_null else {}
    urls, others = [], []
    for prefix, name in formats:
        given = {option: safe[f"{prefix}{option}"] for option, text in options.beginning(prefix).items() if text}
        texts = {option.removeprefix(_FORMER): text for option, text in given.items()}
        texts = {option: text for option, text in texts.items() if option not in _NOT_READ}
        if name not in REGISTERED:
            if (encoding := texts.get("encoding", "binary")) != "binary":
                message = f"{prefix + 'encoding'!r} is {encoding!r}; only binary is read here."
                raise table.rejected(message)
            parameters |= {"legacy_timestamps": False} if texts.get(_LEGACY, "true").lower() == "false" else {}
            continue
        if not texts.get("url"):
            message = f"{prefix + 'url'!r} is missing: {prefix + 'url'!r} = 'http://localhost:8081'."
            raise table.rejected(message)
        urls.append(texts.pop("url"))
        others.append({option.removeprefix("properties."): text for option, text in texts.items()})
    if len(set(urls)) > 1 or any(other != others[0] for other in others):
        message = "the options of the registry differ for key and value; here the two are the same."
        raise table.rejected(message)
    if urls:
        # What nothing here knows is told with the names of the options that there are.
        pairs = sorted(others[0].items(), key=lambda option: (option[0] not in OPTIONS, option[0]))
        parameters |= {"registry": urls[0]}
        parameters |= {"registry_options": [{"name": name, "value": text} for name, text in pairs]} if pairs else {}
    return parameters


def avro_options(name: str, prefix: str, of_registry: Mapping[str, str], *, legacy: bool) -> dict[str, str]:
    """The options of a format. of_registry: those of a registry, for messages that name their schema there."""
    if name in REGISTERED:
        return {f"{prefix}{name}.{option}": text for option, text in of_registry.items()}
    return {} if legacy else {f"{prefix}{name}.{_LEGACY}": "false"}
