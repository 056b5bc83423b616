"""A run beside Flink: its records go through both, and both changelogs and plans are compared, sink by sink."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from engine.contract.explanation import to_text
from engine.contract.frames import SEQ
from engine.expressions.analyzer import TypeRules
from engine.flink.comparison import Compared, Outcome, compared, leaves_order_open
from engine.flink.known import known
from engine.flink.question import NotAskable, Question, question
from engine.flink.values import Records, inserted, records_of
from engine.local import LocalRun, Spark
from engine.local.sources import read
from engine.model.durations import moment
from engine.model.pipeline import Pipeline
from engine.model.types import Timestamp
from engine.planner import Plan, plan
from engine.recordings import on_recordings
from engine.runtime.explain import explanation

SLOWLY: Final = 4
"""Records per second of the second try, in case one overtook another in the first."""
Ask = Callable[[Question], dict[str, Any]]
"""Answers a question, as `engine.flink.inside` does its job. Raises NotAskable."""


@dataclass(frozen=True)
class Asked:
    """What Flink said about a sink. event: the source event at which both part. known: the line of FLINK.md.

    reason: why Flink was not asked, or refused. plans: ours and Flink's, as texts. by: which Flink, if another than the
    installed one. moments: the columns with times, whose values are in epoch ms.
    """

    sink: str
    columns: tuple[str, ...] = ()
    compared: Compared | None = None
    ours: tuple[tuple[Any, ...], ...] = ()
    theirs: tuple[tuple[Any, ...], ...] = ()
    event: int | None = None
    known: str = ""
    reason: str = ""
    plans: tuple[str, str] = ("", "")
    by: str = ""
    moments: frozenset[str] = frozenset()

    @property
    def is_equal(self) -> bool:
        """Whether Flink said the same, as far as it says anything."""
        return self.compared is not None and self.compared.outcome in (Outcome.EQUAL, Outcome.OTHER_ORDER)

    def values(self, record: Sequence[Any]) -> Iterator[Any]:
        """The values of a record, times as times."""
        for name, value in zip(self.columns, record[1:], strict=True):
            yield moment(value) if name in self.moments and isinstance(value, int) else value

    @property
    def sentence(self) -> str:
        """In words."""
        if self.compared is None:
            return f"{self.sink}: Flink was not asked: {self.reason}"
        if self.compared.outcome is Outcome.REFUSED:
            return f"{self.sink}: Flink refuses it: {self.reason}"
        numbers = f"{len(self.theirs)} record{'' if len(self.theirs) == 1 else 's'} of Flink, {len(self.ours)} of ours"
        at = "" if self.event is None else f", first at event {self.event}"
        return f"{self.sink}: {self.compared.outcome.value} ({numbers}{at})."


class Asking:
    """The questions about a run. recordings: what each source read; None: its sources are read again.

    folder: the base of paths. Raises StudioError.
    """

    def __init__(self, pipeline: Pipeline, recordings: Mapping[str, Path] | None, folder: Path, spark: Spark) -> None:
        self._pipeline, self._folder = pipeline, folder
        given = pipeline if recordings is None else on_recordings(pipeline, recordings, folder)
        self.plan: Plan = plan(given, TypeRules(), folder)
        self._run = LocalRun(self.plan, read(self.plan, spark, folder), spark)

    @property
    def sinks(self) -> list[str]:
        """What Flink is asked about."""
        return [node.id for node in self.plan.sinks]

    def question(self, sink: str) -> Question | str:
        """The question about a sink, or why there is none. Raises StudioError."""
        try:
            return question(self._pipeline, self.plan, self._run, sink, self._folder)
        except NotAskable as error:
            return error.sentence if error.node == sink else str(error)

    def asked(self, sink: str, ask: Ask) -> Asked:
        """Ask about a sink. Raises StudioError, also if Flink has ended."""
        asked = self.question(sink)
        node = self.plan.node(sink)
        if isinstance(asked, str):
            return Asked(sink, node.schema.names, reason=asked)
        table = self._run.records(sink)
        ours = records_of(table, node.schema.names)
        seqs: list[int] = table.column(SEQ).to_pylist()
        try:
            answer = self._answer(asked, ask)
        except NotAskable as error:
            return Asked(sink, node.schema.names, reason=error.sentence)
        comparison = self._compared(sink, ours, answer)
        if comparison.outcome is Outcome.DIFFERENT and asked.job["rows_per_second"]:
            answer = self._answer(asked.slowly(SLOWLY), ask)
            comparison = self._compared(sink, ours, answer)
        if comparison.outcome is Outcome.REFUSED:
            return Asked(sink, node.schema.names, comparison, tuple(ours), reason=_cause(answer["error"]))
        theirs = answer["changelog"]
        differs = comparison.outcome in (Outcome.DIFFERENT, Outcome.SAME_TABLE)
        event = None
        if comparison.at is not None and seqs:
            event = seqs[min(comparison.at, len(seqs) - 1)]
        mine = to_text(explanation(self.plan))
        return Asked(
            sink,
            node.schema.names,
            comparison,
            tuple(ours),
            tuple(theirs),
            event,
            known(self.plan, {node_plan.id for node_plan in self.plan.nodes}, ours, theirs) if differs else "",
            plans=(mine, answer.get("plan", "")),
            by=answer.get("flink", ""),
            moments=frozenset(column.name for column in node.schema if isinstance(column.type, Timestamp)),
        )

    def _compared(self, sink: str, ours: Records, answer: dict[str, Any]) -> Compared:
        if "error" in answer:
            return Compared(Outcome.REFUSED)
        node = self.plan.node(sink)
        key = None if node.row_key is None else [node.schema.index(name) for name in node.row_key]
        return compared(ours, answer["changelog"], is_open=leaves_order_open(self.plan), key=key)

    def _answer(self, asked: Question, ask: Ask) -> dict[str, Any]:
        """What Flink says, with the numbers of its changelog as the sink has them."""
        answer = ask(asked)
        if "error" in answer:
            return answer
        types = [column.type for column in self.plan.node(asked.sink).schema]
        changelog = [
            (kind, *(inserted(value, type_) for value, type_ in zip(row, types, strict=True)))
            for kind, *row in answer["changelog"]
        ]
        return {**answer, "changelog": changelog}


def _cause(error: str) -> str:
    """The last cause in a Java error, in one line."""
    causes = [line for line in error.splitlines() if "Exception: " in line]
    return (causes or [error.strip() or "no reason given"])[-1].partition("Exception: ")[2].strip()[:400] or error[:400]
