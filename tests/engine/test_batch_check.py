"""The batch check: equal for every example; for a manipulated changelog it reports the different rows."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.batch_check import check as batch_check
from engine.batch_check.check import check
from engine.contract.recorder import EdgeFile
from engine.errors import TookTooLong
from engine.examples import examples
from engine.model.options import state_ttl_ms
from engine.model.pipeline import Arrival, Pipeline
from engine.runtime.edges.records import EdgeRecords
from tests.engine.batch_answer import checked, complaints, recorded
from tests.engine.planning import pipeline_of, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


EXPIRING = sorted(name for name, pipeline in examples().items() if state_ttl_ms(pipeline.options))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in examples() if name not in EXPIRING])
def test_every_example_comes_to_its_batch_answer(name: str, spark: SparkSession) -> None:
    found = checked(examples()[name], spark)
    assert not complaints(found)
    assert all(node.same for node in found.sinks)


@pytest.mark.parametrize("name", EXPIRING)
def test_what_expiry_has_changed_is_told_as_a_difference(name: str, spark: SparkSession) -> None:
    first, *_ = checked(examples()[name], spark).nodes
    assert not first.is_equal
    assert first.differences


def test_rows_that_were_late_are_left_out_of_the_batch(spark: SparkSession) -> None:
    found = checked(examples()["03-window-lost-records"], spark)
    assert found.is_equal
    assert not complaints(found)


def test_a_changelog_that_lost_a_record_differs_at_its_operator_and_below(spark: SparkSession, tmp_path: Path) -> None:
    with recorded(examples()["01-word-frequency"], spark) as (planned, output):
        broken = tmp_path / "broken"
        [records] = output.edges["count_counts", "out"]
        records.frame(spark).where("__seq < 3").write.parquet(str(broken))
        less = EdgeRecords(records.schema, (EdgeFile(str(broken)),), 0)
        told: list[str] = []
        tampered = replace(output, edges={**output.edges, ("count_counts", "out"): [less]})
        found = check(planned, spark, tampered, told.append)
    assert told == ["count_words", "count_counts", "frequencies"]
    words, counts, sink = found.nodes
    assert words.is_equal
    assert counts.sentence == "count_counts differs from Spark's batch answer: 2 missing and 1 too many, 0 rows equal."
    assert [(each.row, each.in_batch, each.in_stream) for each in counts.differences] == [
        ((1, 1), 1, 0),
        ((1, 2), 0, 1),
        ((2, 1), 1, 0),
    ]
    # The sink's records are still the operator's correct output.
    assert sink.is_equal
    assert replace(found, nodes=(words,)).is_equal


def joined(
    left: list[list[int]], right: list[list[int]], *, delay_ms: int, kind: str = "inner", lower_ms: int = -6000
) -> Pipeline:
    """Rides and payments joined from lower_ms to 0, one record of each in turn; the columns: id, time."""
    sides = {
        name: rows("id bigint, ts bigint", rows=given, event_time="ts", watermark_delay_ms=delay_ms)
        for name, given in (("rides", left), ("payments", right))
    }
    keys = {"left_keys": ["id"], "right_keys": ["id"]}
    pipeline = pipeline_of(
        "rides -> paid:left -> out\npayments -> paid:right",
        **sides,
        paid=("interval_join", {"kind": kind, **keys, "lower_ms": lower_ms, "upper_ms": 0}),
        out=("sink", {"mode": "append"}),
    )
    return pipeline.model_copy(update={"arrival": Arrival(mode="in_turn")})


@pytest.mark.parametrize(
    ("kind", "lower_ms", "delay_ms", "sentence"),
    [
        (
            "inner",
            -6000,
            0,
            "1 pair of paid was not made: the watermark had let a row go before its partner came, by 4900 ms at most.",
        ),
        # The ride was dropped, as it was too late for any payment.
        (
            "inner",
            -1000,
            3000,
            "1 pair of paid was not made: the watermark had let a row go before its partner came, by 1900 ms at most.",
        ),
        (
            "left",
            -6000,
            4899,
            "1 pair of paid was not made: the watermark had let a row go before its partner came, by 1 ms at most.",
        ),
        ("inner", -6000, 4900, ""),
    ],
)
def test_pairs_of_whole_tables_that_no_stream_could_make_are_counted(
    kind: str, lower_ms: int, delay_ms: int, sentence: str, spark: SparkSession
) -> None:
    rides, payments = [[1, 1000], [9, 9000], [2, 4000]], [[2, 4100], [9, 9000], [8, 9000]]
    found = checked(joined(rides, payments, delay_ms=delay_ms, kind=kind, lower_ms=lower_ms), spark)
    assert not complaints(found)
    paid, out = found.nodes
    assert (paid.let_go_sentence, out.let_go_sentence) == (sentence, "")


@pytest.mark.parametrize("seed", [1, 3])
def test_the_pairs_of_the_stream_and_those_that_it_could_not_make_are_all(seed: int, spark: SparkSession) -> None:
    drawn = random.Random(seed)

    def side() -> list[list[int]]:
        """Many records meet a watermark that has just reached the last time of a partner."""
        latest = 100
        given = []
        for _ in range(80):
            latest += drawn.choice((0, 0, 1, 1, 2))
            given.append([drawn.randint(0, 4), latest - drawn.choice((0, 0, 0, 1, 2, 3, 5, 8))])
        return given

    rides, payments = side(), side()
    pairs = sum(a[0] == b[0] and -3 <= a[1] - b[1] <= 0 for a in rides for b in payments)
    found = checked(joined(rides, payments, delay_ms=1, lower_ms=-3), spark)
    assert not complaints(found)
    assert found.nodes[0].same + found.nodes[0].let_go == pairs
    assert found.nodes[0].let_go


def test_a_check_that_never_ends_is_ended_with_the_operator(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_check, "NODE_S", -1.0)
    with recorded(examples()["01-word-frequency"], spark) as (planned, output):
        with pytest.raises(TookTooLong, match="the check of count_words took more than -?0 minutes: an expression may"):
            check(planned, spark, output)
        monkeypatch.setattr(batch_check, "NODE_S", 1800.0)
        assert check(planned, spark, output).is_equal, "the session goes on"
