"""The events of a source in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.contract.scan import Numbered

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Events:
    """Events of a source in order: KIND (null: a watermark event), WATERMARK (null for all other events), the columns.

    A recording also has NUMBER. is_whole: whether these are all events of the source. recorded: of a recording, when
    the source ended and was idle.
    """

    table: pa.Table
    is_whole: bool = True
    recorded: Numbered | None = None

    def __len__(self) -> int:
        return len(self.table)
