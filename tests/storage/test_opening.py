"""The file: shared in a process, owned by one, never lost."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

import storage
from storage import Store
from storage.database import connection
from storage.database.connection import Database
from storage.database.migrations import MIGRATIONS, VERSION, migrate, version_of
from storage.errors import (
    StoreDamaged,
    StoreForeign,
    StoreLocked,
    StoreReadFailed,
    StoreTooNew,
    StoreUnreadable,
    StoreWriteFailed,
)
from storage.model import RunStatus
from tests.storage.written_runs import Epoch, columns, edge, plan, planned, recorded

ROOT = Path(__file__).resolve().parents[2]
NODE = edge("node", columns(n="bigint"))

ANOTHER_PROCESS = """
import os, resource, signal, sys, time
from pathlib import Path
from storage import Store
from storage.errors import StoreWriteFailed
from storage.recording.recorder import Recording
from tests.storage.written_runs import Epoch, columns, edge, plan, planned, recorded

folder = Path(sys.argv[1])
planned = plan(edge("node", columns(n="bigint")))
store = Store.open(folder / "s.duckdb")
store.pipelines.save("{}", name="kept")
run = store.runs.create("a run", planned.pipeline_json)
recording = store.record(run.run_id)
recording.begin(planned)
recording.commit(Epoch(0, {"node": [(1, b"", "+I", (1,))]}).write(folder, planned.edges))
rows = [(seq, b"", "+I", (hash((seq, 7)),)) for seq in range(2, 200_000)]
large = Epoch(1, {"node": rows}).write(folder, planned.edges)
"""
KILLED = (
    ANOTHER_PROCESS
    + """
Recording._append_late = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
recording.commit(large)
"""
)
FULL = (
    ANOTHER_PROCESS
    + """
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, ((folder / "s.duckdb").stat().st_size + 100_000, hard))
try:
    recording.commit(large)
