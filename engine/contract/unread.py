"""A statement of a script that could not be read: a node that never runs, beside those that do.

Its inputs are the tables that it reads. The planner reports it and plans the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, NoReturn

from engine.contract.batch_input import BatchInput
from engine.contract.derived import Derived
from engine.contract.operator import Analyzer, InputPlan, Operator, StepContext, Strategy
from engine.contract.parameters import parameter
from engine.contract.step import Step
from engine.errors import NotRead
from engine.model.changelog import ChangelogMode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NEVER = "a statement that could not be read is never planned"


class Unread(Operator):
    """A statement that could not be read."""

    operator: ClassVar[str] = "unread"
    title: ClassVar[str] = "Unread statement"
    summary: ClassVar[str] = "A statement of a script that could not be read. The rest of the pipeline runs without it."
    group: ClassVar[str] = "scripts"
    many_edges: ClassVar[bool] = True

    sql: str = parameter("Statement", "Its text, after what only it needs. Correct it in the script.", text=True)
    reason: str = parameter("Reason", "Why it could not be read, with its place in the script.")
    line: int = parameter("Line", "The line of the script at which reading failed.", default=0, last=True)

    def problem(self, node: str) -> NotRead:
        """Why it could not be read."""
        return NotRead(node, self.reason, self.line)

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> NoReturn:
        """It has no output. Raises NotRead."""
        raise self.problem(node)

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """It has none."""
        raise AssertionError(_NEVER)

    def step(self, context: StepContext) -> Step:
        """It has none."""
        raise AssertionError(_NEVER)

    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """It has none."""
        raise AssertionError(_NEVER)

    def late_rule(self) -> None:
        """It has none."""
