"""A pipeline from an exported file: the document as JSON, or a script of Flink SQL."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from engine.expressions.analyzer import TypeRules
from engine.model.pipeline import Pipeline
from engine.script import is_sql, script_of
from ui.builder.arriving import one_by_one
from ui.builder.drafting import open_draft
from ui.shell import workspace

ENDINGS: Final = ("json", "sql")
_HEAD: Final = 100_000


class Imported(NamedTuple):
    """A document, and sentences about the parts of the file that it does not contain.

    source: made of a file's rows, which the form of this node describes.
    """

    pipeline: Pipeline
    notices: tuple[str, ...] = ()
    source: str | None = None


def imported(content: bytes, name: str) -> Imported:
    """The pipeline of a file. Raises StudioError."""
    text = content.decode("utf-8", errors="replace")
    path = Path(name)
    if path.suffix.lower() != ".sql":
        return Imported(Pipeline.from_json(text))
    script = script_of(text, TypeRules(), workspace.folder(), path.stem)
    return Imported(script.pipeline, tuple(filter(None, (*script.warnings, one_by_one(script.pipeline)))))


def script_in(content: bytes, name: str) -> Imported | None:
    """The pipeline of a file or a text that is a script, whatever its name is; None for data. Raises StudioError."""
    if Path(name).suffix.lower() != ".sql" and not is_script(content):
        return None
    return imported(content, f"{Path(name).stem}.sql")


def open_imported(made: Imported) -> None:
    """Edit an imported pipeline."""
    open_draft(made.pipeline, selection=made.source).notices = made.notices


def is_script(content: bytes) -> bool:
    """Whether a file is a script of Flink SQL, whatever its name ends with."""
    return b"\0" not in content[:_HEAD] and is_sql(content[:_HEAD].decode("utf-8", errors="replace"))


def is_document(content: bytes) -> bool:
    """Whether JSON is a pipeline, and not data."""
    head = content.lstrip()[:1]
    return head == b"{" and b'"nodes"' in content and b'"operator"' in content