except StoreWriteFailed as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
print(store.changelog.page(run.run_id, "node").total, store.pipelines.list()[0].name)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
recording.fail("the disk is full.", "node")
ended = store.runs.get(run.run_id)
print(ended.status.value, ended.error, store.runs.list()[0].status.value)
if sys.argv[2:]:
    # Before there is room again.
    os._exit(0)
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
time.sleep(1.1)
store.runs.get(run.run_id)
print(store.queries.run("SELECT status, error, error_node FROM runs").rows)
recording.begin(planned)
print(store.runs.get(run.run_id).status.value)
recording.commit(large)
recording.finish()
print(store.changelog.page(run.run_id, "node").total)
store.close()
"""
)


def run_python(code: str, folder: Path, *given: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", code, str(folder), *given]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)


def test_the_same_file_opened_twice_in_a_process_is_one_store(tmp_path: Path) -> None:
    first = Store.open(tmp_path / "s.duckdb")
    second = Store.open(str(tmp_path / "." / "s.duckdb"))
    assert first is second
    first.close()
    second.pipelines.save("{}", name="still open")
    second.close()
    with duckdb.connect(str(tmp_path / "s.duckdb")) as client:
        assert client.execute("SELECT name FROM pipelines").fetchall() == [("still open",)]


def test_the_place_is_set_by_the_environment_or_is_in_the_users_data_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CHANGELOG_STUDIO_STORE", str(tmp_path / "mine.duckdb"))
    assert storage.default_path() == tmp_path / "mine.duckdb"
    monkeypatch.delenv("CHANGELOG_STUDIO_STORE")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    assert storage.default_path() == tmp_path / "changelog-studio" / "studio.duckdb"


@pytest.mark.slow
def test_a_second_process_is_told_who_has_the_file(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from storage import Store\n"
        "try:\n    Store.open(Path(sys.argv[1]) / 's.duckdb')\n"
        "except Exception as error:\n    print(type(error).__name__, error)"
    )
    with Store.open(tmp_path / "s.duckdb"):
        said = run_python(code, tmp_path).stdout
    assert said.startswith(StoreLocked.__name__)
    assert f"the store {tmp_path.resolve() / 's.duckdb'} is in use by process" in said
    assert "CHANGELOG_STUDIO_STORE or --store" in said


def test_a_file_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    Store.open(path).close()
    with duckdb.connect(str(path)) as client:
        client.execute("INSERT INTO migrations (number, name) VALUES (99, 'from the future')")
    before = path.read_bytes()
    with pytest.raises(StoreTooNew, match="has version 99, and this studio reads up to"):
        Store.open(path)
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.duckdb").write_text("a,b\n1,2\n" * 1000)
    with pytest.raises(StoreUnreadable, match="cannot be opened"):
        Store.open(tmp_path / "s.duckdb")


def test_a_migration_that_fails_leaves_the_file_at_the_version_before(tmp_path: Path) -> None:
    database = Database(tmp_path / "s.duckdb")
    migrate(database)
    broken = (*MIGRATIONS, (VERSION + 1, "broken", "CREATE TABLE half (a INTEGER); SELECT nonsense"))
    with pytest.raises(StoreWriteFailed):
        migrate(database, broken)
    with database.cursor() as cursor:
        assert version_of(cursor) == VERSION
        assert cursor.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'half'").fetchone() == (0,)
    fixed = (*MIGRATIONS, (VERSION + 1, "whole", "CREATE TABLE half (a INTEGER)"))
    migrate(database, fixed)
    migrate(database, fixed)
    with database.cursor() as cursor:
        assert version_of(cursor) == VERSION + 1
    database.close()


def test_the_file_is_closed_while_it_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that answers soon is waited for, one that goes on is ended; nobody has the file after."""
    path = tmp_path / "s.duckdb"
    for rows, patience in ((300_000_000, 60.0), (10**13, 0.3)):
        monkeypatch.setattr(connection, "_PATIENCE_S", patience)
        database = Database(path)
        database.rows("SELECT 1")
        with ThreadPoolExecutor(1) as others:
            asked = others.submit(database.rows, f"SELECT count(*) FROM range({rows}) WHERE (range * 7) % 13 = 5")
            time.sleep(0.1)
            database.close()
            if patience > 1:
                assert asked.result() == [(23_076_923,)]
            else:
                with pytest.raises(StoreReadFailed):
                    asked.result()
        with duckdb.connect(str(path), read_only=True, config={"threads": 1}) as another:
            assert another.execute("SELECT 1").fetchall() == [(1,)]


def test_a_run_whose_process_is_gone_is_marked_and_can_be_taken_up_again(tmp_path: Path) -> None:
    planned = plan(NODE)
    with Store.open(tmp_path / "s.duckdb") as store:
        run = store.runs.create("a run", planned.pipeline_json)
        recording = store.record(run.run_id)
        recording.begin(planned)
        recording.commit(Epoch(0, {"node": [(1, b"", "+I", (1,))]}).write(tmp_path, planned.edges))
        closed_at = datetime.now(UTC).replace(tzinfo=None)
    with Store.open(tmp_path / "s.duckdb") as store:
        found = store.runs.get(run.run_id)
        assert found.finished_at is not None, "it ended with its last commit"
        assert found.started_at <= found.finished_at <= closed_at
        assert found.status is RunStatus.INTERRUPTED
        assert "closed or killed" in found.error
        assert store.changelog.page(run.run_id, "node").total == 1
        recording = store.record(run.run_id)
        recording.begin(planned)
        assert store.runs.get(run.run_id).status is RunStatus.RUNNING
        recording.commit(Epoch(1, {"node": [(2, b"", "+I", (2,))]}).write(tmp_path, planned.edges))
        recording.finish()
        assert store.changelog.page(run.run_id, "node").total == 2


def without_shares(client: duckdb.DuckDBPyConnection) -> None:
    """The catalog as studios made it that kept all records, in the store."""
    for column in ("share", "left_out", "stays"):
        client.execute(f"ALTER TABLE run_edges DROP COLUMN {column}")
    for table in ("run_staying_files", "staying_folders", "run_cut_values"):
        client.execute(f"DROP TABLE {table}")


