"""An operator with its expressions in Flink SQL, so that its own `flink_sql` is Flink SQL throughout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from engine.contract.operator import Analyzer, Operator
from engine.contract.parameters import marks_of
from engine.contract.source import Source
from engine.joins.sides import JoinKind, joined
from engine.model.schema import Schema
from engine.script.flink_expressions import Translation

Model = TypeVar("Model", bound=BaseModel)


def translated(
    operator: Operator | Source, schemas: Sequence[Schema], analyzer: Analyzer, node: str
) -> tuple[Operator | Source, tuple[str, ...]]:
    """The operator for Flink, and the parts of its expressions without a known equivalent.

    schemas: of its inputs; for a source, the schema that it reads.
    """
    pair = len(schemas) == 2 and "condition" in type(operator).model_fields
    seen = Schema(joined(schemas[0], schemas[1], JoinKind.INNER)) if pair else schemas[0] if schemas else Schema(())
    as_row = operator.without_variables if isinstance(operator, Operator) else str
    translation = Translation(lambda text: analyzer.type_of(as_row(text), seen, node, ""))

    def flink(text: str) -> str:
        return text if text in seen else translation.flink(text)

    return _translated(operator, flink), tuple(dict.fromkeys(translation.unknown))


def _translated(model: Model, flink: Callable[[str], str]) -> Model:
    changed: dict[str, Any] = {}
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if isinstance(value, str) and marks_of(field).get("expression"):
            changed[name] = flink(value)
        elif isinstance(value, BaseModel):
            changed[name] = _translated(value, flink)
        elif isinstance(value, tuple):
            changed[name] = tuple(_translated(one, flink) if isinstance(one, BaseModel) else one for one in value)
    return model.model_copy(update=changed)
