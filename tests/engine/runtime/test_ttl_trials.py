"""Other state TTLs, tried on the records of a run: what they hold, what they change, and the smallest that suffices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.contract.cancel import Cancel
from engine.contract.recorder import EpochOutput, Held
from engine.errors import RunCancelled
from engine.model.pipeline import Pipeline
from engine.ttl_trials import Result, TtlTrial, TtlTrials, most_held, next_to_try, smallest
from tests.engine.planning import pipeline_of, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COUNT = {"function": "COUNT", "name": "n"}
TIMES = (0, 10, 20, 30, 90, 100)
WORDS = ("a", "b", "a", "c", "a", "b")


def counted() -> Pipeline:
    """Words at times in ms: the largest gaps are 70 of `a` and 90 of `b`."""
    return pipeline_of(
        "words -> counts -> out",
        words=rows(
            "word string, at bigint", rows=[list(each) for each in zip(WORDS, TIMES, strict=True)], event_time="at"
        ),
        counts=("aggregate", {"group_by": ["word"], "aggregates": [COUNT]}),
        out=("sink", {"mode": "changelog"}),
    )


@pytest.fixture
def trials(spark: SparkSession, tmp_path: Path) -> TtlTrials:
    return TtlTrials(counted(), spark, tmp_path, tmp_path / "work", lambda seq: TIMES[min(seq, 6) - 1], 6)


def test_a_ttl_is_told_with_what_it_holds_and_changes(trials: TtlTrials) -> None:
    free = trials.free()
    assert (free.ttl_ms, free.entries, free.expired) == (0, 3, 0)
    short = trials.tried(50)
    # At 90, all have expired; `a` begins again, and so does `b` at 100.
    assert (short.entries, short.expired) == (3, 3)
    assert (short.events, short.changed, short.first) == (6, 2, 5)
    assert short.came == (Result("out", "+I", ("word", "n"), ("a", 1)),)
    assert [each.kind for each in short.otherwise] == ["-U", "+U"]
    assert [each.values for each in short.otherwise] == [("a", 2), ("a", 3)]
    longer = trials.tried(80)
    assert (longer.changed, longer.first) == (1, 6)
    # Above the span of the clock nothing is run again.
    assert trials.span_ms == 100
    endless = trials.tried(101)
    assert (endless.changed, endless.first, endless.events, endless.entries) == (0, None, 6, 3)
    assert not list(trials.work.glob("ttl-*"))
    assert next_to_try([free, short, longer, endless], 100) == 100
    assert smallest([free, short, longer, endless]) == endless


def test_a_trial_is_cancelled(trials: TtlTrials) -> None:
    trials.free()
    trials.cancel = Cancel()
    trials.cancel.set()
    with pytest.raises(RunCancelled):
        trials.tried(50)


def trial(ttl_ms: int, changed: int) -> TtlTrial:
    return TtlTrial(ttl_ms, 1, 1, 1, events=10_000, changed=changed)


def test_the_smallest_sufficient_one_is_found_by_halves() -> None:
    hour = 3_600_000
    tried = [trial(0, 0), trial(hour, 4000)]
    # None suffices: the first round one above the span does.
    assert next_to_try(tried, 30 * hour) == 48 * hour
    steps = []
    tried.append(trial(48 * hour, 0))
    while (ttl_ms := next_to_try(tried, 30 * hour)) is not None:
        steps.append(ttl_ms // hour)
        tried.append(trial(ttl_ms, 10 if ttl_ms >= 6 * hour else 11))
    assert steps == [8, 4, 6]
    best = smallest(tried)
    assert best is not None
    assert best.ttl_ms == 6 * hour, "0.1 % may differ"


def test_entries_of_an_earlier_epoch_go_at_their_time() -> None:
    def epoch(number: int, held: Held) -> EpochOutput:
        return EpochOutput(number, {}, held=(held,))

    first = Held("n", ("rows",), (1, 2), ((3, 1), (3, 1)), ((0, 0), (0, 0)), ((0, 30, 4), (1, 30, 4)), 40, 4)
    second = Held("n", ("rows",), (3, 4), ((2, 0), (2, 0)), ((0, 0), (0, 0)), (), 40, 4)
    assert most_held([epoch(0, first), epoch(1, second)], lambda seq: seq * 10) == (4, 40, 4)
    assert most_held([epoch(0, first), epoch(1, second)], lambda seq: seq) == (6, 60, 0)
