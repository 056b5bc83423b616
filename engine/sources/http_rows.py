"""Rows that are posted to the app, as JSON.

Input: `POST /rows/ADDRESS` of the app, with one JSON object, an array of objects, or one per line. The answer is 200
once the rows are on disk, in line files in `received/` next to the store (`engine.reading.files.received`).
Output: as for JSON Lines, in the order of the posts. A client that repeats an unanswered post may post rows twice.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from engine.contract.parameters import parameter
from engine.errors import SourceError, SourceMissing
from engine.model.schema import Schema
from engine.reading.files.input_files import InputFile, local_file
from engine.reading.files.received import FOLDER, PostedSource, is_address, received_files
from engine.sources.jsonl import JsonLines


class HttpRows(PostedSource, JsonLines):
    """Posted rows."""

    operator: ClassVar[str] = "http_rows"
    title: ClassVar[str] = "HTTP"
    summary: ClassVar[str] = "Rows that are posted to the app as JSON."
    opens = ()
    connector = ""
    files_go = True

    path: str = parameter(
        "Address",
        "A name such as orders: rows are posted to /rows/orders of the app, as a JSON object, an array, "
        "or one per line. Letters, digits, _ and -.",
        default="",
    )
    monitor_interval_ms: int | None = parameter(
        "Look for more every",
        "How often a live run looks for new rows. Empty: the rows are read once.",
        default=200,
        ge=1,
        duration=True,
        last=True,
    )

    def files(self, node: str, folder: Path) -> tuple[InputFile, ...]:
        """The files of the address; empty before the first post, when only the columns in `types` are known."""
        if Path(self.path).is_absolute():
            # A copy of its first rows, from `head`.
            return super().files(node, folder)
        if not self.path:
            message = "path: give a name such as orders: rows are posted to /rows/orders."
            raise SourceError(message, node, "path")
        if not is_address(self.path):
            message = (
                f"path: {self.path[:80]!r} is not an address; give a name of letters, digits, _ and -, such as orders."
            )
            raise SourceError(message, node, "path")
        files = received_files(folder, self.path)
        if not files and not self.types:
            message = (
                f"nothing was posted to /rows/{self.path} yet, so its columns are not known. Post a row, or set their "
                "types."
            )
            raise SourceMissing(message, node, "types")
        return tuple(local_file(file, f"{FOLDER}/{file.name}") for file in files)

    def flink_sql(self, node: str, schema: Schema) -> str:
        """The filesystem connector over the first file of rows: Flink has no such connector."""
        posted = JsonLines(**(self.model_dump() | {"path": f"{FOLDER}/{self.path}.jsonl"}))
        return posted.flink_sql(node, schema)


SOURCE = HttpRows
