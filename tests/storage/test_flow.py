"""Retractions over a whole run: along the wires, by key, by second of event time, and those that undo each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.model.changelog import RowKind
from storage import Store
from storage.changelogs import flow
from storage.changelogs.model import Amplification, HeavyKey, RetractedKey, RetractedSecond, SlowKey, Wire
from storage.database.run_tables import RunTables
from tests.storage.beside import beside
from tests.storage.written_runs import COUNTS, Epoch, columns, edge, plan, recorded

WORDS = edge("words", columns(word="string", ts="bigint*"), watermark_delay_ms=0)
TOTALS = edge("totals", columns(word="string", n="bigint"), "[I,UB,UA]", ["word"])
PAIRS = edge("pairs", columns(word="string", note="string"), "[I,UB,UA,D]")
PLAN = plan(WORDS, TOTALS, PAIRS, wires=[("words", "totals"), ("totals", "pairs")])
FIRST = Epoch(
    0,
    records={
        "words": [(1, b"", "+I", ("Hello", 1_500)), (2, b"", "+I", ("World", -1)), (3, b"", "+I", ("Hello", 1_900))],
        "totals": COUNTS,
        "pairs": [
            (1, b"\0", "+I", ("a", None)),
            (1, b"\1", "-D", ("a", None)),
            (3, b"\0", "-U", ("b", "x")),
            (3, b"\1", "+U", ("b", "x")),
        ],
    },
    key_times={"totals": [('["Hello"]', 500_000, 2), ('["Zoë", null]', 2_000_000, 1)]},
    watermarks=[(1, "words", 1_500, 1_500, False), (2, "words", -1, 1_500, False), (3, "words", 1_900, 1_900, False)],
)
SECOND = Epoch(
    1,
    records={
        "words": [(4, b"", "+I", ("World", -200)), (5, b"", "+I", ("Hello", 1_200))],
        "totals": [
            (4, b"\0", "-U", ("World", 1)),
            (4, b"\1", "+U", ("World", 2)),
            (5, b"\0", "-U", ("Hello", 2)),
            (5, b"\1", "+U", ("Hello", 3)),
        ],
        "pairs": [(5, b"\0", "-U", ("b", "x")), (5, b"\1", "+U", ("b", "y"))],
    },
    key_times={"totals": [('["Hello"]', 3_000_000, 1), ('["World"]', 1_000_000, 1)], "pairs": []},
    watermarks=[(4, "words", -200, 1_900, False), (5, "words", 1_200, 1_900, False)],
)


def amplified(node: str, records_in: int, records_out: int, taken_back_in: int, taken_back_out: int) -> Amplification:
    return Amplification(
        node=node,
        operator="operator",
        records_in=records_in,
        records_out=records_out,
        taken_back_in=taken_back_in,
        taken_back_out=taken_back_out,
    )


@pytest.fixture
def run_id(store: Store, tmp_path: Path) -> int:
    return recorded(store, tmp_path, PLAN, FIRST, SECOND)


def test_what_flows_along_each_wire_is_counted_by_kind(store: Store, run_id: int) -> None:
    wires = store.flows.wires(run_id)
    assert [(wire.source, wire.target) for wire in wires] == [("words", "totals"), ("totals", "pairs"), ("pairs", "")]
    assert wires[1] == Wire("totals", "pairs", "in", {kind: n for kind, n in zip(RowKind, (2, 3, 3, 0), strict=True)})


def test_an_operator_that_starts_retractions_is_told_from_one_that_passes_them_on(store: Store, run_id: int) -> None:
    assert store.flows.amplification(run_id) == (
        amplified("totals", 5, 8, 0, 3),
        amplified("pairs", 8, 6, 3, 3),
    )


def test_the_keys_with_the_most_retractions_come_first(store: Store, run_id: int) -> None:
    assert store.flows.keys(run_id, "totals") == (RetractedKey(("Hello",), 5, 2), RetractedKey(("World",), 3, 1))
    assert store.flows.keys(run_id, "words") == ()


def test_the_keys_that_an_operator_was_at_work_for_longest_come_first(store: Store, run_id: int) -> None:
    found = store.flows.slowest(run_id, "totals", limit=2)
    assert found == (SlowKey(("Hello",), 3, 3.5), SlowKey(("Zoë", None), 1, 2.0))
    assert store.flows.slowest(run_id, "pairs") == store.flows.slowest(run_id, "words") == ()


@pytest.mark.parametrize(
    ("times", "records", "heavy"),
    [
        ([('["Hello"]', 1, 1000), ('["World"]', 9, 400)], 4000, [HeavyKey(("Hello",), 1000, "totals", 4000)]),
        ([('["a", null]', 1, 700), ('["a", null]', 1, 700)], 2000, [HeavyKey(("a", None), 1400, "totals", 2000)]),
        ([('["Hello"]', 1, 1000)], 4001, []),
        ([('["Hello"]', 1, 999)], 1000, []),
        ([("[]", 1, 4000)], 4000, []),
        ([], 4000, []),
    ],
)
def test_a_key_with_a_quarter_of_many_records_is_named(
    store: Store, tmp_path: Path, times: list[tuple[str, int, int]], records: int, heavy: list[HeavyKey]
) -> None:
    words = edge("words", columns(word="string"), watermark_delay_ms=0)
    totals = edge("totals", columns(word="string", n="bigint"), "[I,UA]", ["word"])
    recorder = store.record(run_id := store.runs.create("skewed", "{}").run_id)
    recorder.begin(plan(words, totals, wires=[("words", "totals")]))
    rows = [(seq, b"", "+I", ("w",)) for seq in range(1, records + 1)]
    recorder.commit(Epoch(0, {"words": rows}, key_times={"totals": times}).write(tmp_path / "skewed", [words, totals]))
    assert list(store.flows.heavy_keys(run_id)) == heavy


def test_a_run_of_before_key_times_were_kept_has_none(store: Store, run_id: int) -> None:
    with beside(store) as database, database.catalog_transaction() as cursor:
        cursor.execute(f"DROP TABLE {RunTables(run_id).key_times}")
    assert store.flows.slowest(run_id, "totals") == store.flows.heavy_keys(run_id) == ()


def test_without_an_upsert_key_a_whole_row_is_the_key(store: Store, run_id: int) -> None:
    assert store.flows.keys(run_id, "pairs", limit=1) == (RetractedKey(("b", "x"), 3, 2),)


def test_seconds_are_those_of_the_events_that_caused_it_before_1970_too(store: Store, run_id: int) -> None:
    assert store.flows.seconds(run_id, "totals") == (RetractedSecond(1000, 2, 0), RetractedSecond(-1000, 1, 0))
    assert store.flows.seconds(run_id, "pairs") == (RetractedSecond(1000, 2, 1),)


def test_a_second_may_lie_in_several_portions_of_events(
    store: Store, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flow, "_PORTION", 1)
    assert store.flows.seconds(run_id, "totals") == (RetractedSecond(1000, 2, 0), RetractedSecond(-1000, 1, 0))
    assert store.flows.seconds(run_id, "pairs") == (RetractedSecond(1000, 2, 1),)


def test_neighbours_that_undo_each_other_are_found_null_values_too(store: Store, run_id: int) -> None:
    found = store.flows.cancelled(run_id, "pairs")
    assert (found.updates, found.inserts) == (1, 1)
    assert [(first.seq, first.kind.symbol, second.kind.symbol) for first, second in found.examples] == [
        (1, "+I", "-D"),
        (3, "-U", "+U"),
    ]
    assert store.flows.cancelled(run_id, "totals").examples == ()
