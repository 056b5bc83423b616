"""test.json, the description of a kept test."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from engine.errors import PipelineError
from engine.model.pipeline import explain

FILE: Final = "test.json"
PIPELINE: Final = "pipeline.json"
Expects = Literal["changelog", "table"]


class Manifest(BaseModel):
    """A kept test.

    words: what it shows, for people. pipeline: its file, relative to the folder, a document or a script. expects: the
    changelogs of the outputs, or the tables that they end with. order: the order of records counts, and with it the
    event that caused each. kinds: the row kinds count, not only whether a record adds a row or takes one away. edges:
    the outputs, NODE or NODE.late. sources: the nodes whose records are kept.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: Literal[1] = 1
    name: str = Field(min_length=1, max_length=200)
    words: str = ""
    pipeline: str = PIPELINE
    expects: Expects = "changelog"
    order: bool = True
    kinds: bool = True
    edges: tuple[str, ...] = Field(min_length=1)
    sources: tuple[str, ...] = Field(min_length=1)

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        """Read it. Raises PipelineError."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            found = explain(error, cls, {})
            message = f"{FILE} is not the description of a test: {found}"
            raise PipelineError(message) from error

    def to_json(self) -> str:
        """Write it: what is as usual is left out."""
        return self.model_dump_json(indent=2, exclude_defaults=True) + "\n"
