"""A key's records, bounded, and the watermarks looked up instead of read."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK
from storage import Store
from storage.wanted import Filter, equal
from tests.storage.written_runs import Epoch, columns, edge, plan, recorded

ORDERS = edge("orders", columns(id="bigint", seq="string"), watermark_delay_ms=0)
CITIES = edge("cities", columns(id="bigint"), watermark_delay_ms=0)


def test_a_keys_records_come_in_order_under_their_own_names(store: Store, tmp_path: Path) -> None:
    records = {"orders": [(n, b"", "+I", (n % 3, f"o{n}")) for n in range(1, 21)]}
    run = recorded(store, tmp_path, plan(ORDERS, CITIES), Epoch(records=records))
    found = store.replays.records(run, "orders", "out", Filter(terms=equal((("id", 1),)), to_seq=10), 100)
    assert found.table.column_names == ["__seq", "__step", "__kind", "id", "seq"]
    assert found.table["seq"].to_pylist() == ["o1", "o4", "o7", "o10"]
    assert not found.is_cut
    cut = store.replays.records(run, "orders", "out", Filter(terms=equal((("id", "1"),))), 3)
    assert (len(cut.table), cut.last_seq, cut.is_cut) == (3, 7, True)
    last = store.replays.last_records(run, "orders", "out", 10, 2)
    assert last["__seq"].to_pylist() == [9, 10]


@pytest.mark.parametrize("seed", range(4))
def test_watermarks_are_looked_up_as_they_were_written(
    store: Store, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.event_time.watermarks.STRETCH", 512)
    random = Random(seed)
    tops = {"orders": MIN_WATERMARK, "cities": MIN_WATERMARK}
    after: list[dict[str, int]] = [dict(tops)]
    watermarks: list[tuple[int, str, int | None, int | None, bool]] = []
    for seq in range(1, 3001):
        source = random.choice(list(tops)) if seq > 600 else "orders"
        mark = max(tops[source], random.randrange(-500, seq * 10))
        sends = random.random() < 0.3
        watermarks.append((seq, source, seq, mark if sends else None, False))
        if sends:
            tops[source] = mark
        after.append(dict(tops))
    watermarks.append((3001, "orders", None, MAX_WATERMARK, True))
    run = recorded(store, tmp_path, plan(ORDERS, CITIES), Epoch(watermarks=watermarks))
    marks = store.replays.marks(run)
    for seq in range(0, 3001, 7):
        for source in tops:
            assert marks.at(source, seq) == after[seq][source]
    assert marks.at("orders", 3001) == MAX_WATERMARK
    assert marks.at("cities", 3001) == tops["cities"]
    for time_ms in range(-600, 31_000, 77):
        for source in tops:
            first = next((seq for seq, held in enumerate(after) if held[source] >= time_ms), None)
            wanted = first if first is not None else 3001 if source == "orders" else None
            assert marks.reached(source, time_ms) == wanted
