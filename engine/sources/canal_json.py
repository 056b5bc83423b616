"""Canal JSON: what Canal captures of MySQL, one statement per line with all rows that it changed.

Input: JSON Lines of `{"type": "UPDATE", "data": [row, ...], "old": [changed fields, ...]}`; Canal writes values
as texts, so types are inferred as in CSV. Output, row by row, by `type`: INSERT +I, UPDATE -U and +U, DELETE
-D. `old` holds only the fields that changed; the rest of the row before is that of `data`. Lines of other
types that Canal knows (CREATE, ALTER, ...) change no row and are skipped; a line that cannot be read is rejected.
Source: Flink CanalJsonDeserializationSchema. Flink skips CREATE only; and in an update of several rows it looks
for a field in the `old` of all of them, so that one which changed elsewhere becomes null in the row before.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from engine.changelog import RowKind
from engine.reading.envelopes import EnvelopeFile, Opened, change, row_before, unknown
from engine.reading.inference import infer_text

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

_CHANGES: Final = ("INSERT", "UPDATE", "DELETE")
_NO_CHANGE: Final = (
    "CREATE", "ALTER", "ERASE", "QUERY", "TRUNCATE", "RENAME", "CINDEX", "DINDEX", "GTID", "XACOMMIT", "XAROLLBACK",
    "MHEARTBEAT",
)  # fmt: skip


class CanalJson(EnvelopeFile):
    """Files of Canal's changes."""

    operator: ClassVar[str] = "canal_json"
    title: ClassVar[str] = "Canal JSON"
    summary: ClassVar[str] = "MySQL changes as Canal writes them: type, data and old in each line."
    format: ClassVar[str] = "canal-json"

    @staticmethod
    def rows_of(envelope: dict[str, Any]) -> Sequence[Any]:
        """All rows, and the fields that changed."""
        parts = (envelope.get("data"), envelope.get("old"))
        return [row for part in parts if isinstance(part, list) for row in part]

    @staticmethod
    def infer(values: Iterable[Any]) -> str:
        """The type of texts."""
        return infer_text(each if isinstance(each, str | None) else json.dumps(each) for each in values)

    def layout(self, row: str) -> str:
        """Rows, and for each what it was."""
        return f"data: ARRAY<{row}>, old: ARRAY<MAP<STRING, STRING>>, type: STRING"

    def opened(self, envelope: SparkColumn, names: Sequence[str]) -> Opened:
        """A record per row, or two for an update."""
        from pyspark.sql import functions as F

        data, old, type_ = (envelope.getField(name) for name in ("data", "old", "type"))

        def update(after: SparkColumn, at: SparkColumn) -> SparkColumn:
            before = row_before(after, F.get(old, at), names)
            return F.array(change(RowKind.UPDATE_BEFORE, before), change(RowKind.UPDATE_AFTER, after))

        changes = (
            F.when(type_ == "INSERT", F.transform(data, lambda row: change(RowKind.INSERT, row)))
            .when(type_ == "UPDATE", F.flatten(F.transform(data, update)))
            .when(type_ == "DELETE", F.transform(data, lambda row: change(RowKind.DELETE, row)))
        )
        lacks = old.isNull() | (F.size(old) != F.size(data)) | F.exists(old, lambda fields: fields.isNull())
        reason = F.coalesce(
            F.when(~F.coalesce(type_.isin(*_NO_CHANGE), F.lit(False)), unknown("type", type_, _CHANGES)),
            F.when(
                type_.isin(*_CHANGES) & (data.isNull() | F.exists(data, lambda row: row.isNull())),
                F.lit('"data" is no list of rows'),
            ),
            F.when((type_ == "UPDATE") & lacks, F.lit('the update has no "old" for each row of "data"')),
        )
        return Opened(changes, reason)


SOURCE = CanalJson
