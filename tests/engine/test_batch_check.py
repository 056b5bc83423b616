"""The batch check: equal for every example; for a manipulated changelog it reports the different rows."""

from __future__ import annotations

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
from engine.runtime.edges.records import EdgeRecords
from tests.engine.batch_answer import checked, complaints, recorded

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


def test_a_check_that_never_ends_is_ended_with_the_operator(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_check, "NODE_S", -1.0)
    with recorded(examples()["01-word-frequency"], spark) as (planned, output):
        with pytest.raises(TookTooLong, match="the check of count_words took more than -?0 minutes: an expression may"):
            check(planned, spark, output)
        monkeypatch.setattr(batch_check, "NODE_S", 1800.0)
        assert check(planned, spark, output).is_equal, "the session goes on"
