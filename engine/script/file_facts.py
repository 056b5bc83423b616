"""The metadata of tables over files: what is known of the file of a record."""

from __future__ import annotations

from dataclasses import replace

from engine.model.types import STRING
from engine.reading.files.source import FILE_FACTS
from engine.script.tables import TableDdl


def with_file_facts(ddl: TableDdl, warnings: list[str]) -> TableDdl:
    """The table of files without the metadata that they do not have here."""
    facts = tuple(column for column in ddl.metadata if column.key in FILE_FACTS and column.type.is_held_as(STRING))
    for column in ddl.metadata:
        if column not in facts:
            warnings.append(
                f"{ddl.name}: the metadata column {column.name} is ignored. Of files there are "
                f"{' and '.join(FILE_FACTS)}, as STRING."
            )
    return replace(ddl, metadata=facts)
