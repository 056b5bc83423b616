"""Operators in a time zone other than UTC: their expressions with what the zone means (`engine.expressions.zoned`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from engine.contract.parameters import Marks, Parameters
from engine.errors import PlanRejected
from engine.expressions.flink_sql import FlinkSql, as_typed
from engine.expressions.zoned import in_zone, is_typed, may_depend
from engine.joins.sides import seen
from engine.model.schema import Schema
from engine.model.zones import Zone

Model = TypeVar("Model", bound=Parameters)


def zoned(node: str, operator: Model, ports: Sequence[str], inputs: Sequence[Schema], zone: Zone) -> Model:
    """The operator in a zone. inputs: the columns of each port; of a source, those that it reads.

    Raises PlanRejected for a condition over several rows that depends on the zone.
    """
    by_port = dict(zip(ports, inputs, strict=False))
    if not inputs:
        return operator
    is_pair = len(by_port) == 2
    whole = seen(inputs)

    def in_its_zone(text: str, field: str, marks: Marks) -> str:
        schema = by_port.get(marks.get("port", ""), whole)
        if not is_typed(text, schema):
            has_instants = any(column.type.is_instant for column in schema)
            written = text if not (has_instants and may_depend(text)) else None
        else:
            written = in_zone(text, schema, zone)
            written = written if schema is not whole or not is_pair or written == text else None
        if written is None:
            message = (
                f"{field}: {as_typed(text)} depends on the time zone {zone.name}, which a condition over several rows "
                "may not. Compute it in a projection before."
            )
            raise PlanRejected(message, node, field)
        return text.bound(written) if isinstance(text, FlinkSql) else written

    return operator.with_expressions(in_its_zone)
