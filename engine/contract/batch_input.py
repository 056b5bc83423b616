"""What a batch step is given of an input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class BatchInput:
    """An input of a batch step, without what came too late for the operator.

    table: the rows that are there at the end, with SEQ and STEP, the position that put each there.
    changelog: all records, with KIND as well. watermarks: the operator's watermark before each event, as
    SEQ and WATERMARK_MS. late: what a window has to leave out by itself, as SEQ, STEP and the
    window START_MS, END_MS that it missed; None where nothing was late.
    """

    table: DataFrame
    changelog: DataFrame
    watermarks: DataFrame
    late: DataFrame | None = None