def _before_outcomes(client: duckdb.DuckDBPyConnection) -> None:
    """Make the store what it was before late records said whether they were dropped or used."""
    client.execute("DELETE FROM migrations WHERE number >= 13")
    client.execute("UPDATE run_problems SET dropped = dropped + used")
    client.execute("ALTER TABLE run_problems DROP COLUMN used")
    client.execute("ALTER TABLE run_problems RENAME COLUMN dropped TO late")
    client.execute("DROP TABLE run_late_records")
    without_shares(client)
    for column in ("dropped", "used", "entry", "entries"):
        client.execute(f"ALTER TABLE run_1._late DROP COLUMN {column}")
    kinds = "ENUM('in time', 'out of order', 'late')"
    was = "CASE WHEN state IN ('dropped', 'late but used') THEN 'late' ELSE state::VARCHAR END"
    client.execute(f"ALTER TABLE run_1._events ALTER state TYPE {kinds} USING ({was})::{kinds}")
    client.execute("UPDATE run_1._overview SET state = 'late' WHERE state IN ('dropped', 'late but used')")


def test_late_records_of_an_older_studio_say_whether_they_were_dropped(tmp_path: Path) -> None:
    """Windows of 10 ms, a new one every 5 ms: event 4 missed both of its windows, event 5 only the first."""
    keys = {"left_keys": ["ts"], "right_keys": ["ts"]}
    document = {
        "nodes": [
            {"id": "joined", "operator": "temporal_join", "parameters": {"kind": "left", **keys}},
            {
                "id": "windows",
                "operator": "window_aggregate",
                "parameters": {
                    "kind": "hop",
                    "size_ms": 10,
                    "slide_ms": 5,
                    "aggregates": [{"function": "COUNT", "name": "n"}],
                },
            },
        ],
        "edges": [{"source": "clicks", "target": node} for node in ("joined", "windows")],
    }
    edges = (
        edge("clicks", columns(ts="bigint*"), watermark_delay_ms=0),
        edge("joined", columns(n="bigint"), operator="temporal_join"),
        edge("windows", columns(n="bigint"), operator="window_aggregate"),
    )
    late = [
        (
            "joined",
            "left",
            2,
            b"",
            7,
            None,
            None,
            20,
            13,
            "the version of its time had been let go when it arrived",
            False,
            "x",
        ),
        (
            "joined",
            "right",
            3,
            b"",
            8,
            None,
            None,
            20,
            12,
            "rows of its time had been joined before it arrived",
            False,
            "x",
        ),
        ("windows", "in", 4, b"", 7, 0, 10, 20, 11, "closed"),
        ("windows", "in", 4, b"", 7, 5, 15, 20, 6, "closed"),
        ("windows", "in", 5, b"", 17, 10, 20, 20, 1, "closed", False, ""),
    ]
    times = (20, 7, 8, 7, 17)
    marks = [(seq, "clicks", time, 20, False) for seq, time in enumerate(times, 1)]
    with Store.open(tmp_path / "s.duckdb") as store:
        run = recorded(store, tmp_path, planned(json.dumps(document), edges), Epoch(0, watermarks=marks, late=late))
        counters, totals = store.runs.counters(run), store.late.totals(run)
        entries = store.queries.run("SELECT seq, dropped, used IS NULL, entry, entries FROM run_1._late").rows
        points = store.timeline.timeline(run).points.to_pylist()
    with duckdb.connect(str(tmp_path / "s.duckdb")) as client:
        _before_outcomes(client)
    with Store.open(tmp_path / "s.duckdb") as store:
        assert store.queries.run("SELECT seq, dropped, used IS NULL, entry, entries FROM run_1._late").rows == entries
        assert (store.runs.counters(run), store.late.totals(run)) == (counters, totals)
        assert store.timeline.timeline(run).points.to_pylist() == points
        assert [point["state"] for point in points] == [
            "in time",
            "late but used",
            "late but used",
            "dropped",
            "late but used",
        ]
        assert store.queries.run("SELECT DISTINCT state FROM run_1._overview ORDER BY 1").rows == (
            ("dropped",),
            ("in time",),
        )


