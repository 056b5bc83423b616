"""Rows that programs post over HTTP while a live run is on.

Input: `POST http://127.0.0.1:<port>/` with `Content-Type: application/json`; the body is a JSON object or a list of
them. A request is answered with 200 once its rows are in the journal and that is on the disk: no run that is stopped,
killed or resumed loses one. A client that hears nothing posts again; its rows may then be there twice.
Output: as of JSON Lines: insert-only, or what `kind_column` says, in the order of the journal. A row that does not fit
its types is rejected with the journal's line. A run that is not live reads what the journal has.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from engine.contract.stream import Stream
from engine.errors import SourceError
from engine.model.schema import Schema
from engine.reading.posting import Journal, Posted, listening
from engine.sources.jsonl import JsonLines


class Http(JsonLines):
    """Rows that are posted."""

    operator: ClassVar[str] = "http"
    title: ClassVar[str] = "HTTP"
    summary: ClassVar[str] = "Rows that programs post to a port of this machine, in a live run."
    opens: ClassVar[tuple[str, ...]] = ()

    path: str = Field(
        "posted.jsonl",
        title="Journal",
        description="The file that keeps what was posted, as JSON Lines.",
        json_schema_extra={"file": True},
    )
    types: dict[str, str] = Field(
        default_factory=dict, title="Types", description="The columns: BIGINT, DECIMAL(10,2), STRING, ..."
    )
    port: int = Field(8630, ge=1, le=65_535, title="Port", description="Of this machine, on which the run listens.")
    token_variable: str = Field(
        "",
        title="Token in",
        description="The environment variable with the token that requests have to show. Empty: none is asked for.",
        json_schema_extra={"last": True},
    )
    monitor_interval_ms: int | None = Field(
        50,
        ge=1,
        title="Look for more every",
        description="A live run looks for new rows so often.",
        json_schema_extra={"duration": True, "last": True},
    )
    fixed_columns: bool = Field(
        True,
        title="Columns are those of Types",
        description="Other keys than those in Types are no columns.",
        json_schema_extra={"last": True},
    )

    def stream(self, node: str, folder: Path) -> Stream:
        """Listen, and follow the journal."""
        token = os.environ.get(self.token_variable, "") if self.token_variable else ""
        if self.token_variable and not token:
            message = f"token_variable: the environment has no {self.token_variable}; set it, or ask for no token."
            raise SourceError(message, node, "token_variable")
        place = folder.absolute() / Path(self.path).expanduser()
        try:
            journal = Journal(place)
        except OSError as error:
            message = f"path: the journal {self.path} cannot be written: {error.strerror}."
            raise SourceError(message, node, "path") from error
        try:
            return Posted(super().stream(node, folder), journal, listening(self.port, token, journal, node))
        except BaseException:
            journal.close()
            raise

    def flink_sql(self, node: str, schema: Schema) -> str:
        """The journal: Flink has no connector that listens."""
        said = f"-- Here rows are posted to port {self.port}; in Flink the journal is read.\n"
        return said + super().flink_sql(node, schema)


SOURCE = Http
