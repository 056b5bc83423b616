"""What the sources that read files share: the path, types that somebody knows better, the sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydantic import Field

from engine.errors import PipelineError, SourceError
from engine.operator import Source
from engine.reading.columns import declared_type
from engine.schema import Column


class FileSource(Source):
    """A source over a file, a folder or a glob."""

    path: str = Field(
        "",
        title="File",
        description="A file, a folder (all its files) or a glob such as data/*.csv; several files in name order.",
        json_schema_extra={"file": True},
    )
    types: dict[str, str] = Field(
        default_factory=dict,
        title="Types",
        description="By column, where another type than the inferred one is wanted: BIGINT, DECIMAL(10,2), ...",
        json_schema_extra={"column": True},
    )

    def overridden(self, columns: Sequence[Column], node: str) -> tuple[Column, ...]:
        """The columns with the types that somebody set. Raises SourceError for one that the file lacks."""
        known = [column.name for column in columns]
        if missing := [name for name in self.types if name not in known]:
            message = (
                f"types: the file {self.path} has no column {missing[0]!r}; it has {', '.join(known)}. "
                "Correct the name, or choose another file."
            )
            raise SourceError(message, node, "types")
        types: Mapping[str, str] = {name: declared_type(text, node, "types") for name, text in self.types.items()}
        return tuple(replace(column, type=types.get(column.name, column.type)) for column in columns)


def one_character(text: str, node: str, field: str) -> str:
    r"""A separator or quote: one character, or \t. Raises PipelineError."""
    char = "\t" if text == r"\t" else text
    if len(char) != 1 or char in "\r\n":
        message = f"{field}: {text!r} is not one character; use a comma, a semicolon, \\t and the like."
        raise PipelineError(message, node, field)
    return char
