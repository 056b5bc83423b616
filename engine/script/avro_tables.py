"""The options of Flink's formats of Avro as parameters of a source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from engine.reading.avro.formats import REGISTERED
from engine.reading.avro.registry import OPTIONS
from engine.script.passwords import kept_options
from engine.script.tables import TableDdl

LEGACY: Final = "timestamp_mapping.legacy"
_FORMER: Final = "schema-registry."
# Of a writer alone.
_NOT_READ: Final = ("subject", "auto.register.schemas", "codec")


def avro_options(ddl: TableDdl, options: dict[str, str], formats: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The parameters of formats, which are given with the prefix of their options. Raises SqlRejected."""
    safe = kept_options(ddl)
    not_null = [name for name in ddl.not_null if name not in ddl.primary_key]
    parameters: dict[str, Any] = {"not_null": not_null} if not_null else {}
    urls, others = [], []
    for prefix, name in formats:
        given = {option.removeprefix(prefix): option for option in list(options) if option.startswith(prefix)}
        texts = {option.removeprefix(_FORMER): safe[whole] for option, whole in given.items() if options.pop(whole)}
        texts = {option: text for option, text in texts.items() if option not in _NOT_READ}
        if name not in REGISTERED:
            parameters |= _of_values(ddl, prefix, texts)
            continue
        if not texts.get("url"):
            message = f"{prefix + 'url'!r} is missing: {prefix + 'url'!r} = 'http://localhost:8081'."
            raise ddl.rejected(message)
        urls.append(texts.pop("url"))
        others.append({option.removeprefix("properties."): text for option, text in texts.items()})
    if len({url for url in urls}) > 1 or any(other != others[0] for other in others):
        message = "the options of the registry differ for key and value; here the two are the same."
        raise ddl.rejected(message)
    if urls:
        # What nothing here knows is told with the names of the options that there are.
        pairs = sorted(others[0].items(), key=lambda each: (each[0] not in OPTIONS, each[0]))
        parameters |= {"registry": urls[0]}
        parameters |= {"registry_options": [{"name": name, "value": text} for name, text in pairs]} if pairs else {}
    return parameters


def _of_values(ddl: TableDdl, prefix: str, options: dict[str, str]) -> dict[str, Any]:
    if options.get("encoding", "binary") != "binary":
        message = f"{prefix + 'encoding'!r} is {options['encoding']!r}; only binary is read here."
        raise ddl.rejected(message)
    return {"legacy_timestamps": False} if options.get(LEGACY, "true").lower() == "false" else {}
