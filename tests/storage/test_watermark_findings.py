"""Who held the watermark back, which source was idle, and which record came from the future."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage import Store
from storage.event_time.idle_sources import lagging_sources
from tests.storage.written_runs import Epoch, columns, edge, plan, recorded

A = edge("a", columns(ts="bigint*"), watermark_delay_ms=0)
B = edge("b", columns(ts="bigint*"), watermark_delay_ms=0)
WINDOW = edge("window", columns(n="bigint"))
BOTH = plan(A, B, WINDOW, wires=[("a", "window"), ("b", "window")])


def two_sources(store: Store, tmp_path: Path, arrivals: list[tuple[str, int]]) -> int:
    top: dict[str, int] = {}
    marks = []
    for seq, (source, time) in enumerate(arrivals, 1):
        top[source] = max(top.get(source, time), time)
        marks.append((seq, source, time, top[source], False))
    return recorded(store, tmp_path, BOTH, Epoch(watermarks=marks))


def test_the_slowest_source_holds_the_watermark_back_and_by_how_much(store: Store, tmp_path: Path) -> None:
    run = two_sources(store, tmp_path, [("a", 10), ("b", 5), ("a", 20), ("a", 30), ("b", 40), ("b", 50)])
    found = lagging_sources(store.timeline.timeline(run))
    assert [(each.source, each.events, each.behind_ms) for each in found] == [("b", 4, 25), ("a", 1, 10)]


def test_sources_with_equal_watermarks_do_not_hold_each_other_back(store: Store, tmp_path: Path) -> None:
    run = two_sources(store, tmp_path, [("b", 1), ("a", 5), ("b", 5), ("a", 5), ("b", 5), ("a", 6), ("b", 6), ("a", 6)])
    found = lagging_sources(store.timeline.timeline(run))
    assert [(each.source, each.behind_ms) for each in found if each.behind_ms == 0] == []
    assert {each.source: each.events for each in found} == {"a": 1, "b": 2}


def test_a_source_that_says_nothing_is_idle_and_holds_the_others(store: Store, tmp_path: Path) -> None:
    arrivals = [("a", 10), ("b", 10), ("a", 20), ("b", 20), *[("a", 30 + n) for n in range(40)], ("b", 100)]
    run = two_sources(store, tmp_path, arrivals)
    [idle] = store.idle_sources.find(run, store.timeline.timeline(run))
    assert (idle.source, idle.from_seq, idle.to_seq) == ("b", 4, 45)
    assert (idle.others_ms, idle.watermark_ms, idle.holds_back, idle.is_open) == (49, 20, True, False)


def test_a_source_that_never_spoke_again_is_idle_to_the_end(store: Store, tmp_path: Path) -> None:
    arrivals = [("b", 10), ("a", 10), *[("a", 30 + n) for n in range(40)]]
    run = two_sources(store, tmp_path, arrivals)
    [idle] = store.idle_sources.find(run, store.timeline.timeline(run))
    assert (idle.source, idle.from_seq, idle.to_seq, idle.is_open) == ("b", 1, 42, True)


def written(store: Store, folder: Path, times: list[int], delay: int, size: int) -> tuple[int, list[int]]:
    """A run of one source whose rows go into windows; its number and the late events."""
    info = edge("a", columns(ts="bigint*"), watermark_delay_ms=delay)
    marks, late, tops = [], [], []
    for seq, time in enumerate(times, 1):
        before = max(times[: seq - 1]) - delay if seq > 1 else None
        marks.append((seq, "a", time, max(times[:seq]) - delay, False))
        tops.append(before)
        end = time - time % size + size
        if before is not None and end - 1 <= before:
            late.append(("window", "in", seq, b"", time, end - size, end, before, before - (end - 1), "window closed"))
    records = {"a": [(seq, b"", "+I", (time,)) for seq, time in enumerate(times, 1)]}
    epoch = Epoch(records=records, watermarks=marks, late=late)
    run = recorded(store, folder, plan(info, WINDOW, wires=[("a", "window")]), epoch)
    return run, [row[2] for row in late]


def late_events(times: list[int], delay: int, size: int) -> set[int]:
    """The late events, by the rule itself; a time of None is no record."""
    found, top = set(), None
    for seq, time in enumerate(times, 1):
        if time is None:
            continue
        if top is not None and time - time % size + size - 1 <= top - delay:
            found.add(seq)
        top = time if top is None else max(top, time)
    return found


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(times=st.lists(st.integers(0, 200), min_size=2, max_size=25), delay=st.integers(0, 30))
def test_without_the_record_from_the_future_exactly_those_are_not_late(
    shared_store: Store, tmp_path: Path, times: list[int], delay: int
) -> None:
    size = 10
    run, late = written(shared_store, tmp_path, times, delay, size)
    saved = {}
    for seq in range(1, len(times) + 1):
        without = [None if at == seq else time for at, time in enumerate(times, 1)]
        saved[seq] = len({each for each in late if each > seq} - late_events(without, delay, size))
    found = shared_store.future_records.find(run, most=1000)
    # Ties: two records of the same time are each other's stand-in, and neither alone made anybody late.
    for record in found:
        twins = [at for at, time in enumerate(times, 1) if time == record.event_time_ms]
        if len(twins) == 1:
            assert record.late == saved[record.seq]
    best = max(saved.values(), default=0)
    assert max((record.late for record in found), default=0) >= best


def test_it_is_named_with_its_place_and_what_it_said(store: Store, tmp_path: Path) -> None:
    run, late = written(store, tmp_path, [10, 20, 1000, 30, 40, 1001, 50], 5, 10)
    [record, *_] = store.future_records.find(run)
    assert late == [4, 5, 7]
    assert (record.seq, record.ordinal, record.content, record.jump_ms) == (3, 3, "ts=1000", 980)
    assert (record.late, record.until_seq) == (2, 6)


def test_after_the_end_of_its_source_nobody_is_late_because_of_it(store: Store, tmp_path: Path) -> None:
    sources = [edge(name, columns(ts="bigint*"), watermark_delay_ms=0) for name in "ab"]
    marks = [
        (1, "a", 10, 10, False),
        (2, "b", 1000, 1000, False),
        (3, "b", None, (1 << 63) - 1, True),
        (4, "a", 500, 500, False),
        (5, "a", 20, 500, False),
    ]
    late = [("window", "in", 5, b"", 20, 20, 30, 500, 471, "window closed")]
    wires = [("a", "both"), ("b", "both"), ("both", "window")]
    both = edge("both", columns(ts="bigint*"), operator="union")
    epoch = Epoch(
        records={
            "a": [(seq, b"", "+I", (time,)) for seq, time in ((1, 10), (4, 500), (5, 20))],
            "b": [(2, b"", "+I", (1000,))],
        },
        watermarks=marks,
        late=late,
    )
    run = recorded(store, tmp_path, plan(*sources, both, WINDOW, wires=wires), epoch)
    assert [(each.source, each.seq, each.late) for each in store.future_records.find(run) if each.late] == [("a", 4, 1)]
