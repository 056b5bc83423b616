"""The input records that an output record was made of, as each operator declares them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Origin:
    """The records of an input that an output record was made of: those in the operator's table that match it.

    columns: pairs of an input's and an output's column that are equal. window: the output's columns with the
    bounds that the input's event time lies between, start included. is_partial: the operator also compares an
    expression, so some of them may belong to another key.
    """

    columns: tuple[tuple[str, str], ...]
    window: tuple[str, str] | None = None
    is_partial: bool = False
