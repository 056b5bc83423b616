"""What a run records of its state: the entries after each event, for any epochs and tasks, with and without a TTL."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from engine.model.pipeline import Pipeline
from engine.runtime import run
from engine.runtime.in_process import in_process
from engine.spark.run_files import LocalFiles
from storage import Store
from storage.event_time.held_states import HeldState
from tests.golden.trace import plan_of

TTL_MS = 60
Row = tuple[str, int, int]


def events(seed: int, count: int, step_ms: int = 12) -> list[Row]:
    """(key, number, event time in ms): times go back now and then, the clock does not."""
    chance = random.Random(seed)
    now, rows = 1_000, []
    for at in range(count):
        now += chance.randrange(step_ms)
        rows.append((chance.choice("abcdefg"), at, now - chance.choice((0, 0, 0, 7))))
    return rows


def source(name: str, given: Sequence[Row], **settings: Any) -> Mapping[str, Any]:
    columns = [{"name": name_, "type": type_} for name_, type_ in (("k", "string"), ("v", "bigint"), ("rt", "bigint"))]
    return {
        "id": name,
        "operator": "rows",
        "parameters": {"columns": columns, "rows": [list(row) for row in given], "event_time": "rt", **settings},
    }


def pipeline(operator: str, ttl_ms: int, *sources: Sequence[Row], delay_ms: int = 0, **parameters: Any) -> Pipeline:
    settings: dict[str, Any] = {"watermark_delay_ms": delay_ms}
    if operator == "temporal_join":
        settings["primary_key"] = ["k"]
    names = [f"s{at}" for at in range(len(sources))]
    ports = ("left", "right") if len(sources) == 2 else ("in",)
    return Pipeline.from_dict(
        {
            "nodes": [
                *(source(name, rows, **settings) for name, rows in zip(names, sources, strict=True)),
                {"id": "op", "operator": operator, "parameters": parameters},
            ],
            "edges": [
                {"source": name, "target": "op", "target_port": port} for name, port in zip(names, ports, strict=True)
            ],
            "options": {"table.exec.state.ttl": f"{ttl_ms} ms"} if ttl_ms else {},
        }
    )


COUNT: Mapping[str, Any] = {"group_by": ["k"], "aggregates": [{"function": "COUNT", "name": "n"}]}
LAST: Mapping[str, Any] = {"keys": ["k"], "order": "arrival", "keep": "last"}
JOIN: Mapping[str, Any] = {"left_keys": ["k"], "right_keys": ["k"]}


@pytest.fixture
def held(spark: SparkSession, tmp_path: Path) -> Iterator[Any]:
    with Store.open(tmp_path / "studio.duckdb") as store:

        def of(given: Pipeline, epochs: int, partitions: int) -> HeldState:
            kept = store.runs.create("a run", given.to_json(), engine="local[1]")
            folder = tmp_path / str(kept.run_id)
            with in_process():
                run(
                    plan_of(given, spark, tmp_path),
                    spark=spark,
                    recorder=store.record(kept.run_id),
                    folder=tmp_path,
                    files=LocalFiles(folder),
                    epochs=epochs,
                    partitions=partitions,
                )
            (state,) = store.held_states.of_run(kept.run_id)
            return state

        yield of


def curve(state: HeldState, last_seq: int) -> list[tuple[dict[str, int], int, int]]:
    """After each event the entries by kind, the keys, and all that have expired."""
    points = {point.seq: point for point in state.points}
    found, now = [], None
    for seq in range(1, last_seq + 1):
        now = points.get(seq, now)
        assert now is not None
        found.append(({kind: number for kind, number in now.entries.items() if number}, now.keys, now.expired))
    return found


def expected(writes: Sequence[tuple[str, str, Any] | None], clocks: Sequence[int], ttl_ms: int) -> list[Any]:
    """The same from the rule: a write of an entry (kind, key, name) is there until the clock has moved by the TTL."""
    alive: dict[tuple[str, str, Any], int] = {}
    found, expired = [], 0
    for at, now_ms in enumerate(clocks):
        gone = [entry for entry, written_ms in alive.items() if ttl_ms and written_ms + ttl_ms <= now_ms]
        expired += len(gone)
        for entry in gone:
            del alive[entry]
        if (write := writes[at]) is not None:
            alive[write] = now_ms
        kinds: dict[str, int] = {}
        for kind, _, _ in alive:
            kinds[kind] = kinds.get(kind, 0) + 1
        found.append((kinds, len({key for _, key, _ in alive}), expired))
    return found


def clocks_of(given: Sequence[Row]) -> list[int]:
    """The recorded clock after each event; the end of a source is one more."""
    clocks: list[int] = []
    for _, _, time_ms in given:
        clocks.append(max(time_ms, clocks[-1] if clocks else 0))
    return clocks


@pytest.mark.parametrize("ttl_ms", [0, TTL_MS])
def test_the_entries_after_each_event_are_those_of_the_rule(held: Any, ttl_ms: int) -> None:
    one, other = events(1, 23), events(2, 20)
    clocks = clocks_of([*one, one[0]])
    accumulators = [*(("accumulators", key, 0) for key, *_ in one), None]
    rows = [*(("rows", key, 0) for key, *_ in one), None]
    # The first source, its end, the second one, its end.
    both = clocks_of([*one, one[-1], *other, one[0]])
    sides = [*(("left rows", *row[:2]) for row in one), None, *(("right rows", *row[:2]) for row in other), None]
    for given, writes, told in (
        (pipeline("aggregate", ttl_ms, one, **COUNT), accumulators, clocks),
        (pipeline("deduplicate", ttl_ms, one, **LAST), rows, clocks),
        (pipeline("join", ttl_ms, one, other, **JOIN), sides, both),
    ):
        wanted = expected(writes, told, ttl_ms)
        for epochs, partitions in ((1, 1), (4, 1), (5, 3)):
            state = held(given, epochs, partitions)
            assert curve(state, len(told)) == wanted, (given.nodes[-1].operator, epochs, partitions)


def windowed(size_ms: int, given: Sequence[Row]) -> list[Any]:
    """The same of tumbling windows: an entry is there from its first record until the watermark reaches its last ms."""
    alive: set[tuple[str, int]] = set()
    found, mark = [], -1
    for key, _, time_ms in given:
        end = time_ms - time_ms % size_ms + size_ms
        alive |= {(key, end)} if end - 1 > mark else set()
        mark = max(mark, time_ms)
        alive = {(key, end) for key, end in alive if end - 1 > mark}
        found.append(({"accumulators": len(alive)} if alive else {}, len({key for key, _ in alive}), 0))
    return [*found, ({}, 0, 0)]


TUMBLE = {"size_ms": 30}
OVER: Mapping[str, Any] = {"partition_by": ["k"], "aggregates": [{"function": "SUM", "argument": "v", "name": "total"}]}
RISING: Mapping[str, Any] = {
    "partition_by": ["k"],
    "pattern": "A B+ C",
    "define": [{"variable": "B", "condition": "B.v > A.v"}, {"variable": "C", "condition": "MOD(C.v, 3) = 0"}],
    "measures": [{"name": "last", "expression": "LAST(C.v)"}],
}
VALUES: Mapping[str, Any] = {
    "group_by": ["k"],
    "aggregates": [{"function": "ARRAY_AGG", "argument": "v", "name": "all"}],
}


@pytest.mark.parametrize("aggregates", [COUNT, VALUES], ids=["columnar", "record by record"])
@pytest.mark.parametrize(("step_ms", "count"), [(12, 40), (60, 40), (3, 47)])
def test_a_window_is_counted_until_the_watermark_frees_it_within_an_epoch(
    held: Any, step_ms: int, count: int, aggregates: Mapping[str, Any]
) -> None:
    given = events(3, count, step_ms)
    for epochs, partitions in ((1, 1), (4, 1), (3, 3)):
        state = held(pipeline("window_aggregate", 0, given, **aggregates, **TUMBLE), epochs, partitions)
        assert curve(state, count + 1) == windowed(30, given), (epochs, partitions)


@pytest.mark.parametrize(
    ("operator", "parameters"),
    [
        ("window_aggregate", {**COUNT, "kind": "cumulate", "size_ms": 60, "step_ms": 20}),
        ("window_aggregate", {**COUNT, "kind": "hop", "size_ms": 60, "slide_ms": 20}),
        ("window_aggregate", {**COUNT, "kind": "session", "gap_ms": 15}),
        ("window_aggregate", {**VALUES, "kind": "session", "gap_ms": 15}),
        ("window_aggregate", {**COUNT, **TUMBLE, "allowed_lateness_ms": 20}),
        ("window_join", {**JOIN, **TUMBLE}),
        ("interval_join", {**JOIN, "lower_ms": -20, "upper_ms": 10}),
        ("interval_join", {**JOIN, "lower_ms": -20, "upper_ms": 10, "kind": "full"}),
        ("temporal_join", JOIN),
        ("over_aggregate", OVER),
        ("over_aggregate", {**OVER, "preceding_ms": 15}),
        ("over_aggregate", {**OVER, "frame": "rows", "preceding_rows": 2}),
        ("over_aggregate", {**OVER, "frame": "rows", "preceding_rows": 2, "order": "arrival"}),
        ("sort", {"then_by": [{"column": "v"}]}),
        ("match_recognize", {**RISING, "within_ms": 25}),
        ("match_recognize", {**RISING, "order": "arrival"}),
    ],
)
def test_what_waits_for_the_watermark_is_counted_as_with_an_epoch_for_each_event(
    held: Any, operator: str, parameters: Mapping[str, Any]
) -> None:
    given = [events(4, 20), *([events(5, 20)] if operator.endswith("_join") else [])]
    last_seq = sum(map(len, given)) + len(given)
    told = pipeline(operator, 0, *given, delay_ms=10, **parameters)
    one, each, tasks = (curve(held(told, *cut), last_seq) for cut in ((1, 1), (last_seq, 1), (3, 3)))
    assert one == each == tasks
    assert max(sum(kinds.values()) for kinds, _, _ in one) > 1


def table(state: HeldState, last_seq: int, *kinds: str) -> list[tuple[int, ...]]:
    """After each event the entries of each kind, and the keys."""
    return [(*(entries.get(kind, 0) for kind in kinds), keys) for entries, keys, _ in curve(state, last_seq)]


@pytest.mark.parametrize("cut", [(1, 1), (3, 2)])
def test_rows_of_an_interval_join_are_counted_until_the_watermark_has_passed_their_last_partner(
    held: Any, cut: tuple[int, int]
) -> None:
    # A left row waits for right ones of up to 10 ms later, a right row for left ones of up to 5 ms later.
    left, right = (
        [("a", 1, 1_000), ("b", 2, 1_010), ("a", 3, 1_030)],
        [("a", 4, 1_005), ("b", 5, 1_040), ("a", 6, 1_050)],
    )
    told = pipeline("interval_join", 0, left, right, **JOIN, lower_ms=-10, upper_ms=5)
    assert table(held(told, *cut), 8, "left rows", "right rows") == [
        (1, 0, 1),
        (2, 0, 2),
        (3, 0, 2),
        # The left source ends, but the right one has not begun: there is no watermark.
        (3, 0, 2),
        # At 1,005 rows 1 and 4 meet, and can meet others until 1,010.
        (3, 1, 2),
        # At 1,040 only row 3, until that very ms, and row 5 can.
        (1, 1, 2),
        # At 1,050 only row 6 can.
        (0, 1, 1),
        (0, 0, 0),
    ]


@pytest.mark.parametrize("cut", [(1, 1), (3, 2)])
def test_matches_are_counted_with_the_rows_that_they_need(held: Any, cut: tuple[int, int]) -> None:
    times = [(1, 100), (2, 105), (3, 112), (9, 120), (1, 125), (1, 140)]
    given = [("a", value, time_ms) for value, time_ms in times]
    one_two_three: Mapping[str, Any] = {
        "partition_by": ["k"],
        "pattern": "A B C",
        "define": [{"variable": name, "condition": f"v = {at}"} for at, name in enumerate("ABC", 1)],
        "measures": [{"name": "at", "expression": "MATCH_ROWTIME()"}],
    }
    told = pipeline("match_recognize", 0, given, delay_ms=10, **one_two_three)
    assert table(held(told, *cut), 7, "waiting rows", "rows of matches", "matches") == [
        # The watermark is 10 ms behind.
        (1, 0, 0, 1),
        (2, 0, 0, 1),
        # At 102 the first row begins a match.
        (2, 1, 1, 1),
        # At 110 the second one goes on with it.
        (2, 2, 1, 1),
        # At 115 the third one completes it.
        (2, 0, 0, 1),
        # At 130 the 9 begins nothing, and the 1 of 125 a match.
        (1, 1, 1, 1),
        # At the end the 1 of 140 ends that one, and begins another.
        (0, 1, 1, 1),
    ]


def test_the_rows_of_a_window_that_are_ranked_first_are_counted_until_it_ends(held: Any) -> None:
    given = [("a", 1, 1_000), ("b", 2, 1_010), ("a", 3, 1_020), ("a", 4, 1_035), ("a", 5, 1_040), ("b", 6, 1_070)]
    first: Mapping[str, Any] = {"partition_by": ["k"], "order_by": [{"column": "v"}], "rank_end": 1}
    state = held(pipeline("window_topn", 0, given, **first, **TUMBLE), 1, 1)
    # The first window ends at 1,020, the second one at 1,050: row 4 comes after 3, which stays the best.
    assert [keys for _, keys, _ in curve(state, len(given) + 1)] == [1, 2, 1, 1, 1, 1, 0]
