"""Maxwell JSON: what Maxwell's daemon captures of MySQL, one row per line.

Input: JSON Lines of `{"type": "update", "data": row, "old": changed fields}`. Output, by `type`: insert +I, update
-U and +U, delete -D. `old` holds only the fields that changed; the rest of the row before is that of `data`.
A line that cannot be read, or of another type, is rejected.
Source: Flink MaxwellJsonDeserializationSchema.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from engine.changelog import RowKind
from engine.reading.envelopes import EnvelopeFile, Opened, change, row_before, unknown

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn


class MaxwellJson(EnvelopeFile):
    """Files of Maxwell's changes."""

    operator: ClassVar[str] = "maxwell_json"
    title: ClassVar[str] = "Maxwell JSON"
    summary: ClassVar[str] = "MySQL changes as Maxwell writes them: type, data and old in each line."
    format: ClassVar[str] = "maxwell-json"

    @staticmethod
    def rows_of(envelope: dict[str, Any]) -> Sequence[Any]:
        """The row, and the fields that changed."""
        return envelope.get("data"), envelope.get("old")

    def layout(self, row: str) -> str:
        """The row, and what it was."""
        return f"data: {row}, old: MAP<STRING, STRING>, type: STRING"

    def opened(self, envelope: SparkColumn, names: Sequence[str]) -> Opened:
        """One record, or two for an update."""
        from pyspark.sql import functions as F

        data, old, type_ = (envelope.getField(name) for name in ("data", "old", "type"))
        before = row_before(data, old, names)
        update = F.array(change(RowKind.UPDATE_BEFORE, before), change(RowKind.UPDATE_AFTER, data))
        changes = (
            F.when(type_ == "insert", F.array(change(RowKind.INSERT, data)))
            .when(type_ == "update", update)
            .when(type_ == "delete", F.array(change(RowKind.DELETE, data)))
        )
        reason = F.coalesce(
            unknown("type", type_, ("insert", "update", "delete")),
            F.when(data.isNull(), F.lit('the line has no "data", the row')),
            F.when((type_ == "update") & old.isNull(), F.lit('the update has no "old", the fields that changed')),
        )
        return Opened(changes, reason)


SOURCE = MaxwellJson
