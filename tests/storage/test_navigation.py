"""Where to go next in a run, and what every edge carried around an event."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from engine.model.changelog import RowKind
from storage import Store
from storage.errors import UnknownRun
from storage.wanted import ALL, Comparison, Filter, Term
from tests.storage.written_runs import Epoch, columns, edge, plan, recorded
from tests.ui import seeded_store


def test_the_next_retraction_is_that_of_any_edge(store: Store, tmp_path: Path) -> None:
    run = seeded_store.word_count(store, tmp_path)
    assert store.navigation.next_retraction(run, 0) == 2
    assert store.navigation.next_retraction(run, 2) == 3
    assert store.navigation.next_retraction(run, 3) is None


WON = columns(rank="bigint", name="string", total="bigint")


def test_an_event_takes_back_a_row_if_it_does_not_send_the_same_again(store: Store, tmp_path: Path) -> None:
    top = edge("top", WON, "[I,UB,UA,D]", ["rank"])

    def row(seq: int, step: int, kind: str, *values: object) -> tuple[int, bytes, str, tuple[object, ...]]:
        return (seq, bytes([step]), kind, values)

    records = [
        row(1, 0, "+I", 1, "ann", 5),
        row(2, 0, "+I", 2, "bob", 4),
        # The second changes, and the leader is sent again as it was.
        *(row(3, 0, "-U", 2, "bob", 4), row(3, 1, "+U", 2, "bob", 5)),
        *(row(3, 2, "-U", 1, "ann", 5), row(3, 3, "+U", 1, "ann", 5)),
        *(row(5, 0, "-U", 1, "ann", 5), row(5, 1, "+U", 1, "ann", 5)),
        # Many events without a change lie between.
        *(each for seq in range(10, 3000) for each in (row(seq, 0, "-U", 2, "bob", 5), row(seq, 1, "+U", 2, "bob", 5))),
        *(row(4000, 0, "-U", 1, "ann", 5), row(4000, 1, "+U", 1, "bob", 6)),
        row(4001, 0, "-D", 2, "bob", 5),
    ]
    run = recorded(store, tmp_path, plan(top), Epoch(records={"top": records}))

    def stops(seq: int, wanted: Filter = ALL) -> list[int | None]:
        find = partial(store.navigation.taking_back, run, "top", filter=wanted)
        return [find(seq), find(seq, forward=False)]

    leader = Filter(terms=(Term("rank", Comparison.EQ, (1,)),))
    assert [stops(seq) for seq in (0, 3, 4000, 4002)] == [[3, None], [4000, None], [4001, 3], [None, 4001]]
    assert [stops(seq, leader) for seq in (0, 3999, 4001)] == [[4000, None], [4000, None], [None, 4000]]


def test_the_next_window_and_the_next_late_record(store: Store, tmp_path: Path) -> None:
    run = seeded_store.windows(store, tmp_path)
    assert [store.navigation.next_fire(run, seq) for seq in (0, 3, 4, 7)] == [3, 4, 7, None]
    assert [store.navigation.next_late(run, seq) for seq in (0, 5, 6)] == [5, 6, None]
    assert store.navigation.next_retraction(run, 0) is None


def test_lanes_hold_what_every_edge_carried_around_an_event(store: Store, tmp_path: Path) -> None:
    run = seeded_store.windows(store, tmp_path)
    around = store.navigation.around(run, 4, events=1)
    assert (around.from_seq, around.to_seq) == (3, 5)
    carried = {lane.edge.node: [record.seq for record in lane.records] for lane in around.lanes}
    assert carried == {"clicks": [3, 4, 5], "per_window": [3, 4], "out": [3, 4]}
    assert around.fires == {("per_window", 3), ("per_window", 4)}
    assert around.late == {("clicks", 5): True}


def test_at_the_ends_of_a_run_lanes_stay_as_wide(store: Store, tmp_path: Path) -> None:
    run = seeded_store.two_sources(store, tmp_path)
    first = store.navigation.around(run, 1, events=5)
    last = store.navigation.around(run, 40, events=5)
    assert (first.from_seq, first.to_seq) == (1, 11)
    assert last.to_seq - last.from_seq == 10
    whole = store.navigation.around(run, 20, events=500)
    assert (whole.from_seq, whole.to_seq) == (1, store.runs.get(run).last_seq)


def test_a_flood_at_one_event_hides_none_of_its_neighbours(store: Store, tmp_path: Path) -> None:
    totals = edge("totals", columns(n="bigint"), "[I,UA]", ["n"])
    flood = [(2, n.to_bytes(2, "big"), "+I", (n,)) for n in range(50)]
    records = {"totals": [(1, b"", "+I", (100,)), *flood, (3, b"", "+U", (100,))]}
    run = recorded(store, tmp_path, plan(totals), Epoch(records=records))
    (lane,) = store.navigation.around(run, 2, most=10).lanes
    assert lane.is_cut
    assert [record.seq for record in lane.records] == [1, *[2] * 10, 3]
    assert lane.records[-1].kind is RowKind.UPDATE_AFTER


def test_a_run_that_is_not_there_is_said(store: Store) -> None:
    with pytest.raises(UnknownRun):
        store.navigation.around(9, 1)
