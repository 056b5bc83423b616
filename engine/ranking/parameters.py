"""The parameters that rankings share: the columns of their order."""

from __future__ import annotations

from pydantic import Field

from engine.contract.operator import Parameters
from engine.model.schema import quote
from engine.ranking.sort_keys import Nulls


class OrderBy(Parameters):
    """One column of the order."""

    column: str = Field(
        title="Column", description="The column to sort by.", json_schema_extra={"column": True, "port": "in"}
    )
    descending: bool = Field(False, title="Descending", description="The largest value ranks first.")
    nulls: Nulls = Field(
        Nulls.LOWEST,
        title="NULL is",
        description="Lowest, as in Flink: first when ascending, last when descending. Or always first, or last.",
    )

    @property
    def sql(self) -> str:
        """The column in ORDER BY."""
        nulls = "" if self.nulls is Nulls.LOWEST else f" NULLS {self.nulls.name}"
        return f"{quote(self.column)} {'DESC' if self.descending else 'ASC'}{nulls}"
