"""An input of a batch step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class BatchInput:
    """An input of a batch step, without the records that were too late for the operator.

    table: the rows at the end of the input, with SEQ and STEP, the position of the record that inserted each row.
    changelog: all records, also with KIND. watermarks: the operator's watermark before each event, as
    SEQ and WATERMARK_MS. late: records that the step has to leave out of a window itself, as SEQ, STEP and the
    missed window START_MS, END_MS; None if no record was late.
    """

    table: DataFrame
    changelog: DataFrame
    watermarks: DataFrame
    late: DataFrame | None = None
