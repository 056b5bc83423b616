"""What takes long to find out about a large run is found out once, as it ends, and survives a restart."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.contract.recorder import EdgeView
from storage import Store
from storage import store as store_module
from storage.database import cache
from tests.storage.beside import beside
from tests.storage.written_runs import Epoch, Event, columns, edge, plan

CLICKS = edge("clicks", columns(k="string", ts="bigint*"), watermark_delay_ms=0)
TOTALS = edge("totals", columns(k="string", n="bigint"), "[I,UB,UA]", ["k"])
PLAN = plan(CLICKS, TOTALS, wires=[("clicks", "totals")])


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "LARGE", 1)
    monkeypatch.setattr(store_module, "LARGE", 1)


def epoch(number: int, first: int) -> Epoch:
    """Two events: a's total is updated from the second event on."""
    totals: list[Event] = [(first, b"\0", "+I", ("b" * first, 1))]
    totals += [(first + 1, b"\0", "-U", ("a", first)), (first + 1, b"\1", "+U", ("a", first + 1))]
    return Epoch(
        number,
        records={"clicks": [(seq, b"", "+I", ("a", seq)) for seq in (first, first + 1)], "totals": totals},
        watermarks=[(seq, "clicks", seq, seq, False) for seq in (first, first + 1)],
    )


def kept(store: Store) -> dict[str, str]:
    with beside(store) as database:
        return dict(database.rows("SELECT question, document FROM run_answers"))


def test_a_run_that_ends_is_looked_through_and_its_answers_survive_a_restart(tmp_path: Path) -> None:
    with Store.open(tmp_path / "studio.duckdb") as store:
        run = store.runs.create("a run", PLAN.pipeline_json)
        recording = store.record(run.run_id)
        recording.begin(PLAN)
        recording.commit(epoch(0, 1).write(tmp_path, PLAN.edges))
        assert kept(store) == {}
        recording.finish()
        store.preparation.wait()
        pairs = "50 pairs for nothing of totals by ['k', 'n']"
        assert {"50 keys of totals by ['k'], by retractions", pairs, "event times"} <= set(kept(store))
        found = store.flows.keys(run.run_id, "totals")
        assert [(key.key, key.records, key.taken_back) for key in found] == [(("a",), 2, 1)]
        with beside(store) as database, database.transaction() as cursor:
            cursor.execute("UPDATE run_answers SET document = '[[1, 20, 10]]' WHERE question LIKE '%by retractions'")
    with Store.open(tmp_path / "studio.duckdb") as store:
        # What is read is what was kept: nothing is counted again.
        assert [key.taken_back for key in store.flows.keys(run.run_id, "totals")] == [10]
        store.runs.delete(run.run_id)
        assert kept(store) == {}


def test_the_next_epoch_of_a_live_run_asks_anew(store: Store, tmp_path: Path) -> None:
    run = store.runs.create("a run", PLAN.pipeline_json)
    recording = store.record(run.run_id)
    recording.begin(PLAN)
    for number, taken_back in ((0, 1), (1, 2)):
        recording.commit(epoch(number, 1 + 2 * number).write(tmp_path, PLAN.edges))
        [key] = store.flows.keys(run.run_id, "totals")
        assert key.taken_back == taken_back
    assert list(kept(store)) == ["50 keys of totals by ['k'], by retractions"]


def test_what_is_known_of_a_table_is_known_of_its_views(store: Store, tmp_path: Path) -> None:
    seen = edge(
        "seen", columns(n="bigint", key="string"), "[I,UB,UA]", ["key"], view=EdgeView("totals", "out", ("n", "k"))
    )
    planned = plan(*PLAN.edges, seen)
    run = store.runs.create("a run", planned.pipeline_json)
    recording = store.record(run.run_id)
    recording.begin(planned)
    recording.commit(epoch(0, 1).write(tmp_path, PLAN.edges))
    for ask in (store.flows.keys, store.flows.seconds, store.flows.cancelled):
        of_table, questions = ask(run.run_id, "totals"), list(kept(store))
        of_view = ask(run.run_id, "seen")
        assert list(kept(store)) == questions
        assert getattr(of_view, "updates", of_view) == getattr(of_table, "updates", of_table)


def test_answers_that_cannot_be_kept_are_given_all_the_same(store: Store, tmp_path: Path) -> None:
    asked: list[int] = []

    def find() -> list[int]:
        asked.append(1)
        return [1, 2]

    with beside(store) as database, database.transaction() as cursor:
        cursor.execute("DROP TABLE run_answers")
        cursor.execute("CREATE TABLE run_answers (run_id BIGINT, question VARCHAR, found_for VARCHAR, document BLOB[])")
    assert store.cache.get(1, "what", (5,), find) == [1, 2]
    assert store.cache.get(1, "what", (5,), find) == [1, 2]
    assert len(asked) == 1
