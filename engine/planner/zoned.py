"""Operators in a time zone other than UTC: their expressions with what the zone means (`engine.expressions.zoned`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from engine.contract.parameters import Parameters, marks_of
from engine.errors import PlanRejected
from engine.expressions.zoned import in_zone, is_typed, may_depend
from engine.joins.sides import JoinKind, joined
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
    whole = Schema(joined(inputs[0], inputs[1], JoinKind.INNER)) if is_pair else inputs[0]

    def of_text(field: str, text: str, schema: Schema) -> str:
        if not is_typed(text, schema):
            has_instants = any(column.type.is_instant for column in schema)
            written = text if not (has_instants and may_depend(text)) else None
        else:
            written = in_zone(text, schema, zone)
            written = written if schema is not whole or not is_pair or written == text else None
        if written is None:
            message = (
                f"{field}: {text} depends on the time zone {zone.name}, which a condition over several rows may not. "
                "Compute it in a projection before."
            )
            raise PlanRejected(message, node, field)
        return written

    def of_model(model: Any, path: str) -> Any:
        made: dict[str, Any] = {}
        for name, field in type(model).model_fields.items():
            value, marks = getattr(model, name), marks_of(field)
            if isinstance(value, str) and marks.get("expression"):
                made[name] = of_text(f"{path}{name}", value, by_port.get(marks.get("port", ""), whole))
            elif isinstance(value, Parameters):
                made[name] = of_model(value, f"{path}{name}.")
            elif isinstance(value, tuple) and any(isinstance(each, Parameters) for each in value):
                made[name] = tuple(of_model(each, f"{path}{name}.{at}.") for at, each in enumerate(value))
        return model.model_copy(update=made)

    made: Model = of_model(operator, "")
    return made
