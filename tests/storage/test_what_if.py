"""What another delay would have kept is what a run with that delay keeps."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.contract.recorder import Turn
from storage import Store
from storage.event_time.needed_waits import LateOperator
from tests.storage.beside import beside
from tests.storage.written_runs import Epoch, columns, edge, planned, recorded

MAX = (1 << 63) - 1
Arrivals = list[tuple[str, int]]
KINDS: dict[str, dict[str, Any]] = {
    "tumble": {"kind": "tumble", "size_ms": 10},
    "hop": {"kind": "hop", "size_ms": 20, "slide_ms": 5},
    "uneven hop": {"kind": "hop", "size_ms": 20, "slide_ms": 6, "group_window": True},
    "cumulate": {"kind": "cumulate", "size_ms": 30, "step_ms": 10, "offset_ms": 3},
}


def bound(kind: str, time: int) -> int:
    """The last ms of the first window that a record falls into."""
    if kind == "uneven hop":
        return next(end for end in range(time + 1, time + 21) if end % 6 == 2) - 1
    step, offset = {"tumble": (10, 0), "hop": (5, 0), "cumulate": (10, 3)}[kind]
    return time - (time - offset) % step + step - 1


def late(arrivals: Arrivals, sources: list[str], delay: int, lateness: int, kind: str) -> list[int]:
    """The late events, by the rule. The runs here end no source."""
    top: dict[str, int] = {}
    found = []
    for seq, (source, time) in enumerate(arrivals, 1):
        marks = [top[each] - delay for each in sources if each in top]
        if len(marks) == len(sources) and min(marks) >= bound(kind, time) + lateness:
            found.append(seq)
        top[source] = max(top.get(source, time), time)
    return found


def run_of(store: Store, folder: Path, arrivals: Arrivals, delay: int, lateness: int, kind: str) -> int:
    """A run with a window aggregate over the union of its sources."""
    sources = sorted({source for source, _ in arrivals})
    edges = [edge(source, columns(ts="bigint*"), watermark_delay_ms=delay) for source in sources]
    target = "window"
    wires = [{"source": source, "target": "both"} for source in sources] + [{"source": "both", "target": target}]
    if len(sources) == 1:
        wires = [{"source": sources[0], "target": target}]
    else:
        edges.append(edge("both", columns(ts="bigint*"), operator="union"))
    edges.append(edge(target, columns(n="bigint"), operator="window_aggregate"))
    nodes = [
        {"id": target, "operator": "window_aggregate", "parameters": KINDS[kind] | {"allowed_lateness_ms": lateness}}
    ]
    document = json.dumps({"nodes": nodes, "edges": wires})
    top: dict[str, int] = {}
    marks: list[tuple[Any, ...]] = []
    records: dict[str, list[Any]] = {info.node: [] for info in edges}
    for seq, (source, time) in enumerate(arrivals, 1):
        top[source] = max(top.get(source, time), time)
        marks.append((seq, source, time, top[source] - delay, False))
        records[source].append((seq, b"", "+I", (time,)))
        if "both" in records:
            records["both"].append((seq, b"", "+I", (time,)))
    ledger = [
        (target, "in", seq, b"", arrivals[seq - 1][1], 0, 1, 100, 0, "window closed")
        for seq in late(arrivals, sources, delay, lateness, kind)
    ]
    return recorded(
        store,
        folder,
        planned(document, tuple(edges)),
        Epoch(records=records, watermarks=marks, late=ledger),
    )


def asked(store: Store, run: int) -> LateOperator:
    [found] = store.what_if.operators(run)
    return found


def test_a_source_that_is_idle_loses_what_it_would_have_held(store: Store, tmp_path: Path) -> None:
    """Event 3: b is idle, and counts again with 6, behind the union: it holds nothing until it has caught up."""
    edges = [edge(name, columns(ts="bigint*"), watermark_delay_ms=0) for name in "ab"]
    edges += [
        edge("both", columns(ts="bigint*"), operator="union"),
        edge("window", columns(n="bigint"), operator="window_aggregate"),
    ]
    nodes = [
        {"id": "both", "operator": "union"},
        {"id": "window", "operator": "window_aggregate", "parameters": KINDS["tumble"]},
    ]
    wires = [{"source": name, "target": "both"} for name in "ab"] + [{"source": "both", "target": "window"}]
    times = {1: ("a", 5), 2: ("b", 1), 4: ("a", 25), 5: ("a", 3), 6: ("b", 2), 7: ("a", 4), 8: ("b", 26), 9: ("a", 6)}
    records = {
        name: [(seq, b"", "+I", (time,)) for seq, (source, time) in times.items() if source == name] for name in "ab"
    }
    records["both"] = [(seq, b"", "+I", (time,)) for seq, (_, time) in times.items()]
    tops = {"a": [5, 5, 5, 25, 25, 25, 25, 25, 25], "b": [1, 1, 1, 1, 1, 2, 2, 26, 26]}
    marks = [(seq, source, time, tops[source][seq - 1], False) for seq, (source, time) in times.items()]
    lost = [5, 6, 7, 9]
    ledger = [("window", "in", seq, b"", times[seq][1], 0, 1, 25 - 9, 25, "window closed") for seq in lost]
    turns = [Turn(3, "b", True), Turn(6, "b", False)]
    run = recorded(
        store,
        tmp_path,
        planned(json.dumps({"nodes": nodes, "edges": wires}), tuple(edges)),
        Epoch(records=records, watermarks=marks, late=ledger, turns=turns),
    )
    late_one = asked(store, run)
    losses = store.what_if.losses(run, late_one)
    # The first window ends with 9, and the watermark was 25.
    assert (losses.lost(0), losses.lost(16), losses.lossless_ms) == (4, 4, 17)
    page = store.what_if.records(run, late_one, late_one.with_delay(17), 0)
    assert [(record.seq, record.was_late, record.is_late) for record in page] == [(seq, True, False) for seq in lost]


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    times=st.lists(st.integers(-50, 200), min_size=1, max_size=20),
    kind=st.sampled_from(sorted(KINDS)),
    delay=st.integers(0, 30),
    lateness=st.integers(0, 20),
    others=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 40)), min_size=2, max_size=2),
)
def test_any_delay_and_lateness_of_one_source(
    shared_store: Store,
    tmp_path: Path,
    times: list[int],
    kind: str,
    delay: int,
    lateness: int,
    others: list[tuple[int, int]],
) -> None:
    arrivals = [("a", time) for time in times]
    run = run_of(shared_store, tmp_path, arrivals, delay, lateness, kind)
    late_one = asked(shared_store, run)
    losses = shared_store.what_if.losses(run, late_one)
    assert (late_one.delay_ms, late_one.rule.allowed_lateness_ms, late_one.is_exact) == (delay, lateness, True)
    assert losses.total == len(times)
    assert losses.lost(delay + lateness) == len(late(arrivals, ["a"], delay, lateness, kind))
    assert losses.lost(losses.lossless_ms) == 0
    assert losses.lossless_ms == 0 or losses.lost(losses.lossless_ms - 1) > 0
    for percent in (0, 50, 90, 100):
        wait = losses.wait_for(percent / 100)
        assert losses.lost(wait) * 100 <= (100 - percent) * losses.total
        assert wait == 0 or losses.lost(wait - 1) * 100 > (100 - percent) * losses.total
    assert losses.lost(losses.knee_ms()) <= losses.lost(0)
    for other in others:
        assert losses.lost(sum(other)) == len(late(arrivals, ["a"], *other, kind))
        page = shared_store.what_if.records(run, late_one, late_one.with_delay(other[0]), other[1])
        assert [record.seq for record in page if record.was_late] == late(arrivals, ["a"], delay, lateness, kind)
        assert [record.seq for record in page if record.is_late] == late(arrivals, ["a"], *other, kind)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    arrivals=st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 200)), min_size=2, max_size=20).filter(
        lambda each: len({source for source, _ in each}) == 2
    ),
    delay=st.integers(0, 30),
    others=st.lists(st.integers(0, 60), min_size=3, max_size=3),
)
def test_below_several_sources_the_lowest_watermark_decides(
    shared_store: Store, tmp_path: Path, arrivals: Arrivals, delay: int, others: list[int]
) -> None:
    run = run_of(shared_store, tmp_path, arrivals, delay, 0, "tumble")
    losses = shared_store.what_if.losses(run, asked(shared_store, run))
    for wait in (delay, *others):
        expected = [
            seq
            for seq, (_, time) in enumerate(arrivals, 1)
            if all(
                (tops := [each for source, each in arrivals[: seq - 1] if source == name])
                and max(tops) - wait >= bound("tumble", time)
                for name in "ab"
            )
        ]
        assert losses.lost(wait) == len(expected)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    arrivals=st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 200)), min_size=2, max_size=20).filter(
        lambda each: len({source for source, _ in each}) == 2
    ),
    delay=st.integers(0, 30),
    others=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=3, max_size=3),
)
def test_each_of_several_sources_may_have_its_own_delay(
    shared_store: Store, tmp_path: Path, arrivals: Arrivals, delay: int, others: list[tuple[int, int]]
) -> None:
    run = run_of(shared_store, tmp_path, arrivals, delay, 0, "tumble")
    late_one = asked(shared_store, run)
    ran = late(arrivals, ["a", "b"], delay, 0, "tumble")
    for own in others:
        delays_ms = dict(zip("ab", own, strict=True))
        tried = replace(late_one, delays_ms=delays_ms)
        expected = [
            seq
            for seq, (_, time) in enumerate(arrivals, 1)
            if all(
                (tops := [each for source, each in arrivals[: seq - 1] if source == name])
                and max(tops) - wait >= bound("tumble", time)
                for name, wait in delays_ms.items()
            )
        ]
        assert shared_store.what_if.losses(run, tried).lost(max(own)) == len(expected)
        page = shared_store.what_if.records(run, late_one, tried, 0, limit=100)
        assert [record.seq for record in page if record.is_late] == expected
        assert [record.seq for record in page if record.was_late] == ran
        assert shared_store.what_if.count(run, late_one, tried, 0) == len(page) == len({*expected, *ran})


def test_results_come_later_by_the_events_that_are_waited_for(store: Store, tmp_path: Path) -> None:
    run = run_of(store, tmp_path, [("a", time) for time in range(0, 400, 4)], 0, 0, "tumble")
    fires = f"run_{run}._fires"
    with beside(store) as database, database.transaction() as cursor:
        cursor.execute(f"INSERT INTO {fires} SELECT 'window', 1, i * 10, i * 10 + 10 FROM range(10) r(i)")
    late_one = asked(store, run)
    assert store.added_latency.compared(run, late_one, late_one.with_delay(0)).events == 0
    wait = store.added_latency.compared(run, late_one, late_one.with_delay(40))
    assert (wait.windows, wait.events, wait.at_end) == (10, 10.0, 0)
    assert store.added_latency.compared(run, late_one, late_one.with_delay(5000)).at_end == 10


def test_what_no_delay_moves_is_not_asked_about(store: Store, tmp_path: Path) -> None:
    explicit = edge("a", columns(ts="bigint*"), role="source", operator="rows")
    window = edge("window", columns(n="bigint"), operator="window_aggregate")
    nodes = [{"id": "window", "operator": "window_aggregate", "parameters": {"kind": "tumble", "size_ms": 10}}]
    document = json.dumps({"nodes": nodes, "edges": [{"source": "a", "target": "window"}]})
    run = recorded(store, tmp_path, planned(document, (explicit, window)), Epoch(watermarks=[(1, "a", 5, 5, False)]))
    assert store.what_if.operators(run) == ()


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_records_say_which_window_they_miss(store: Store, tmp_path: Path, kind: str) -> None:
    run = run_of(store, tmp_path, [("a", 100), ("a", 7)], 0, 0, kind)
    late_one = asked(store, run)
    [record] = store.what_if.records(run, late_one, late_one.with_delay(0), 0)
    assert (record.seq, record.window_end_ms, record.values, record.columns) == (2, bound(kind, 7) + 1, (7,), ("ts",))


def joined(arrivals: list[tuple[str, str, int]], delay: int, within: tuple[int, int]) -> list[int]:
    """The late events of an inner interval join of a and b by key, by the rule."""
    wait = {"a": -within[0], "b": within[1]}
    top: dict[str, int] = {}
    kept: list[tuple[str, str, int]] = []
    found = []
    for seq, (source, key, time) in enumerate(arrivals, 1):
        mark = min(top.values()) - delay if len(top) == 2 else -MAX
        kept = [each for each in kept if mark <= each[2] + wait[each[0]]]
        other = "b" if source == "a" else "a"
        met = any(
            (each[0], each[1]) == (other, key) and time - wait[other] <= each[2] <= time + wait[source] for each in kept
        )
        if mark < time + wait[source]:
            kept.append((source, key, time))
        elif not met:
            found.append(seq)
        top[source] = max(top.get(source, time), time)
    return found


def behind(arrivals: list[tuple[str, str, int]], delay: int) -> int:
    """How many records of a and b come when the watermark has reached their time."""
    top: dict[str, int] = {}
    found = 0
    for source, _, time in arrivals:
        found += len(top) == 2 and time <= min(top.values()) - delay
        top[source] = max(top.get(source, time), time)
    return found


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    arrivals=st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.integers(0, 60)), min_size=2, max_size=20
    ),
    within=st.tuples(st.integers(-20, 5), st.integers(5, 20)),
    others=st.lists(st.integers(0, 60), min_size=2, max_size=2),
)
def test_a_late_row_of_an_interval_join_is_not_lost_while_it_meets_one_that_is_kept(
    shared_store: Store,
    tmp_path: Path,
    arrivals: list[tuple[str, str, int]],
    within: tuple[int, int],
    others: list[int],
) -> None:
    sides = [edge(name, columns(k="string", ts="bigint*"), watermark_delay_ms=0) for name in "ab"]
    target = edge("pairs", columns(k="string"), operator="interval_join")
    given_ = {"left_keys": ["k"], "right_keys": ["k"], "lower_ms": within[0], "upper_ms": within[1]}
    wires = [{"source": name, "target": "pairs", "target_port": port} for name, port in (("a", "left"), ("b", "right"))]
    nodes = [{"id": "pairs", "operator": "interval_join", "parameters": given_}]
    document = json.dumps({"nodes": nodes, "edges": wires})
    top: dict[str, int] = {}
    marks: list[tuple[Any, ...]] = []
    for seq, (source, _, time) in enumerate(arrivals, 1):
        top[source] = max(top.get(source, time), time)
        marks.append((seq, source, time, top[source], False))
    records = {
        name: [(seq, b"", "+I", (key, time)) for seq, (source, key, time) in enumerate(arrivals, 1) if source == name]
        for name in "ab"
    }
    ledger = [
        (
            "pairs",
            "left" if arrivals[seq - 1][0] == "a" else "right",
            seq,
            b"",
            arrivals[seq - 1][2],
            None,
            None,
            0,
            0,
            "",
        )
        for seq in joined(arrivals, 0, within)
    ]
    run = recorded(
        shared_store,
        tmp_path,
        planned(document, (*sides, target)),
        Epoch(records=records, watermarks=marks, late=ledger),
    )
    late_one = asked(shared_store, run)
    assert not late_one.rule.delays_results
    for other in others:
        page = shared_store.what_if.records(run, late_one, late_one.with_delay(other), 0)
        assert [record.seq for record in page if record.was_late] == joined(arrivals, 0, within)
        assert [record.seq for record in page if record.is_late] == joined(arrivals, other, within)
        may_miss = shared_store.what_if.behind(run, late_one.with_delay(other))
        assert may_miss is not None
        assert may_miss.lost(other) == behind(arrivals, other)
        assert behind(arrivals, may_miss.lossless_ms) == 0
        assert [record.values for record in page] == [arrivals[record.seq - 1][1:] for record in page]


def over_late(arrivals: list[tuple[str, int]], delay: int) -> list[int]:
    """The late events of an over aggregate whose frame ends, by the rule: a row of their key went out already."""
    passed: dict[str, int] = {}
    waiting: list[tuple[str, int]] = []
    found, top = [], -MAX
    for seq, (key, time) in enumerate(arrivals, 1):
        if time <= passed.get(key, -MAX):
            found.append(seq)
        else:
            waiting.append((key, time))
        top = max(top, time)
        for each, due in [entry for entry in waiting if entry[1] <= top - delay]:
            passed[each] = max(passed.get(each, due), due)
        waiting = [entry for entry in waiting if entry[1] > top - delay]
    return found


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    arrivals=st.lists(st.tuples(st.sampled_from("xy"), st.integers(0, 60)), min_size=1, max_size=20),
    others=st.lists(st.integers(0, 60), min_size=2, max_size=2),
)
def test_an_over_aggregate_of_some_rows_loses_what_comes_after_its_key_has_gone_on(
    shared_store: Store, tmp_path: Path, arrivals: list[tuple[str, int]], others: list[int]
) -> None:
    source = edge("a", columns(k="string", ts="bigint*"), watermark_delay_ms=0)
    target = edge("sums", columns(k="string"), operator="over_aggregate")
    given_ = {
        "partition_by": ["k"],
        "frame": "rows",
        "preceding_rows": 2,
        "aggregates": [{"function": "COUNT", "name": "n"}],
    }
    nodes = [{"id": "sums", "operator": "over_aggregate", "parameters": given_}]
    document = json.dumps({"nodes": nodes, "edges": [{"source": "a", "target": "sums"}]})
    times = [time for _, time in arrivals]
    run = recorded(
        shared_store,
        tmp_path,
        planned(document, (source, target)),
        Epoch(
            records={"a": [(seq, b"", "+I", each) for seq, each in enumerate(arrivals, 1)]},
            watermarks=[(seq, "a", time, max(times[:seq]), False) for seq, time in enumerate(times, 1)],
            late=[("sums", "in", seq, b"", times[seq - 1], None, None, 0, 0, "") for seq in over_late(arrivals, 0)],
        ),
    )
    late_one = asked(shared_store, run)
    assert late_one.is_exact
    for other in others:
        page = shared_store.what_if.records(run, late_one, late_one.with_delay(other), 0)
        assert [record.seq for record in page if record.was_late] == over_late(arrivals, 0)
        assert [record.seq for record in page if record.is_late] == over_late(arrivals, other)


def test_the_first_row_by_event_time_loses_what_is_older_than_the_watermark(store: Store, tmp_path: Path) -> None:
    source = edge("a", columns(k="string", ts="bigint*"), watermark_delay_ms=0)
    target = edge("first", columns(k="string", ts="bigint*"), operator="deduplicate")
    parameters = {"keys": ["k"], "keep": "first"}
    nodes = [{"id": "first", "operator": "deduplicate", "parameters": parameters}]
    document = json.dumps({"nodes": nodes, "edges": [{"source": "a", "target": "first"}]})
    times = [50, 50, 49, 40]
    run = recorded(
        store,
        tmp_path,
        planned(document, (source, target)),
        Epoch(
            records={"a": [(seq, b"", "+I", ("x", time)) for seq, time in enumerate(times, 1)]},
            watermarks=[(seq, "a", time, 50, False) for seq, time in enumerate(times, 1)],
        ),
    )
    losses = store.what_if.losses(run, asked(store, run))
    assert (losses.lost(0), losses.lost(1), losses.lost(9), losses.lost(10)) == (2, 1, 1, 0)
