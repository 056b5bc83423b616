"""An operator with its expressions in Flink SQL, so that its own `flink_sql` is Flink SQL throughout."""

from __future__ import annotations

from collections.abc import Sequence

from engine.contract.operator import Analyzer, Operator
from engine.contract.parameters import Marks
from engine.contract.source import Source
from engine.expressions.flink_sql import FlinkSql
from engine.joins.sides import seen
from engine.model.schema import Schema
from engine.script.flink_expressions import Translation


def translated(
    operator: Operator | Source, schemas: Sequence[Schema], analyzer: Analyzer, node: str
) -> tuple[Operator | Source, tuple[str, ...]]:
    """The operator for Flink, and the parts of its expressions without a known equivalent.

    schemas: of its inputs; for a source, the schema that it reads.
    """
    columns = seen(schemas)
    as_row = operator.without_variables if isinstance(operator, Operator) else str
    translation = Translation(lambda text: analyzer.type_of(as_row(text), columns, node, ""))

    def flink(text: str, path: str, marks: Marks) -> str:
        if isinstance(text, FlinkSql):
            return text.flink
        return text if text in columns else translation.flink(text)

    return operator.with_expressions(flink), tuple(dict.fromkeys(translation.unknown))
