"""The memory that DuckDB takes: little, and more only for what does not fit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from storage import Store
from storage.database import connection
from storage.database.connection import MEMORY_MIB, Database
from storage.errors import StoreReadFailed
from tests.storage.written_runs import Epoch, columns, edge, plan

LITTLE, MORE = 24, 100
# Cannot be spilled, and needs more than that.
LARGE = "SELECT list(range) FROM range(4_000_000)"


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setattr(connection, "MEMORY_MIB", LITTLE)
    monkeypatch.setattr(connection, "MORE_MIB", MORE)
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


def test_only_what_lacks_memory_is_repeated(database: Database) -> None:
    attempts = []

    def fails(error: duckdb.Error) -> None:
        attempts.append(limit_mib(database))
        raise StoreReadFailed(database.path, "m") from error

    rising = [LITTLE, MORE, connection._most_memory_mib()]
    for error, limits in ((duckdb.OutOfMemoryException("m"), rising), (duckdb.ConversionException("m"), [LITTLE])):
        attempts.clear()
        with pytest.raises(StoreReadFailed):
            database.with_room(lambda error=error: fails(error))  # type: ignore[misc]
        assert attempts == pytest.approx(limits, rel=0.05)
        assert limit_mib(database) == pytest.approx(LITTLE, abs=1)


def test_what_cannot_be_given_back_at_once_is_with_the_next_query(database: Database) -> None:
    with database.cursor() as other:
        with database._limited(MORE):
            # A result that is not fetched yet, of which nothing can be spilled.
            other.execute(LARGE)
        assert limit_mib(database) > LITTLE
    assert limit_mib(database) == pytest.approx(LITTLE, abs=1)


def test_an_epoch_for_which_it_is_too_little_is_stored_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"c{at}" for at in range(60)]
    wide = edge("wide", columns(**dict.fromkeys(names, "string")), "[I,UB,UA]", ["c0"])
    rows = [(seq, b"\0", "+I", tuple(f"{seq} {name} {'-' * 40}" for name in names)) for seq in range(4000, 0, -1)]
    with Store.open(tmp_path / "s.duckdb") as store:
        run = store.runs.create("wide", "{}")
        recorder = store.record(run.run_id)
        recorder.begin(plan(wide))
        database = store.runs._database
        monkeypatch.setattr(connection, "MEMORY_MIB", LITTLE)
        monkeypatch.setattr(database, "_limits_mib", [LITTLE])
        assert limit_mib(database) == pytest.approx(LITTLE, abs=1)
        limits = []
        set_limit = Database._set_limit
        monkeypatch.setattr(
            Database, "_set_limit", lambda self: (limits.append(max(self._limits_mib)), set_limit(self))
        )
        recorder.commit(Epoch(0, {"wide": rows}).write(tmp_path / "files", [wide]))
        recorder.finish()
        assert max(limits) > LITTLE
        assert limit_mib(database) == pytest.approx(LITTLE, abs=1)
        assert store.runs.edge(run.run_id, "wide").total == 4000
        assert [record.seq for record in store.changelog.page(run.run_id, "wide", limit=3).records] == [1, 2, 3]
