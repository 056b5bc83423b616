"""Maxwell JSON: the changes that Maxwell's daemon captures from MySQL, one row per line.

Input: JSON Lines of `{"type": "update", "data": row, "old": changed fields}`. Output, by `type`: insert +I, update
-U and +U, delete -D. `old` has only the changed fields; the other fields of the old row are those of `data`.
A line that is unreadable or of another type is rejected.
Source: Flink MaxwellJsonDeserializationSchema.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from engine.reading.documents.envelopes import Change, EnvelopeFile, unknown
from engine.reading.documents.json_scan import NoChange


class MaxwellJson(EnvelopeFile):
    """Files of Maxwell's changes."""

    operator: ClassVar[str] = "maxwell_json"
    title: ClassVar[str] = "Maxwell JSON"
    summary: ClassVar[str] = "MySQL changes as Maxwell writes them: type, data and old in each line."
    table_format = "maxwell-json"

    @staticmethod
    def rows_of(envelope: dict[str, Any]) -> Sequence[Any]:
        """The row, and the changed fields."""
        return envelope.get("data"), envelope.get("old")

    @staticmethod
    def changes_of(envelope: dict[str, Any]) -> Sequence[Change]:
        """One record, or two for an update."""
        data, old, type_ = envelope.get("data"), envelope.get("old"), envelope.get("type")
        if type_ not in ("insert", "update", "delete"):
            raise NoChange(unknown("type", type_, ("insert", "update", "delete")))
        if not isinstance(data, dict):
            message = 'the line has no "data", the row'
            raise NoChange(message)
        if type_ != "update":
            return [(INSERT if type_ == "insert" else DELETE, data)]
        if not isinstance(old, dict):
            message = 'the update has no "old", the fields that changed'
            raise NoChange(message)
        # A field with null in `old` was null before.
        return [(UPDATE_BEFORE, {**data, **old}), (UPDATE_AFTER, data)]


SOURCE = MaxwellJson
