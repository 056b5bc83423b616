"""test.json, the description of a kept test."""

from __future__ import annotations

from typing import Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from engine.errors import PipelineError
from engine.model.pipeline import explain

FILE: Final = "test.json"
PIPELINE: Final = "pipeline.json"
Expects = Literal["changelog", "table"]


class Wanted(BaseModel):
    """What a test is called, and what it expects.

    words: what it shows, for people. expects: the changelogs of the outputs, or the tables that they end with. order:
    the order of records counts, and with it the event that caused each. kinds: the row kinds count, not only whether a
    record adds a row or takes one away. edges: the outputs, NODE or NODE.late.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=200)
    words: str = ""
    expects: Expects = "changelog"
    order: bool = True
    kinds: bool = True
    edges: tuple[str, ...] = Field(min_length=1)

    @classmethod
    def of(cls, **given: Any) -> Self:
        """Check what was given. Raises PipelineError."""
        try:
            return cls(**given)
        except ValidationError as error:
            raise explain(error, cls, given) from error


class Manifest(Wanted):
    """A kept test.

    pipeline: its file, relative to the folder, a document or a script. sources: those whose records are kept.
    """

    version: Literal[1] = 1
    pipeline: str = PIPELINE
    sources: tuple[str, ...] = Field(min_length=1)

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        """Read it. Raises PipelineError."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            explanation = explain(error, cls, {})
            message = f"{FILE} is not the description of a test: {explanation}"
            raise PipelineError(message) from error

    def to_json(self) -> str:
        """Write it: what is as usual is left out."""
        return self.model_dump_json(indent=2, exclude_defaults=True) + "\n"
