"""Random pipelines on Flink and here for so many seconds, in one session of Flink, with counts by operator.

    CHANGELOG_STUDIO_FLINK=<python with apache-flink>  python -m tests.differential --seconds 600 --seed 7

Pipelines that differ are shrunk and printed. --record FILE writes up to --most queries whose changelogs are equal
record for record, with Flink's answers, for `test_recorded.py`, which needs no Flink.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from itertools import cycle
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from engine.errors import StudioError
from engine.expressions.analyzer import TypeRules
from engine.flink.comparison import Outcome
from engine.flink.environment import ENVIRONMENT
from engine.flink.process import FlinkProcess
from engine.spark.session import get_spark
from tests.differential.fuzzing import Fuzzing, Ours
from tests.differential.random_jobs import random_job
from tests.differential.random_joins import random_join
from tests.differential.random_queries import QueryJob, random_match, random_query
from tests.differential.random_windows import random_windows
from tests.differential.recording import Recording

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FLINK = os.environ.get(ENVIRONMENT, "")
MAKERS = {
    "query": random_query,
    "match": random_match,
    "job": random_job,
    "join": random_join,
    "windows": random_windows,
}
_AT_ONCE = 12


def main(arguments: list[str]) -> int:
    """Run the command. Returns 1 if a pipeline differs, 2 without Flink."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--makers", nargs="+", choices=MAKERS, default=list(MAKERS))
    parser.add_argument("--record", type=Path)
    parser.add_argument("--most", type=int, default=100)
    given = parser.parse_args(arguments)
    if not FLINK:
        sys.stderr.write("CHANGELOG_STUDIO_FLINK names no interpreter with apache-flink.\n")
        return 2
    analyzer = TypeRules()
    fuzzing = Fuzzing(FlinkProcess(FLINK), analyzer, _spark)
    counts, recording = Counts(), Recording(given.most)
    random, until = Random(given.seed), time.monotonic() + given.seconds
    makers = cycle(MAKERS[name] for name in given.makers)
    while time.monotonic() < until:
        batch = []
        while len(batch) < _AT_ONCE:
            job = next(makers)(random)
            try:
                batch.append(fuzzing.ours(job))
            except StudioError as error:
                counts.refused_here(error)
        for ours, (outcome, told) in zip(batch, fuzzing.judged(batch), strict=True):
            counts.take(ours, outcome)
            if outcome is Outcome.DIFFERENT:
                small, text = fuzzing.shrunk(ours, told)
                _say(f"--- different:\n{small.job}\n{text}\n")
            elif outcome is Outcome.REFUSED:
                _say(f"--- refused by Flink: {told}\n{ours.job}\n")
            elif outcome is Outcome.EQUAL and isinstance(ours.job, QueryJob):
                recording.take(ours)
        if given.record:
            given.record.write_text(recording.text, encoding="utf-8")
        _say(f"... {counts.outcomes.total()} pipelines, {counts.outcomes[Outcome.DIFFERENT]} different")
    fuzzing.flink.close()
    _say(str(counts))
    return 1 if counts.outcomes[Outcome.DIFFERENT] else 0


class Counts:
    """The number of pipelines by outcome, by operator and by step of a query."""

    def __init__(self) -> None:
        self.outcomes: Counter[Outcome] = Counter()
        self.operators: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()

    def take(self, ours: Ours, outcome: Outcome) -> None:
        """Count a pipeline."""
        self.outcomes[outcome] += 1
        if outcome is Outcome.REFUSED:
            return
        self.operators.update({node.operator.operator for node in ours.planned.nodes})
        if isinstance(ours.job, QueryJob):
            self.operators.update({f"SQL: {step}" for step in ours.job.steps})

    def refused_here(self, error: StudioError) -> None:
        """Count a job that our engine rejects."""
        self.refusals[str(error).partition(": ")[2][:160] or str(error)[:160]] += 1

    def __str__(self) -> str:
        lines = [f"{count:6} {outcome.value}" for outcome, count in self.outcomes.most_common()]
        lines += [f"{count:6} {name}" for name, count in self.operators.most_common()]
        lines += [f"{count:6} refused here: {text}" for text, count in self.refusals.most_common()]
        return "\n".join(lines)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _spark() -> SparkSession:
    return get_spark("local[2]")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
