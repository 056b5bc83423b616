"""The result of a batch check, operator by operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.model.durations import duration


@dataclass(frozen=True)
class Difference:
    """A row with different numbers of copies in the batch answer and in the stream's table."""

    row: tuple[Any, ...]
    in_batch: int
    in_stream: int


@dataclass(frozen=True)
class NodeCheck:
    """One operator: the numbers of equal, missing and extra rows, and the first differences.

    let_go: the number of pairs that neither side has, since the watermark had let a row go before its partner came.
    passed_ms: by how much it had passed such a row at most.
    """

    node: str
    columns: tuple[str, ...]
    is_sink: bool
    same: int
    missing: int
    extra: int
    differences: tuple[Difference, ...] = ()
    let_go: int = 0
    passed_ms: int = 0

    @property
    def is_equal(self) -> bool:
        """True if the changelog results in the batch answer."""
        return not self.missing and not self.extra

    @property
    def sentence(self) -> str:
        """The result as a sentence for users."""
        rows = f"{self.same:,} row{'' if self.same == 1 else 's'}"
        if self.is_equal:
            return f"{self.node} equals Spark's batch answer: {rows} compared."
        differences = [
            f"{count:,} {what}" for count, what in ((self.missing, "missing"), (self.extra, "too many")) if count
        ]
        return f"{self.node} differs from Spark's batch answer: {' and '.join(differences)}, {rows} equal."

    @property
    def let_go_sentence(self) -> str:
        """What neither side has, as a sentence for users; "" if there is nothing."""
        if not self.let_go:
            return ""
        pairs, them = ("pair", "was") if self.let_go == 1 else ("pairs", "were")
        return (
            f"{self.let_go:,} {pairs} of {self.node} {them} not made: the watermark had let a row go before its "
            f"partner came, by {duration(self.passed_ms)} at most."
        )


@dataclass(frozen=True)
class Checked:
    """The whole run, its operators in topological order, without sources."""

    nodes: tuple[NodeCheck, ...]

    @property
    def is_equal(self) -> bool:
        """True if every operator agrees."""
        return all(node.is_equal for node in self.nodes)

    @property
    def sinks(self) -> tuple[NodeCheck, ...]:
        """The ends of the pipeline."""
        return tuple(node for node in self.nodes if node.is_sink)
