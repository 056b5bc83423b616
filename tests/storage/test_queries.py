"""A person's own SQL reads the store, and can do nothing else: every way out that was thought of is tried."""

from __future__ import annotations

import csv
import io
import pickle
import threading
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import duckdb
import pytest

from storage import Store
from storage.errors import QueryFailed, QueryRefused, QueryStopped
from storage.queries import reader
from storage.queries.process import OnWait, Processes, Request, _Values
from storage.spreadsheets import harmless, harmless_sql
from tests.storage.beside import beside
from tests.storage.written_runs import columns, edge, plan, recorded
from tests.ui import seeded_store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One store for all: nothing that is asked may change it."""
    folder = tmp_path_factory.mktemp("queries")
    with Store.open(folder / "studio.duckdb") as opened:
        seeded_store.windows(opened, folder)
        yield opened


@pytest.fixture
def run() -> str:
    return "run_1"


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Queries are answered in this process: to start another takes longer than most answers."""
    files: list[BinaryIO] = []
    open_file = reader._Held.open

    def opened(held: reader._Held, path: str, mode: str = "rb") -> BinaryIO:
        files.append(open_file(held, path, mode))
        return files[-1]

    def answer(_: Processes, request: Request, __: OnWait | None) -> tuple[Any, ...]:
        found: tuple[Any, ...] = _Values(io.BytesIO(pickle.dumps(reader.answer(asdict(request)), protocol=5))).load()
        return found

    monkeypatch.setattr(reader._Held, "open", opened)
    monkeypatch.setattr(Processes, "answer", answer)
    yield
    # The reader leaves that to the end of its process.
    for file in files:
        file.close()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM clicks",
        "FROM run_1.clicks",
        "FROM clicks ORDER BY seq; -- all of them",
        "FROM studio.run_1.clicks",
        "WITH late AS (FROM _late) SELECT * FROM late, clicks WHERE late.seq = clicks.seq",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT sum(i) FROM n",
        'FROM "per_window as of"(4)',
        'SELECT * FROM run_1."per_window as of"(4)',
        "SELECT seq, lag(ts) OVER (ORDER BY seq) FROM clicks",
        "SELECT list(id), max_by(id, ts), [x + 1 for x in [1, 2]], {'a': 1}.a FROM clicks GROUP BY id",
        "SELECT 'x' || 'y', id LIKE '%1', -1 + 2 * 3 % 2, NOT true, id[1] FROM clicks",
        "SELECT * FROM (VALUES (1, 2)) v(a, b), range(3), unnest([1, 2])",
        "SELECT CASE WHEN EXISTS (FROM clicks) THEN date_trunc('day', make_timestamp_ms(ts)) END FROM clicks",
        "SELECT count(*) FILTER (kind = '+I') FROM clicks ASOF JOIN _events USING (seq)",
        "SELECT COLUMNS(lambda c: c LIKE '%s') FROM clicks",
        "SUMMARIZE clicks",
        "DESCRIBE clicks",
        "SHOW TABLES",
        "FROM information_schema.columns",
        "FROM runs",
        "FROM duckdb_tables()",
        "SELECT 1 AS a, 2 AS a",
    ],
)
@pytest.mark.usefixtures("here")
def test_what_reads_the_store_is_answered(store: Store, run: str, sql: str) -> None:
    assert store.queries.run(sql, schema=run).columns


