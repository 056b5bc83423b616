"""The parameter by which operators partition the rows of their input."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

PartitionBy = Annotated[tuple[str, ...], Field(title="Partition by", json_schema_extra={"columns": True})]
"""Columns of the input. The description of the operator's field explains the use of a partition."""