def test_a_run_of_an_older_studio_is_read_and_taken_up_again(tmp_path: Path) -> None:
    """Its lifetimes were noted with every epoch, and nothing said so."""
    totals = edge("totals", columns(k="string", n="bigint"), "[I,UA]", ["k"])
    its_plan = plan(totals)
    with Store.open(tmp_path / "s.duckdb") as store:
        run = store.runs.create("a run", its_plan.pipeline_json)
        recording = store.record(run.run_id)
        recording.begin(its_plan)
        first = Epoch(0, {"totals": [(1, b"\0", "+I", ("a", 1)), (2, b"\0", "+U", ("a", 2))]})
        recording.commit(first.write(tmp_path, its_plan.edges))
        store.lifetimes.note(store.runs.edge(run.run_id, "totals"))
    with duckdb.connect(str(tmp_path / "s.duckdb")) as client:
        client.execute('CREATE TABLE run_1."_lifetimes totals" AS FROM run_1."_lifetimes of totals"')
        client.execute('DROP VIEW run_1."_lifetimes of totals"')
        for part in ("ended", "open"):
            client.execute(f'DROP TABLE run_1."_lifetimes {part} totals"')
        _before_outcomes(client)
        client.execute("DELETE FROM migrations WHERE number >= 4")
        later = ("run_live", "run_retention", "run_edge_retention", "run_conditions", "run_warnings", "saved_views")
        for table in later:
            client.execute(f"DROP TABLE {table}")
        client.execute("DROP SEQUENCE view_ids")
        client.execute("ALTER TABLE run_epochs DROP COLUMN decision")
        for table, column in (
            *(("runs", name) for name in ("made_by", "identity", "composed")),
            ("pipeline_versions", "made_by"),
            ("pipelines", "identity"),
            ("drafts", "identity"),
        ):
            client.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        client.execute("INSERT INTO pipelines (name) VALUES ('old')")
        client.execute("INSERT INTO drafts (key, document, saved_at) VALUES ('k', '{}', '2026-01-01')")
        client.execute("UPDATE runs SET pipeline_id = 1, pipeline_version = 1")
        client.execute("INSERT INTO pipeline_versions (pipeline_id, version, document, note) VALUES (1, 1, '{}', '')")
        client.execute("DROP TABLE run_lifetimes")
        client.execute("ALTER TABLE run_edges DROP COLUMN shows")
        client.execute("CREATE TABLE run_1._seconds (node VARCHAR)")
        client.execute(
            'CREATE OR REPLACE MACRO run_1."totals as of"(event) AS TABLE SELECT c.k, c.n FROM run_1.totals c '
            'JOIN run_1."_lifetimes totals" l ON l.opened = c.rowid WHERE l.seq <= event AND l.until_seq > event'
        )
    with Store.open(tmp_path / "s.duckdb") as store:
        assert [row.values for row in store.changelog.table_as_of(run.run_id, "totals", 2).rows] == [("a", 2)]
        # It belongs to its pipeline, as one of today does.
        assert store.pipelines.load(1).identity == store.runs.get(run.run_id).identity == "pipeline-1"
        assert store.drafts.load("k").identity == "draft-k"
        assert store.runs.composed(run.run_id) == its_plan.pipeline_json
        assert store.queries.run("SELECT records, last_seq FROM run_lifetimes").rows == ((2, 2),)
        kept = {table.name for table in store.catalog.tables("run_1") if table.name.startswith("_lifetimes")}
        assert "_lifetimes totals" not in kept
        assert "_lifetimes open totals" in kept
        recording = store.record(run.run_id)
        recording.begin(its_plan)
        recording.commit(Epoch(1, {"totals": [(3, b"\0", "+U", ("a", 3))]}).write(tmp_path, its_plan.edges))
        assert store.queries.run('FROM run_1."totals as of"(3)').rows == (("a", 3),)
        assert store.queries.run('FROM run_1."totals as of"(1)').rows == (("a", 1),)
        assert [row.values for row in store.changelog.table_as_of(run.run_id, "totals", 3).rows] == [("a", 3)]


