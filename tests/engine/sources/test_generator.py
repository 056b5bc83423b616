"""The generator: the same records every time, with the requested disorder."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from engine.model.schema import TimeUnit
from engine.sources.generator import Generator
from tests.engine.sources.reading import read, types

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path()
START = 1_704_067_200_000
GOLDEN = [(1, "k10", 5, 1704067200000), (2, "k2", 24, 1704067200010), (3, "k3", 52, 1704067200020)]


def rows(spark: SparkSession, **parameters: Any) -> list[tuple[int, str, int, int]]:
    source = Generator.model_validate({"rows": 4000, **parameters})
    return [(int(n), key, int(value), int(ts)) for n, key, value, ts in read(spark, source, HERE)[0]]


def test_the_same_parameters_give_the_same_records_in_any_partitioning(spark: SparkSession) -> None:
    full = {"skew": 1.2, "disorder": 0.3, "duplicates": 0.2, "spike_every": 100, "seed": 7}
    first = rows(spark, **full)
    before = spark.conf.get("spark.sql.leafNodeDefaultParallelism", None)
    try:
        spark.conf.set("spark.sql.leafNodeDefaultParallelism", "13")
        assert rows(spark, **full) == first
    finally:
        if before is None:
            spark.conf.unset("spark.sql.leafNodeDefaultParallelism")
    assert rows(spark, **{**full, "seed": 8}) != first


def test_the_records_of_a_seed_stay_as_they_are(spark: SparkSession) -> None:
    assert rows(spark, rows=3, seed=1) == GOLDEN


def test_times_follow_the_rate(spark: SparkSession) -> None:
    assert [row[3] - START for row in rows(spark, rows=4, rate=4)] == [0, 250, 500, 750]


def test_keys_and_values_stay_in_their_ranges(spark: SparkSession) -> None:
    made = rows(spark, keys=5, values=3)
    assert {row[1] for row in made} == {"k1", "k2", "k3", "k4", "k5"}
    assert {row[2] for row in made} == {0, 1, 2}


@pytest.mark.parametrize("skew", [0.5, 1.0, 2.0])
def test_skew_makes_the_first_keys_frequent(spark: SparkSession, skew: float) -> None:
    counts = Counter(row[1] for row in rows(spark, keys=100, skew=skew))
    assert counts.most_common(1)[0][0] == "k1"
    assert counts["k1"] > 1.1 * counts["k2"]
    assert set(counts) <= {f"k{at}" for at in range(1, 101)}


def test_disorder_puts_a_share_back_by_at_most_so_much(spark: SparkSession) -> None:
    made = rows(spark, disorder=0.25, disorder_ms=500)
    back = [START + (row[0] - 1) * 10 - row[3] for row in made]
    assert max(back) <= 500
    assert min(back) == 0
    assert 0.2 < sum(1 for ms in back if ms) / len(back) < 0.3


def test_duplicates_repeat_the_record_before(spark: SparkSession) -> None:
    made = rows(spark, duplicates=0.25)
    repeats = [at for at in range(1, len(made)) if made[at][0] == made[at - 1][0]]
    assert all(made[at] == made[at - 1] for at in repeats)
    assert 0.2 < len(repeats) / len(made) < 0.3
    assert len(set(made)) == len(made) - len(repeats)


def test_spikes_come_late_in_bursts(spark: SparkSession) -> None:
    made = rows(spark, spike_every=1000, spike_records=5, spike_ms=7000)
    late = [row[0] for row in made if START + (row[0] - 1) * 10 - row[3] == 7000]
    assert late == [end - back for end in (1000, 2000, 3000, 4000) for back in (4, 3, 2, 1, 0)]


def test_the_time_is_the_event_time_and_can_be_a_timestamp() -> None:
    assert types(Generator(), HERE) == "id bigint, key string, value bigint, ts bigint"
    event_time = Generator(time_type="timestamp").derive("n", HERE).schema.event_time
    assert event_time is not None
    assert (event_time.name, event_time.time) == ("ts", TimeUnit.TIMESTAMP)


def test_no_records_are_possible(spark: SparkSession) -> None:
    assert rows(spark, rows=0) == []
