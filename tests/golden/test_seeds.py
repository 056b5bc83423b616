"""The seeds' own words: what their documents say must come out, written down here a second time by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from engine.examples import FOLDER, examples
from tests.golden.trace import TraceRecorder, run_pipeline

BASE = 1_000_000_000_000


def run(name: str, spark: SparkSession, work: Path, *, epochs: int = 1, partitions: int = 2) -> TraceRecorder:
    return run_pipeline(examples()[name], spark, FOLDER, work, epochs=epochs, partitions=partitions)


def test_the_word_frequency_takes_back_what_it_said_too_early(spark: SparkSession, tmp_path: Path) -> None:
    trace = run("01-word-frequency", spark, tmp_path)
    assert trace.changelog("count_words") == ["+I(Hello, 1)", "+I(World, 1)", "-U(Hello, 1)", "+U(Hello, 2)"]
    assert trace.changelog("frequencies") == [
        "+I(1, 1)",
        "-U(1, 1)",
        "+U(1, 2)",
        "-U(1, 2)",
        "+U(1, 1)",
        "+I(2, 1)",
    ]


@pytest.mark.parametrize(
    ("name", "watermarks", "fired", "late"),
    [
        (
            "02-window-late-record",
            [45000, 49000, 74900, 115000, 115000, 115000],
            [(3, "a", "['1', '2']"), (4, "a", "['3']"), (7, "b", "['5']"), (7, "a", "['4']")],
            [(6, 80000, 90000)],
        ),
        (
            "03-window-lost-records",
            [45000, 49000, 74900, 115000, 115000, 115000],
            [(3, "a", "['1', '2']"), (4, "a", "['3']"), (7, "a", "['4']")],
            [(5, 100000, 110000), (6, 100000, 110000)],
        ),
        (
            "04-window-nothing-lost",
            [44900, 48900, 74800, 109900, 109900, 109900],
            [(3, "a", "['1', '2']"), (4, "a", "['3']"), (7, "b", "['5', '6']"), (7, "a", "['4']")],
            [],
        ),
    ],
)
def test_a_single_stream_fires_and_loses_as_in_the_document(
    name: str,
    watermarks: list[int],
    fired: list[tuple[int, str, str]],
    late: list[tuple[int, int, int]],
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    trace = run(name, spark, tmp_path)
    assert [row["watermark_ms"] - BASE for row in trace.watermarks[:-1]] == watermarks
    at = trace.columns("results").index("values")
    assert [(one.seq, one.row[0], str(one.row[at])) for one in trace.records["results"]] == fired
    missed = [(row["seq"], row["window_start_ms"] - BASE, row["window_end_ms"] - BASE) for row in trace.late]
    assert missed == late


@pytest.mark.parametrize(
    ("name", "pairs"),
    [
        (
            "05-window-join",
            ["+I(1, hangzhou)", "+I(2, hangzhou)", "+I(5, beijing)", "+I(6, beijing)"],
        ),
        ("06-window-join-lost", ["+I(1, hangzhou)", "+I(2, hangzhou)"]),
    ],
)
def test_the_window_join_gives_the_pairs_of_the_document(
    name: str, pairs: list[str], spark: SparkSession, tmp_path: Path
) -> None:
    assert run(name, spark, tmp_path).changelog("pairs", "value", "city") == pairs


def test_every_function_of_the_deduplication_document_keeps_its_row(spark: SparkSession, tmp_path: Path) -> None:
    trace = run("07-deduplication", spark, tmp_path)
    kept = {
        node: trace.table(node, "user", "page")
        for node in (
            "last_by_time",
            "first_by_time_at_once",
            "first_by_time",
            "first_to_arrive",
            "last_to_arrive",
        )
    }
    assert kept == {
        "last_by_time": {("u1", "last"), ("u2", "newer")},
        "first_by_time_at_once": {("u1", "older"), ("u2", "too old")},
        "first_by_time": {("u1", "older"), ("u2", "x")},
        "first_to_arrive": {("u1", "first try"), ("u2", "x")},
        "last_to_arrive": {("u1", "last"), ("u2", "too old")},
    }
    # A delete that carries the key alone takes the stored row back, whole.
    assert "-D(u2, b, 2)" in trace.changelog("last_profile")
    assert trace.table("last_profile", "user", "name") == {("u1", "c"), ("u2", "d")}


def test_an_insert_shifts_the_ranks_and_a_delete_pulls_one_up(spark: SparkSession, tmp_path: Path) -> None:
    trace = run("08-top-3", spark, tmp_path)
    at = {
        seq: [
            line
            for line, one in zip(trace.changelog("top_3", "article", "rank"), trace.records["top_3"], strict=True)
            if one.seq == seq
        ]
        for seq in (5, 6)
    }
    assert at[5] == ["-U(b3, 2)", "+U(b5, 2)", "-U(b4, 3)", "+U(b3, 3)"]
    assert at[6] == ["-U(b2, 1)", "+U(b5, 1)", "-U(b5, 2)", "+U(b3, 2)", "-U(b3, 3)", "+U(b4, 3)"]