@pytest.mark.slow
def test_a_kill_in_the_middle_of_a_commit_loses_that_epoch_only(tmp_path: Path) -> None:
    killed = run_python(KILLED, tmp_path)
    assert killed.returncode == -9, killed.stderr
    with Store.open(tmp_path / "s.duckdb") as store:
        run = store.runs.list()[0]
        assert (run.status, run.epochs_done) == (RunStatus.INTERRUPTED, 1)
        assert store.changelog.page(run.run_id, "node").total == 1
        assert len(store.changelog.page(run.run_id, "node").records) == 1
        assert [saved.name for saved in store.pipelines.list()] == ["kept"]


@pytest.mark.slow
def test_a_full_disk_is_a_sentence_and_loses_nothing(tmp_path: Path) -> None:
    said = run_python(FULL, tmp_path)
    assert said.returncode == 0, said.stderr
    sentence, before, shown, stored, again, after = said.stdout.splitlines()
    assert sentence.startswith("the disk is full at the store")
    assert (before, shown) == ("1 kept", "failed the disk is full. failed")
    assert (stored, again) == ("(('failed', 'the disk is full.', 'node'),)", "running")
    assert after == "199999"
    assert not list(tmp_path.glob("*.ends"))


@pytest.mark.slow
def test_a_run_that_a_full_disk_failed_is_not_taken_for_a_killed_one_by_the_next_process(tmp_path: Path) -> None:
    said = run_python(FULL, tmp_path, "leave")
    assert said.returncode == 0, said.stderr
    with Store.open(tmp_path / "s.duckdb") as store:
        run = store.runs.get(1)
        assert (run.status, run.error, run.error_node) == (RunStatus.FAILED, "the disk is full.", "node")
        assert store.changelog.page(1, "node").total == 1
        [raw] = store.queries.run("SELECT status, error FROM runs").rows
        assert raw == ("failed", "the disk is full.")
    assert not list(tmp_path.glob("*.ends"))


def test_a_database_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    for name, sql in [("a", "CREATE TABLE sales (n INT)"), ("b", "CREATE TABLE migrations (id INT)")]:
        path = tmp_path / f"{name}.duckdb"
        with duckdb.connect(str(path)) as client:
            client.execute(sql)
        before = path.read_bytes()
        with pytest.raises(StoreForeign, match="is not a store of the studio but a database with other tables"):
            Store.open(path)
        assert path.read_bytes() == before


def test_a_damaged_file_is_said_to_be_damaged(tmp_path: Path) -> None:
    whole = tmp_path / "whole.duckdb"
    with Store.open(whole) as store:
        for number in range(50):
            store.pipelines.save("{}" * 1000, name=f"pipeline {number}")
    data = whole.read_bytes()
    middle = len(data) // 2
    block = 3 * 262_144 + 12_288
    for damaged in (data[:middle], data[: len(data) - 4096], data[:block] + b"\xff" * 8 + data[block + 8 :]):
        path = tmp_path / "damaged.duckdb"
        path.write_bytes(damaged)
        with pytest.raises(StoreDamaged, match="is damaged: .* Restore a copy of it"):
            _read_and_write(path)


def _read_and_write(path: Path) -> None:
    with Store.open(path) as store:
        store.pipelines.list()
        store.pipelines.save("{}", name="another")


def test_what_is_stored_is_readable_for_this_user_only(tmp_path: Path) -> None:
    with Store.open(tmp_path / "made" / "s.duckdb") as store:
        store.pipelines.save("{}", name="mine")
        modes = {path.name: path.stat().st_mode & 0o777 for path in [*tmp_path.iterdir(), *tmp_path.glob("*/*")]}
    assert modes == {"made": 0o700, "s.duckdb": 0o600, "s.duckdb.wal": 0o600}
