"""The options that Flink's connectors and formats have: any other one is a slip, and Flink refuses it.

Source: Flink FactoryUtil.validateUnconsumedKeys.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Final

from engine.operators.sink import Sink
from engine.reading.flink_formats import FORMATS
from engine.registry import connectors
from engine.script.tables import TableDdl

_OF_ALL: Final = """
connector format property-version scan.parallelism sink.parallelism scan.watermark.emit.strategy
scan.watermark.emit.on-event.gap scan.watermark.idle-timeout scan.watermark.alignment.group
scan.watermark.alignment.max-drift scan.watermark.alignment.update-interval
"""
_ALIKE: Final = 0.8
# With what the options of Kafka's own clients begin, which follow 'properties.'.
_OF_CLIENTS: Final = (
    *("acks", "auto", "batch", "bootstrap", "client", "compression", "enable", "fetch", "group", "isolation", "linger"),
    *("max", "request", "retries", "sasl", "security", "session", "ssl", "transaction"),
)
# Of Flink 1.10, of Spark, and what others guess.
_OF_A_HEADER: Final = re.compile(r"first.?line|header|skip.?(lines|rows|first)", re.IGNORECASE)
_HEADER: Final = "here a first line that does not fit the types of the columns is a rejected row."


def require_known_options(ddl: TableDdl) -> None:
    """Raise SqlRejected for an option that neither the table's connector nor a format has, with the nearest one."""
    sources = connectors().get(ddl.connector, ())
    known = [Sink.only_written.get(ddl.connector), *(source.table_options for source in sources)]
    if not any(options is not None for options in known) or "connector" not in ddl.options:
        return
    patterns = [*_OF_ALL.split(), *(option for options in known for option in (options or "").split())]
    for name, value in ddl.options.items():
        if name.endswith("format"):
            # Formats that are not read here keep their options: nothing is known of them.
            prefix = name.removesuffix("format")
            options = FORMATS[value].split() if value in FORMATS else ["*"]
            patterns += [f"{where}{value}.{option}" for where in {prefix, ""} for option in options]
    for name in ddl.options:
        if not any(_matches(name, pattern) for pattern in patterns):
            near = get_close_matches(name, [pattern for pattern in patterns if "*" not in pattern], n=1)
            if "properties.*" in patterns and name.split(".")[0] in _OF_CLIENTS:
                near = [f"properties.{name}"]
            meant = f" Did you mean {near[0]!r}?" if near else (_of_another_format(name) or " Remove it.")
            if _OF_A_HEADER.search(name):
                meant = f" Flink has none for a header, which it reads as a row. Remove it: {_HEADER}"
            message = f"the connector {ddl.connector!r} has no option {name!r}.{meant}"
            raise ddl.rejected(message, name)


def _of_another_format(name: str) -> str:
    """What is told of an option of a format that the table does not have."""
    options = {f"{format_}.{option}": format_ for format_, names in FORMATS.items() for option in names.split()}
    near = get_close_matches(name, options, n=1, cutoff=_ALIKE)
    return f" {near[0]!r} is one of tables with 'format' = '{options[near[0]]}'." if near else ""


def _matches(name: str, option: str) -> bool:
    return re.fullmatch(re.escape(option).replace(r"\*", ".*"), name) is not None
