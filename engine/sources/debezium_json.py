"""Debezium JSON: what Debezium captures of a database, one change per line.

Input: JSON Lines of `{"before": row, "after": row, "op": "c"}`, with or without the wrapper `{"schema": ...,
"payload": ...}`. Output, by `op`: c and r (of a snapshot) +I; u -U with `before` and +U with `after`; d -D
with `before`. A line that cannot be read is rejected: an update or delete without `before` among them, which
PostgreSQL sends unless the table's REPLICA IDENTITY is FULL.
Source: Flink DebeziumJsonDeserializationSchema.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from engine.changelog import RowKind
from engine.reading.envelopes import EnvelopeFile, Opened, change, unknown
from engine.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

_ADVICE: Final = "in PostgreSQL set REPLICA IDENTITY FULL for the table, so that Debezium sees the old row"


class DebeziumJson(EnvelopeFile):
    """Files of Debezium's changes."""

    operator: ClassVar[str] = "debezium_json"
    title: ClassVar[str] = "Debezium JSON"
    summary: ClassVar[str] = "Database changes as Debezium writes them: before, after and op in each line."
    format: ClassVar[str] = "debezium-json"

    @staticmethod
    def rows_of(envelope: dict[str, Any]) -> Sequence[Any]:
        """Both rows, before and after."""
        payload = envelope.get("payload")
        body = payload if isinstance(payload, dict) else envelope
        return body.get("before"), body.get("after")

    def layout(self, row: str) -> str:
        """The change, plain or as the payload."""
        return f"before: {row}, after: {row}, op: STRING, payload: STRUCT<before: {row}, after: {row}, op: STRING>"

    def opened(self, envelope: SparkColumn, names: Sequence[str]) -> Opened:
        """One record, or two for an update."""
        from pyspark.sql import functions as F

        payload = envelope.getField("payload")
        before, after, op = (
            F.when(payload.isNotNull(), payload.getField(name)).otherwise(envelope.getField(name))
            for name in ("before", "after", "op")
        )
        update = F.array(change(RowKind.UPDATE_BEFORE, before), change(RowKind.UPDATE_AFTER, after))
        changes = (
            F.when(op.isin("c", "r"), F.array(change(RowKind.INSERT, after)))
            .when(op == "u", update)
            .when(op == "d", F.array(change(RowKind.DELETE, before)))
        )
        reason = F.coalesce(
            unknown("op", op, ("c", "r", "u", "d")),
            F.when((op == "u") & before.isNull(), F.lit(f'the update has no "before"; {_ADVICE}')),
            F.when((op == "d") & before.isNull(), F.lit(f'the delete has no "before"; {_ADVICE}')),
            F.when((op != "d") & after.isNull(), F.lit('the line has no "after", the row as it is now')),
        )
        return Opened(changes, reason)

    def flink_sql(self, node: str, schema: Schema) -> str:
        """The filesystem connector; Flink has to be told of the wrapper, which is seen line by line here."""
        wrapped = f"-- Where lines are wrapped in schema and payload: '{self.format}.schema-include' = 'true'.\n"
        return wrapped + super().flink_sql(node, schema)


SOURCE = DebeziumJson
