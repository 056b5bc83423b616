"""The parameter by which operators partition the rows of their input."""

from __future__ import annotations

from typing import Annotated

from engine.contract.parameters import parameter

PartitionBy = Annotated[tuple[str, ...], parameter("Partition by", default=(), columns=True)]
"""Columns of the input. The description of the operator's field explains the use of a partition."""