def test_columns_with_one_name_are_told_apart(store: Store) -> None:
    assert len(set(store.queries.run("SELECT 1 AS a, 2 AS a, 3 AS a").columns)) == 3


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "-- nothing",
        "SELEC 1",
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP TABLE runs",
        "INSERT INTO runs SELECT * FROM runs",
        "UPDATE runs SET name = 'x'",
        "DELETE FROM runs",
        "MERGE INTO runs USING runs r ON true WHEN MATCHED THEN DELETE",
        "TRUNCATE runs",
        "DROP TABLE runs",
        "ALTER TABLE runs ADD COLUMN x INT",
        "CREATE TABLE t AS SELECT 1",
        "CREATE TEMP TABLE t AS SELECT 1",
        "CREATE MACRO m() AS TABLE FROM read_csv('x')",
        "WITH x AS (INSERT INTO runs SELECT * FROM runs RETURNING run_id) FROM x",
        "WITH x AS (DELETE FROM runs RETURNING run_id) FROM x",
        "WITH x AS (UPDATE runs SET name = 'x' RETURNING run_id) SELECT * FROM x",
        "COPY runs TO '{file}'",
        "COPY (SELECT 1) TO '{file}'",
        "COPY runs FROM '{file}'",
        "EXPORT DATABASE '{folder}'",
        "IMPORT DATABASE '{folder}'",
        "ATTACH '{file}' AS other",
        "ATTACH ':memory:' AS other",
        "DETACH studio",
        "USE main",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET memory_limit = '1GB'",
        "SET GLOBAL enable_external_access = true",
        "RESET memory_limit",
        "SET VARIABLE x = 1",
        "PRAGMA database_list",
        "PRAGMA enable_profiling",
        "CALL pragma_version()",
        "CALL force_checkpoint()",
        "CHECKPOINT",
        "VACUUM",
        "BEGIN",
        "COMMIT",
        "ROLLBACK",
        "PREPARE q AS SELECT 1",
        "EXECUTE q",
        "EXPLAIN ANALYZE SELECT 1",
        "CREATE SECRET (TYPE s3)",
        "FROM '{file}'",
        'FROM "{file}"',
        "SELECT * FROM '{folder}/*.csv'",
        "FROM read_csv('{file}')",
        "FROM READ_CSV('{file}')",
        "FROM \"read_csv\"('{file}')",
        "FROM main.read_csv('{file}')",
        "FROM system.main.read_csv('{file}')",
        "FROM read_text('{file}')",
        "FROM read_blob('{file}')",
        "FROM read_json('{file}')",
        "FROM read_parquet('{file}')",
        "FROM parquet_scan('{file}')",
        "FROM parquet_metadata('{file}')",
        "FROM read_duckdb('{file}')",
        "FROM sniff_csv('{file}')",
        "FROM glob('{folder}/*')",
        "FROM query('SELECT 1')",
        "FROM query_table('{file}')",
        "FROM query_table(['runs'])",
        "FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
        "SELECT json_serialize_plan('FROM read_csv(''{file}'')')",
        "FROM histogram('{file}', a)",
        "FROM checkpoint()",
        "FROM force_checkpoint()",
        "FROM enable_logging()",
        "FROM duckdb_secrets()",
        "FROM duckdb_settings()",
        "FROM pg_catalog.pg_settings",
        "FROM python_map_function(1)",
        "SELECT nextval('run_ids')",
        "SELECT nextval('main.run_ids') FROM runs",
        "SELECT setseed(0.5)",
        "SELECT sleep_ms(100000)",
        "SELECT write_log('x')",
        "SELECT getvariable('x')",
        "SELECT current_setting('home_directory')",
        "SELECT * FROM runs WHERE run_id IN (FROM read_csv('{file}'))",
        "SELECT (SELECT content FROM read_text('{file}'))",
        "SELECT * FROM runs, LATERAL (FROM read_text('{file}'))",
        "SELECT * FROM (DESCRIBE FROM '{file}')",
        "SUMMARIZE '{file}'",
        "DESCRIBE FROM read_csv('{file}')",
        "DESCRIBE TABLE '{file}'",
        'WITH a AS (WITH "{file}" AS (SELECT 1) SELECT 1) SELECT * FROM "{file}"',
        "WITH RECURSIVE r AS (SELECT 1 UNION ALL FROM read_csv('{file}')) FROM r",
        "SELECT 1 UNION ALL FROM read_csv('{file}')",
        "SELECT list_transform([1], lambda x: (SELECT content FROM read_text('{file}')))",
        "SELECT * FROM runs ORDER BY (SELECT content FROM read_text('{file}'))",
        "SELECT * FROM runs LIMIT (SELECT count(*) FROM read_text('{file}'))",
        "SELECT * FROM runs QUALIFY (SELECT count(*) FROM read_text('{file}')) > 0",
        "SELECT sum(1) OVER (ORDER BY (SELECT content FROM read_text('{file}')))",
        "SELECT count(*) FILTER ((SELECT count(*) FROM read_text('{file}')) > 0)",
        "PIVOT (FROM read_csv('{file}')) ON a",
        "FROM (PIVOT '{file}' ON a USING count(*))",
        "UNPIVOT '{file}' ON a",
        "VALUES ((SELECT content FROM read_text('{file}')))",
        "SELECT * FROM store",
        "SELECT * FROM tmp_path",
        "SELECT $1",
        "SELECT ?",
    ],
)
def test_whatever_else_is_refused(store: Store, run: str, tmp_path: Path, sql: str) -> None:
    folder = tmp_path / "aside"
    folder.mkdir()
    file = folder / "aside.csv"
    file.write_text("a,b\n1,2\n")
    before = sorted(folder.iterdir())
    with pytest.raises((QueryRefused, QueryFailed)):
        store.queries.run(sql.format(file=file, folder=folder), schema=run)
    assert sorted(folder.iterdir()) == before
    assert [(each.name, each.records) for each in store.runs.list()] == [("windows of ten seconds", 12)]


