"""Where a live run writes the result of a sink as it goes: an epoch at a time, each of them exactly once.

    an epoch is computed      its records are in the run's files, which its checkpoint names
    the store commits it      from now on the epoch counts, and its records wait in these files
    EpochWriter.write         all of the epoch and its number reach the target in one step
    a run goes on             EpochWriter.last says whether the last epoch is there; if not, it is written first

The store decides, so a target never has an epoch that the store does not, and lacks its last one at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from engine.model.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa


class SinkMode(Enum):
    """The changelog modes that a sink accepts."""

    CHANGELOG = "changelog"
    UPSERT = "upsert"
    APPEND = "append"


class Unreachable(Exception):
    """The target does not answer; it may come back. The message is a sentence."""


@dataclass(frozen=True)
class Writing:
    """What a sink writes. run: the unique name of the run. key: the columns that identify a row, of an upsert sink.

    folder: the base of relative paths.
    """

    node: str
    run: str
    schema: Schema
    mode: SinkMode
    key: tuple[str, ...]
    folder: Path

    @property
    def name(self) -> str:
        """The name by which a target knows what was written: of the run and its sink."""
        return f"{self.run}.{self.node}"


class EpochWriter(Protocol):
    """Writes the epochs of one sink of one run. Raises TargetError for what a user has to change, and Unreachable."""

    @property
    def place(self) -> str:
        """Where it writes, for users."""

    def last(self) -> int | None:
        """The last epoch of this sink that the target has; None if there is none. Called first."""

    def write(self, epoch: int, records: pa.Table) -> None:
        """Write an epoch after `last`: completely, with its number, or not at all.

        records: SEQ, STEP, KIND and the columns, in order. After an error it may be called again with the same.
        """

    def close(self) -> None:
        """Let go of connections."""
