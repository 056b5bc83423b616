"""The metadata of tables over files: what is known of the file of a record."""

from __future__ import annotations

from dataclasses import replace

from engine.model.types import STRING
from engine.reading.files.source import FILE_FACTS
from engine.script.tables import TableDdl


def with_file_facts(ddl: TableDdl, warnings: list[str]) -> TableDdl:
    """The table of files without the metadata that they do not have here."""
    known = tuple(one for one in ddl.metadata if one.key in FILE_FACTS and one.type.is_held_as(STRING))
    for one in ddl.metadata:
        if one not in known:
            warnings.append(
                f"{ddl.name}: the metadata column {one.name} is ignored. Of files there are "
                f"{' and '.join(FILE_FACTS)}, as STRING."
            )
    return replace(ddl, metadata=known)
