"""Debezium JSON: the changes that Debezium captures from a database, one change per line.

Input: JSON Lines of `{"before": row, "after": row, "op": "c"}`, with or without the wrapper `{"schema": ...,
"payload": ...}`. Output, by `op`: c and r (of a snapshot) +I; u -U with `before` and +U with `after`; d -D
with `before`. An unreadable line is rejected. So is an update or delete without `before`, which PostgreSQL sends
unless the table's REPLICA IDENTITY is FULL.
Source: Flink DebeziumJsonDeserializationSchema.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from engine.model.schema import Schema
from engine.reading.documents.envelopes import Change, EnvelopeFile, unknown
from engine.reading.documents.json_scan import NoChange

_ADVICE: Final = "in PostgreSQL set REPLICA IDENTITY FULL for the table, so that Debezium sees the old row"


class DebeziumJson(EnvelopeFile):
    """Files of Debezium's changes."""

    operator: ClassVar[str] = "debezium_json"
    title: ClassVar[str] = "Debezium JSON"
    summary: ClassVar[str] = "Database changes as Debezium writes them: before, after and op in each line."
    table_format = "debezium-json"

    @staticmethod
    def rows_of(envelope: dict[str, Any]) -> Sequence[Any]:
        """The old and the new row."""
        payload = envelope.get("payload")
        body = payload if isinstance(payload, dict) else envelope
        return body.get("before"), body.get("after")

    @staticmethod
    def changes_of(envelope: dict[str, Any]) -> Sequence[Change]:
        """One record, or two for an update."""
        payload = envelope.get("payload")
        body = payload if isinstance(payload, dict) else envelope
        before, after, op = body.get("before"), body.get("after"), body.get("op")
        if op not in ("c", "r", "u", "d"):
            raise NoChange(unknown("op", op, ("c", "r", "u", "d")))
        changes: list[Change] = []
        if op in ("u", "d"):
            if not isinstance(before, dict):
                message = f'the {"update" if op == "u" else "delete"} has no "before"; {_ADVICE}'
                raise NoChange(message)
            changes.append((UPDATE_BEFORE if op == "u" else DELETE, before))
        if op != "d":
            if not isinstance(after, dict):
                message = 'the line has no "after", the new row'
                raise NoChange(message)
            changes.append((UPDATE_AFTER if op == "u" else INSERT, after))
        return changes

    def flink_sql(self, node: str, schema: Schema) -> str:
        """The filesystem connector, with a comment about the wrapper, for which Flink needs an option."""
        wrapped = f"-- Where lines are wrapped in schema and payload: '{self.table_format}.schema-include' = 'true'.\n"
        return wrapped + super().flink_sql(node, schema)


SOURCE = DebeziumJson