# One call of a function, which DuckDB does not interrupt.
LONG = "SELECT levenshtein(repeat('a', 300000), repeat('b', 300000))"


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE n(i) AS (SELECT 1::BIGINT UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
        "SELECT max(hash(a.range)) FROM range(100000) a, range(100000) b GROUP BY a.range, b.range",
        LONG,
    ],
)
def test_an_endless_query_is_stopped_in_time(store: Store, sql: str) -> None:
    with pytest.raises(QueryStopped, match="longer than 1 s"):
        store.queries.run(sql, time_limit_s=1)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT max(len(l)) FROM (SELECT list(hash(range) || 'x') l FROM range(100000000) GROUP BY range % 7)",
        "SELECT len(repeat('x', 4000000000))",
    ],
)
def test_a_query_that_needs_too_much_memory_is_stopped(store: Store, sql: str) -> None:
    with pytest.raises(QueryStopped, match="more than 200 MiB of memory"):
        store.queries.run(sql, memory_limit_mib=200, time_limit_s=60)


def test_nobody_waits_for_anothers_query_which_can_be_cancelled(store: Store) -> None:
    class Cancelled(BaseException):
        pass

    answered, ended = threading.Event(), threading.Event()

    def wait(_: float) -> None:
        if answered.is_set():
            raise Cancelled

    def ask_long() -> None:
        with pytest.raises(Cancelled):
            store.queries.run(LONG, time_limit_s=600, on_wait=wait)
        ended.set()

    other = threading.Thread(target=ask_long)
    other.start()
    assert store.queries.run("SELECT 1").rows == ((1,),)
    assert not ended.is_set()
    answered.set()
    other.join(30)
    assert ended.is_set()


def test_a_result_that_no_page_could_show_is_not_fetched(store: Store) -> None:
    with pytest.raises(QueryStopped, match="larger than 64 MiB"):
        store.queries.run("SELECT repeat('x', 80000000)")


def test_what_is_read_while_the_file_is_written_anew_is_not_believed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = {"path": str(store.path), "before": [], "sql": "SELECT 1", "csv": "", "memory_limit_mib": 100}
    request["staying"] = {}
    assert reader.answer(request) == ("rows", [("1", "INTEGER")], [(1,)])
    assert reader.headers_of(str(store.path)) != bytes(8192)
    states = iter([b"before", b"after"])
    monkeypatch.setattr(reader, "headers_of", lambda path: next(states))
    assert reader.answer(request) == ("changed",)


def test_a_query_sees_what_was_written_while_the_store_is_written(tmp_path: Path) -> None:
    with Store.open(tmp_path / "busy.duckdb") as busy:
        times = iter(range(4))

        def write(_: float) -> None:
            for _ in times:
                busy.runs.create("x", "")
                with beside(busy) as database:
                    database.checkpoint()
                return

        write(0)
        sql = "SELECT count(*), max(run_id), max(hash(r.range)) FROM runs, range(10000000) r"
        [(found, runs, _)] = busy.queries.run(sql, on_wait=write, time_limit_s=60).rows
        assert found == runs * 10000000 > 0


def test_no_database_fetches_extensions(store: Store) -> None:
    asked = "SELECT value FROM duckdb_settings() WHERE name LIKE 'auto%_known_extensions'"
    assert store._database.rows(asked) == [("false",), ("false",)]


