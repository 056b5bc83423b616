"""Who uses what of the store."""

from __future__ import annotations

from pathlib import Path

from storage import Store
from tests.storage.written_runs import Epoch, columns, edge, plan, recorded


def test_the_store_is_shared_out_by_what_the_runs_keep(store: Store, tmp_path: Path) -> None:
    assert store.usages() == ()
    numbers = edge("numbers", columns(n="bigint"))
    for person, events in (("Ada", 3000), ("Grace", 1000), ("Ada", 3000), ("", 10)):
        rows = [(seq, b"", "+I", (seq,)) for seq in range(1, events + 1)]
        recorded(store, tmp_path, plan(numbers), Epoch(records={"numbers": rows}), made_by=person)
    state = store.runs.state_folder(2) / "numbers" / "0"
    state.mkdir(parents=True)
    (state / "part").write_bytes(b"x" * 10_000_000)
    grace, ada, nobody = store.usages()
    assert [(each.person, each.runs, each.records) for each in (grace, ada, nobody)] == [
        ("Grace", 1, 1000),
        ("Ada", 2, 6000),
        ("", 1, 10),
    ]
    size = store.size()
    assert abs(ada.size + grace.size - 10_000_000 + nobody.size - size) < 4
    assert ada.size > 3 * (grace.size - 10_000_000) > 0
