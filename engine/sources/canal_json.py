"""Canal JSON: the changes that Canal captures from MySQL, one statement per line with all changed rows.

Input: JSON Lines of `{"type": "UPDATE", "data": [row, ...], "old": [changed fields, ...]}`; Canal writes values
as strings, so types are inferred as in CSV. Output, row by row, by `type`: INSERT +I, UPDATE -U and +U, DELETE
-D. `old` has only the changed fields; the other fields of the old row are those of `data`. Lines of other
types of Canal (CREATE, ALTER, ...) change no row and are skipped; an unreadable line is rejected.
Source: Flink CanalJsonDeserializationSchema. Flink skips CREATE only. In an update of several rows, Flink searches a
field in the `old` of all rows, so a field that only changed in another row becomes null in the old row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Final

from engine.contract.parameters import parameter
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from engine.model.types import Type
from engine.reading.documents.envelopes import Change, EnvelopeFile, unknown
from engine.reading.documents.json_sample import Infer
from engine.reading.documents.json_scan import NoChange
from engine.reading.typed.inference import infer_text

_CHANGES: Final = ("INSERT", "UPDATE", "DELETE")
_NO_CHANGE: Final = (
    "CREATE",
    "ALTER",
    "ERASE",
    "QUERY",
    "TRUNCATE",
    "RENAME",
    "CINDEX",
    "DINDEX",
    "GTID",
    "XACOMMIT",
    "XAROLLBACK",
    "MHEARTBEAT",
)


class CanalJson(EnvelopeFile):
    """Files of Canal's changes."""

    operator: ClassVar[str] = "canal_json"
    title: ClassVar[str] = "Canal JSON"
    summary: ClassVar[str] = "MySQL changes as Canal writes them: type, data and old in each line."
    table_format = "canal-json"

    @staticmethod
    def rows_of(envelope: dict[str, Any]) -> Sequence[Any]:
        """All rows, and the changed fields of updates."""
        parts = (envelope.get("data"), envelope.get("old"))
        return [row for part in parts if isinstance(part, list) for row in part]

    nested_types: bool = parameter(default=False, hidden=True)

    @property
    def infer(self) -> Infer:
        """That of a column of strings."""
        return _infer_strings

    @staticmethod
    def changes_of(envelope: dict[str, Any]) -> Sequence[Change]:
        """A record per row, or two for an update."""
        data, old, type_ = envelope.get("data"), envelope.get("old"), envelope.get("type")
        if type_ in _NO_CHANGE:
            return ()
        if type_ not in _CHANGES:
            raise NoChange(unknown("type", type_, _CHANGES))
        rows, old_rows = _rows(data), _rows(old)
        if rows is None:
            message = '"data" is not a list of rows'
            raise NoChange(message)
        if type_ != "UPDATE":
            return [(INSERT if type_ == "INSERT" else DELETE, row) for row in rows]
        if old_rows is None or len(old_rows) != len(rows):
            message = 'the update has no "old" for each row of "data"'
            raise NoChange(message)
        changes: list[Change] = []
        for row, fields in zip(rows, old_rows, strict=True):
            # A field with null in `old` was null before.
            changes += [(UPDATE_BEFORE, {**row, **fields}), (UPDATE_AFTER, row)]
        return changes


def _infer_strings(values: Iterable[Any]) -> Type:
    return infer_text(value if isinstance(value, str | None) else json.dumps(value) for value in values)


def _rows(value: Any) -> list[dict[str, Any]] | None:
    return value if isinstance(value, list) and all(isinstance(row, dict) for row in value) else None


SOURCE = CanalJson