def test_a_huge_cross_join_gives_its_first_rows_at_once(store: Store) -> None:
    result = store.queries.run("SELECT * FROM range(1000000000) a, range(1000) b", rows=10)
    assert (len(result.rows), result.is_cut) == (10, True)


def test_the_limit_on_rows_says_that_there_are_more(store: Store) -> None:
    assert not store.queries.run("FROM range(10)", rows=10).is_cut
    cut = store.queries.run("FROM range(11)", rows=10)
    assert (len(cut.rows), cut.is_cut) == (10, True)


def test_two_people_ask_at_the_same_time(store: Store, run: str) -> None:
    found: list[int] = []

    def ask() -> None:
        found.extend(row[0] for row in store.queries.run("SELECT count(*) FROM clicks", schema=run).rows)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [6, 6, 6, 6]


def test_the_result_is_written_as_csv(store: Store, run: str, tmp_path: Path) -> None:
    path = tmp_path / "result.csv"
    store.queries.export("SELECT id, [ts] AS times FROM clicks ORDER BY seq", path, schema=run)
    lines = list(csv.reader(path.read_text().splitlines()))
    assert lines[:2] == [["id", "times"], ["1", "[1000000050000]"]]
    assert len(lines) == 7


def test_no_cell_of_a_csv_is_a_formula_unless_somebody_wants_it(store: Store, run: str, tmp_path: Path) -> None:
    sql = """SELECT * FROM (VALUES ('=1+1', -5), ('@x', 7), ('-5e3', 0), ('+x', 1), (NULL, 2), ('a-b', 3)) t("=a", b)"""
    path = tmp_path / "result.csv"
    expected = [["'=a", "b"], ["'=1+1", "-5"], ["'@x", "7"], ["-5e3", "0"], ["'+x", "1"], ["", "2"], ["a-b", "3"]]
    store.queries.export(sql, path)
    assert list(csv.reader(path.read_text().splitlines())) == expected
    assert [[harmless(cell.lstrip("'")) for cell in row] for row in expected] == expected
    store.queries.export(sql, path, for_spreadsheets=False)
    assert list(csv.reader(path.read_text().splitlines()))[1] == ["=1+1", "-5"]
    found = duckdb.sql("SELECT " + harmless_sql("t") + " FROM (VALUES ('=1+1'), ('-5e3'), (chr(9))) v(t)").fetchall()
    assert found == [("'=1+1",), ("-5e3",), ("'\t",)]


def test_of_a_run_that_has_kept_nothing_yet_the_catalog_is_answered(store: Store) -> None:
    assert store.queries.run("SELECT count(*) FROM run_epochs WHERE run_id = 99", schema="run_99").rows == ((0,),)


@pytest.mark.usefixtures("here")
def test_every_example_has_an_answer(tmp_path: Path) -> None:
    with Store.open(tmp_path / "studio.duckdb") as store:
        for made in (seeded_store.word_count, seeded_store.windows, seeded_store.two_sources):
            run_id = made(store, tmp_path)
            for example in store.catalog.examples(run_id):
                assert store.queries.run(example.sql, schema=f"run_{run_id}").columns, example.title


@pytest.mark.usefixtures("here")
def test_a_node_may_have_the_name_of_a_keyword(store: Store, tmp_path: Path) -> None:
    edges = [edge(name, columns(k="bigint")) for name in ("union", "Join", "values", "events", "2nd")]
    run_id = recorded(store, tmp_path, plan(*edges))
    tables = {table.name: table.quoted for table in store.catalog.tables(f"run_{run_id}")}
    quoted = [tables[each.node] for each in edges]
    assert quoted == ['"union"', '"Join"', '"values"', "events", '"2nd"']
    for name in quoted:
        assert store.queries.run(f"FROM {name}", schema=f"run_{run_id}").columns


def test_the_tables_are_described(store: Store, run: str) -> None:
    tables = {table.name: table for table in store.catalog.tables(run)}
    assert tables["clicks"].rows == 6
    assert "Changelog of clicks" in tables["clicks"].comment
    assert [column.name for column in tables["clicks"].columns] == ["seq", "step", "kind", "key", "id", "ts"]
    assert "runs" in {table.name for table in store.catalog.tables()}
