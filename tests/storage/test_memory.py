"""The memory that DuckDB takes: little, and more only for what does not fit."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from storage import Store
from storage.database import memory
from storage.database.connection import Database
from storage.database.memory import MEMORY_MIB
from storage.errors import StoreReadFailed
from storage.recording.recorder import Recording
from tests.storage.written_runs import Epoch, columns, edge, plan

LITTLE, MORE = 24, 100
# Cannot be spilled, and needs more than that.
LARGE = "SELECT list(range) FROM range(4_000_000)"


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setattr(memory, "MEMORY_MIB", LITTLE)
    monkeypatch.setattr(memory, "MORE_MIB", MORE)
    opened = Database(tmp_path / "s.duckdb")
    yield opened
    opened.close()


def limit_mib(database: Database) -> float:
    row = database.row("SELECT current_setting('memory_limit')")
    assert row is not None
    return float(row[0].removesuffix("MiB")) if row[0].endswith("MiB") else 1024 * float(row[0].removesuffix("GiB"))


def test_a_store_begins_with_little(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.duckdb"):
        pass
    opened = Database(tmp_path / "s.duckdb")
    assert limit_mib(opened) == pytest.approx(MEMORY_MIB, abs=1)
    opened.close()


@pytest.mark.parametrize("ask", ["rows", "row", "arrow"])
def test_a_query_for_which_it_is_too_little_gets_more_and_gives_it_back(database: Database, ask: str) -> None:
    found = getattr(database, ask)(LARGE)
    values = found.column(0)[0].as_py() if ask == "arrow" else found[0] if ask == "row" else found[0][0]
    assert len(values) == 4_000_000
    assert limit_mib(database) == pytest.approx(LITTLE, abs=1)


def test_only_what_lacks_memory_is_repeated_with_a_little_more(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = []

    def fails(error: duckdb.Error) -> None:
        attempts.append(limit_mib(database))
        raise StoreReadFailed(database.path, "m") from error

    monkeypatch.setattr(memory, "most_memory_mib", lambda: 3 * MORE)
    rising = [LITTLE, MORE, 1.6 * MORE, 2.56 * MORE, 3 * MORE]
    for error, limits in ((duckdb.OutOfMemoryException("m"), rising), (duckdb.ConversionException("m"), [LITTLE])):
        attempts.clear()
        with pytest.raises(StoreReadFailed):
            database.with_room(lambda error=error: fails(error))  # type: ignore[misc]
        assert attempts == pytest.approx(limits, rel=0.05)
        assert limit_mib(database) == pytest.approx(LITTLE, abs=1)


def test_what_cannot_be_given_back_at_once_is_with_the_next_query(database: Database) -> None:
    with database.cursor() as other:
        with database.limited(MORE):
            # A result that is not fetched yet, of which nothing can be spilled.
            other.execute(LARGE)
        assert limit_mib(database) > LITTLE
    assert limit_mib(database) == pytest.approx(LITTLE, abs=1)


def test_an_epoch_for_which_it_is_too_little_is_stored_once_and_the_next_one_gets_more_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"c{at}" for at in range(60)]
    wide = edge("wide", columns(**dict.fromkeys(names, "string")), "[I,UB,UA]", ["c0"])
    monkeypatch.setattr(memory, "MEMORY_MIB", LITTLE)
    attempts = []
    store_epoch = Recording._store
    monkeypatch.setattr(
        Recording, "_store", lambda self, output: (attempts.append(output.epoch), store_epoch(self, output))
    )
    with Store.open(tmp_path / "s.duckdb") as store:
        database = store.runs._database
        monkeypatch.setattr(database, "_limits_mib", [LITTLE])
        assert limit_mib(database) == pytest.approx(LITTLE, abs=1)
        run = store.runs.create("wide", "{}")
        recorder = store.record(run.run_id)
        recorder.begin(plan(wide, epochs=2))
        for epoch, first in enumerate((0, 4000)):
            rows = [
                (seq, b"\0", "+I", tuple(f"{seq} {name} {'-' * 40}" for name in names))
                for seq in range(first + 4000, first, -1)
            ]
            recorder.commit(Epoch(epoch, {"wide": rows}).write(tmp_path / "files", [wide]))
        recorder.finish()
        assert attempts.count(0) > attempts.count(1)
        assert limit_mib(database) == pytest.approx(LITTLE, abs=1)
        assert store.runs.edge(run.run_id, "wide").total == 8000
        assert [record.seq for record in store.changelog.page(run.run_id, "wide", limit=3).records] == [1, 2, 3]


def test_of_two_that_write_much_one_waits(database: Database) -> None:
    entered = threading.Event()

    def enter(*, is_large: bool) -> None:
        with database.alone(is_large=is_large):
            entered.set()

    small, large = (threading.Thread(target=enter, kwargs={"is_large": is_large}) for is_large in (False, True))
    with database.alone(is_large=True):
        small.start()
        assert entered.wait(10)
        small.join()
        entered.clear()
        large.start()
        assert not entered.wait(0.2)
    assert entered.wait(10)
    large.join()
