"""What a batch check found, operator by operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Difference:
    """A row that is there so many times in the batch answer, and so many times in the stream's table."""

    row: tuple[Any, ...]
    in_batch: int
    in_stream: int


@dataclass(frozen=True)
class NodeCheck:
    """One operator: how many rows are the same in both tables, how many are not, and the first of those."""

    node: str
    columns: tuple[str, ...]
    is_sink: bool
    same: int
    missing: int
    extra: int
    differences: tuple[Difference, ...] = ()

    @property
    def is_equal(self) -> bool:
        """True where the changelog comes to the batch answer."""
        return not self.missing and not self.extra

    @property
    def sentence(self) -> str:
        """What was found, for people."""
        rows = f"{self.same:,} row{'' if self.same == 1 else 's'}"
        if self.is_equal:
            return f"{self.node} equals Spark's batch answer: {rows} compared."
        differences = [
            f"{count:,} {what}" for count, what in ((self.missing, "missing"), (self.extra, "too many")) if count
        ]
        return f"{self.node} differs from Spark's batch answer: {' and '.join(differences)}, {rows} equal."


@dataclass(frozen=True)
class Checked:
    """The whole run, its operators in topological order; sources are what they are. late: rows that were left out."""

    nodes: tuple[NodeCheck, ...]
    late: int = 0

    @property
    def is_equal(self) -> bool:
        """True where every operator agrees."""
        return all(node.is_equal for node in self.nodes)

    @property
    def sinks(self) -> tuple[NodeCheck, ...]:
        """The ends of the pipeline."""
        return tuple(node for node in self.nodes if node.is_sink)
