"""Other state TTLs, tried on the records of a run: what they hold, what they change, and the smallest that suffices."""

from __future__ import annotations

from collections.abc import Sequence
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


GIVEN = [list(each) for each in zip(WORDS, TIMES, strict=True)]
"""Words at times in ms: the largest gaps are 70 of `a` and 90 of `b`."""


def counted(given: Sequence[Sequence[str | int]] = GIVEN) -> Pipeline:
    return pipeline_of(
        "words -> counts -> out",
        words=rows("word string, at bigint", rows=given, event_time="at"),
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


L, R = [["a", 0], ["b", 10]], [["a", 13], ["b", 15], ["b", 60]]
GAPS = (0, 10, 10, 13, 15, 60, 60)
"""The clock: the left rows, the end of their source, the right rows, and their end."""


@pytest.mark.parametrize(
    ("ttl_ms", "entries", "expired", "changed", "first"),
    [
        # a 0-5, b 10-15: all three right rows come too late, the second one in the very ms.
        (5, 2, 4, 3, 4),
        # b 10-16 meets the row of 15, which does not refresh it.
        (6, 3, 4, 2, 4),
        (14, 3, 4, 1, 6),
        # b 10-61, and only a has gone by then.
        (51, 4, 1, 0, None),
    ],
)
def test_rows_of_a_join_are_missed_as_reckoned_by_hand(
    ttl_ms: int, entries: int, expired: int, changed: int, first: int | None, spark: SparkSession, tmp_path: Path
) -> None:
    joined = pipeline_of(
        "l -> both:left\nr -> both:right\nboth -> out",
        l=rows("k string, at bigint", rows=L, event_time="at"),
        r=rows("k string, at bigint", rows=R, event_time="at"),
        both=("join", {"left_keys": ["k"], "right_keys": ["k"]}),
        out=("sink", {"mode": "append"}),
    )
    trials = TtlTrials(joined, spark, tmp_path, tmp_path / "work", lambda seq: GAPS[min(seq, 7) - 1], 7)
    assert (trials.free().entries, trials.span_ms) == (5, 60)
    tried = trials.tried(ttl_ms)
    assert (tried.entries, tried.expired, tried.events) == (entries, expired, 3)
    assert (tried.changed, tried.first, tried.suffices) == (changed, first, not changed)


def test_the_smallest_one_is_that_reckoned_by_hand(spark: SparkSession, tmp_path: Path) -> None:
    # 1,000 events, one a ms. `b` comes back after 25 ms and `c` after 600 ms: up to 25 both begin again, which are two
    # events in 1,000; up to 600 one does, and 0.1 % may differ.
    words = ["a"] * 1_000
    words[100] = words[125] = "b"
    words[200] = words[800] = "c"
    given = [[word, at] for at, word in enumerate(words)]
    trials = TtlTrials(counted(given), spark, tmp_path, tmp_path / "work", lambda seq: min(seq, 1_000) - 1, 1_000)
    tried = [trials.free()]
    while (ttl_ms := next_to_try(tried, trials.span_ms)) is not None:
        tried.append(trials.tried(ttl_ms))
    changed = {each.ttl_ms: each.changed for each in tried if each.ttl_ms}
    assert changed == {ttl_ms: (ttl_ms <= 600) + (ttl_ms <= 25) for ttl_ms in changed}
    assert {20, 50} <= set(changed)
    best = smallest(tried)
    assert best is not None
    assert (best.ttl_ms, best.changed, best.first, best.events) == (50, 1, 801, 1_000)


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
