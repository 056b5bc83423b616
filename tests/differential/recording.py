"""Records queries with Flink's changelogs, so that later tests need neither Flink nor Spark."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.errors import StudioError
from engine.expressions.analyzer import TypeRules
from engine.flink.values import Records, records_of
from engine.local import LocalRun
from engine.local.sources import read
from engine.planner import plan
from tests.conformance.case import Case
from tests.differential.fuzzing import Ours
from tests.differential.random_queries import QueryJob

_ENOUGH = 12  # queries of a step or operator, after which one more adds nothing


class Recording:
    """The most informative queries of a run, as lines: those with a step or operator that is still rare in it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._seen: Counter[str] = Counter()
        self._lines: list[str] = []

    @property
    def text(self) -> str:
        """All lines."""
        return "".join(self._lines)

    def take(self, ours: Ours) -> None:
        """Keep a job whose changelog is Flink's, if it adds to the others and runs without Spark."""
        job = ours.job
        assert isinstance(job, QueryJob)
        things = {*job.steps, *(node.strategy.name for node in ours.planned.nodes)}
        is_common = min(self._seen[thing] for thing in things) >= _ENOUGH
        if len(self._lines) == self._most or is_common or not ours.records:
            return
        if replayed(job.job) != ours.records:
            return
        self._seen.update(things)
        self._lines.append(json.dumps({"job": job.job, "flink": ours.records}) + "\n")


def replayed(job: Mapping[str, Any]) -> Records | None:
    """Our changelog of a recorded query; None if it needs Spark or is rejected."""

    def spark() -> Any:
        raise NotImplementedError

    analyzer = TypeRules()
    try:
        pipeline = Case("query", job, {}).pipeline(analyzer)
        planned = plan(pipeline, analyzer, Path())
        run = LocalRun(planned, read(planned, spark, Path()), spark)
        last = planned.node(pipeline.nodes[-1].id)
        return records_of(run.records(last.id), last.schema.names)
    except (NotImplementedError, StudioError):
        return None
