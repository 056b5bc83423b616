"""Tables of PostgreSQL and MariaDB, read once: their types, their order, and errors."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from engine.errors import PipelineError, SourceError, StudioError
from engine.reading.tables import server_table
from engine.reading.tables.server_table import TableServer
from engine.sources.mysql import MySql
from engine.sources.postgres import Postgres
from tests.engine.sources import mariadb_server, postgres_server
from tests.engine.sources.test_tables import rows_of

Run = Callable[..., list[tuple[Any, ...]]]


@dataclass
class Shop:
    """A database with a read-only user, ada with the password `pw`."""

    make: type[TableServer]
    where: dict[str, Any]
    run: Run

    def source(self, table: str, **parameters: Any) -> TableServer:
        """The source of a table, with the table's columns."""
        made = self.make.model_validate({**self.where, "table_name": table, **parameters})
        if "columns" in parameters:
            return made
        there = made.columns_there("n", Path())
        columns = [column.model_dump() for column in there.columns]
        given = {**self.where, "table_name": table, "columns": columns, "primary_key": there.primary_key}
        return self.make.model_validate({**given, **parameters})


@pytest.fixture(scope="module")
def postgres() -> Iterator[Shop]:
    with tempfile.TemporaryDirectory() as place, postgres_server.server(Path(place)) as running:
        where = {"host": "127.0.0.1", "port": running.port, "database": "postgres", "user": "ada"}
        running.run("CREATE USER ada", "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO ada")
        yield Shop(Postgres, where, running.run)


@pytest.fixture(scope="module")
def mysql() -> Iterator[Shop]:
    with tempfile.TemporaryDirectory() as place, mariadb_server.server(Path(place)) as running:
        user = "CREATE USER ada@'%' IDENTIFIED BY 'pw'"
        running.run("CREATE DATABASE shop CHARACTER SET utf8mb4", user, "GRANT SELECT ON shop.* TO ada@'%'")

        def run(*statements: str) -> list[tuple[Any, ...]]:
            return running.run("USE shop", "SET sql_mode = ''", "SET time_zone = '+02:00'", *statements)

        where = {"host": "127.0.0.1", "port": running.port, "database": "shop", "user": "ada"}
        yield Shop(MySql, {**where, "password": "${env:SHOP_PASSWORD}"}, run)


@pytest.fixture(params=["postgres", "mysql"])
def shop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.setenv("SHOP_PASSWORD", "pw")
    found: Shop = request.getfixturevalue(request.param)
    return found


# The server's type of a column, a value in SQL, the type here, and the value that is read.
POSTGRES = [
    ("smallint", "-7", "smallint", -7),
    ("bigint", "9223372036854775807", "bigint", 2**63 - 1),
    ("numeric(10,2)", "1.50", "decimal(10,2)", Decimal("1.50")),
    ("numeric", "1.5", "string", "1.5"),
    ("real", "0.1", "float", 0.10000000149011612),
    ("double precision", "0.1", "double", 0.1),
    ("boolean", "true", "boolean", True),
    ("text", "'a''ä'", "string", "a'ä"),
    ("date", "'2024-05-01'", "date", date(2024, 5, 1)),
    ("timestamp", "'2024-05-01 12:00:00.123'", "timestamp_ntz", datetime.fromisoformat("2024-05-01 12:00:00.123")),
    ("timestamptz", "'2024-05-01 12:00+02'", "timestamp", datetime(2024, 5, 1, 10, tzinfo=UTC)),
    ("time", "'08:05:30.123456'", "time(3)", time(8, 5, 30, 123000)),
    ("time(0)", "'08:05:30'", "time(0)", time(8, 5, 30)),
    ("timetz", "'08:05:30+02'", "string", "08:05:30+02"),
    ("jsonb", """'{"b": 1}'""", "string", '{"b": 1}'),
    ("bytea", r"'\x00ff'", "string", r"\x00ff"),
    ("int[]", "'{1,2}'", "string", "{1,2}"),
]
MYSQL = [
    ("TINYINT(1)", "1", "boolean", True),
    ("TINYINT UNSIGNED", "255", "smallint", 255),
    ("MEDIUMINT", "-7", "int", -7),
    ("INT UNSIGNED", "4294967295", "bigint", 2**32 - 1),
    ("INT(5) ZEROFILL", "7", "bigint", 7),
    ("BIGINT UNSIGNED", "18446744073709551615", "decimal(20,0)", Decimal(2**64 - 1)),
    ("DECIMAL(10,2)", "1.50", "decimal(10,2)", Decimal("1.50")),
    ("DECIMAL(60,0)", "15", "string", "15"),
    ("FLOAT", "0.1", "float", 0.10000000149011612),
    ("FLOAT", "16777217", "float", 16777216.0),
    ("DOUBLE", "0.1", "double", 0.1),
    ("VARCHAR(9)", "'a''ä'", "string", "a'ä"),
    ("ENUM('x','y')", "'y'", "string", "y"),
    ("JSON", """'{"b": 1}'""", "string", '{"b": 1}'),
    ("BLOB", "x'00ff'", "string", "00ff"),
    ("BIT(1)", "1", "string", "01"),
    ("DATE", "'2024-05-01'", "date", date(2024, 5, 1)),
    ("TIME", "'12:00:01'", "time(0)", time(12, 0, 1)),
    ("TIME(6)", "'12:00:01.123456'", "time(3)", time(12, 0, 1, 123000)),
    ("YEAR", "2024", "int", 2024),
    ("DATETIME(3)", "'2024-05-01 12:00:00.123'", "timestamp_ntz", datetime.fromisoformat("2024-05-01 12:00:00.123")),
    ("TIMESTAMP NULL", "'2024-05-01 12:00:00'", "timestamp", datetime(2024, 5, 1, 10, tzinfo=UTC)),
]


@pytest.mark.parametrize(("kind", "cases"), [("postgres", POSTGRES), ("mysql", MYSQL)])
def test_types_are_those_of_the_server(
    kind: str, cases: list[tuple[str, str, str, Any]], request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "pw")
    shop: Shop = request.getfixturevalue(kind)
    columns = ", ".join(f"c{at} {type_}" for at, (type_, *_) in enumerate(cases))
    values = ", ".join(value for _, value, *_ in cases)
    nulls = ", ".join("NULL" for _ in cases)
    shop.run(f"CREATE TABLE kinds ({columns})", f"INSERT INTO kinds VALUES ({values}), ({nulls})")
    source = shop.source("kinds")
    schema = source.derive("n", Path()).schema
    assert [str(column.type) for column in schema] == [type_ for _, _, type_, _ in cases]
    records, rejected = rows_of(source, Path())
    assert rejected == []
    assert records == [(1, *(None for _ in cases)), (2, *(value for *_, value in cases))]


def test_rows_come_in_an_order_that_is_always_the_same(shop: Shop) -> None:
    shop.run(
        "CREATE TABLE numbers (id INT PRIMARY KEY, name VARCHAR(9), n INT)",
        "INSERT INTO numbers VALUES (3, 'b', 1), (1, 'B', 1), (2, 'a', NULL), (4, 'b', 0)",
        "CREATE VIEW seen AS SELECT name, n FROM numbers",
    )
    assert shop.source("numbers").primary_key == ("id",)
    for order, wanted in (((), [1, 2, 3, 4]), (("name",), [1, 2, 3, 4]), (("n",), [2, 4, 1, 3])):
        records, _ = rows_of(shop.source("numbers", order_by=order), Path())
        assert [row[:2] for row in records] == list(enumerate(wanted, 1)), order
    # A view has no key: it is sorted by all columns, texts by their bytes.
    assert [row[1:] for row in rows_of(shop.source("seen"), Path())[0]] == [("B", 1), ("a", None), ("b", 0), ("b", 1)]
    head = shop.source("numbers").head(2, "n", Path(), Path())
    assert [row[1] for row in rows_of(head, Path())[0]] == [1, 2]
    one = shop.source("numbers", columns=[{"name": "n", "type": "BIGINT"}])
    assert [row[1] for row in rows_of(one, Path())[0]] == [1, None, 1, 0]


def test_the_server_tells_about_how_many_rows_there_are(shop: Shop) -> None:
    rows = ", ".join(f"({id_})" for id_ in range(1000))
    analyze = "ANALYZE many" if shop.make is Postgres else "ANALYZE TABLE many"
    view = "CREATE VIEW few AS SELECT * FROM many"
    shop.run("CREATE TABLE many (id INT PRIMARY KEY)", f"INSERT INTO many VALUES {rows}", analyze, view)
    found = shop.source("many").rows_about("n", Path())
    assert found is not None
    assert 900 < found < 1100
    assert shop.source("few").rows_about("n", Path()) == (found if shop.make is Postgres else None)


def test_a_value_that_does_not_fit_rejects_its_row(shop: Shop) -> None:
    shop.run("CREATE TABLE odd (id INT PRIMARY KEY, t VARCHAR(20))", "INSERT INTO odd VALUES (1, '7'), (2, 'x')")
    columns = [{"name": "id", "type": "INT"}, {"name": "t", "type": "INT"}]
    records, [(place, line, raw, reason)] = rows_of(shop.source("odd", columns=columns), Path())
    assert (records, line, raw) == ([(1, 1, 7)], 2, '{"id": "2", "t": "x"}')
    assert place.endswith("odd")
    assert reason == "column 't': \"x\" is not an INT"


def test_a_day_that_there_is_not_rejects_its_row(mysql: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "pw")
    mysql.run("CREATE TABLE days (d DATE)", "INSERT INTO days VALUES ('0000-00-00'), ('2024-02-29')")
    records, [(_, line, _, reason)] = rows_of(mysql.source("days"), Path())
    assert (records, line, reason) == ([(2, date(2024, 2, 29))], 1, "column 'd': \"0000-00-00\" is not a DATE")


def test_a_span_is_no_time_of_day_but_a_text(shop: Shop) -> None:
    is_mysql = shop.make is MySql
    beyond = "'-12:00:01'" if is_mysql else "'24:00:00'"
    shop.run(
        "CREATE TABLE spans (id INT PRIMARY KEY, t TIME)", f"INSERT INTO spans VALUES (1, {beyond}), (2, '23:59:59')"
    )
    records, [(_, line, _, reason)] = rows_of(shop.source("spans"), Path())
    type_ = "TIME(0)" if is_mysql else "TIME(3)"
    assert (records, line) == ([(2, 2, time(23, 59, 59))], 1)
    assert reason == f"column 't': \"{beyond[1:-1]}\" is not a {type_}"
    columns = [{"name": "id", "type": "INT"}, {"name": "t", "type": "STRING"}]
    records, rejected = rows_of(shop.source("spans", columns=columns), Path())
    assert ([row[2] for row in records], rejected) == ([beyond[1:-1], "23:59:59"], [])


WRONG: list[tuple[dict[str, Any], type[StudioError], str]] = [
    ({"table_name": "nothing"}, SourceError, "there is no table .*nothing in 127.0.0.1:.*may not see it"),
    ({"database": "nowhere"}, SourceError, "nowhere.*Check the address and the user"),
    ({"port": 1}, SourceError, "127.0.0.1:1/.*Check the address and the user, and whether the server is running"),
    ({"user": "eve"}, SourceError, "eve.*Check the address and the user"),
    ({"user": " "}, PipelineError, "user: there is none"),
    ({"password": "secret"}, PipelineError, "password: it would be kept and exported with the pipeline"),
    ({"password": "${env:NOT_THERE}"}, SourceError, "names the environment variable NOT_THERE, which is not set"),
    ({"columns": [{"name": "nick", "type": "INT"}]}, PipelineError, "columns: unknown column 'nick'. Available: id"),
    ({"columns": [{"name": "id", "type": "BYTES"}]}, PipelineError, "columns: id is BYTES, which is not read from"),
    ({"order_by": ["nick"]}, PipelineError, "order_by: unknown column 'nick'. Available: id"),
]


@pytest.mark.parametrize(("parameters", "error", "sentence"), WRONG)
def test_what_cannot_be_read_is_a_sentence(
    parameters: dict[str, Any], error: type[StudioError], sentence: str, shop: Shop
) -> None:
    shop.run("CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY)")
    columns = [{"name": "id", "type": "INT"}]
    given = {"table_name": "t", **({"columns": columns} | parameters)}
    source = shop.make.model_validate({**shop.where, **given})
    with pytest.raises(error, match=sentence) as raised:
        rows_of(source, Path())
    assert raised.value.node == "n"
    assert "secret" not in str(raised.value)


def test_no_right_to_read_is_a_sentence(shop: Shop) -> None:
    revoke = "REVOKE SELECT ON hidden FROM ada"
    if shop.make is Postgres:
        shop.run("CREATE TABLE hidden (id INT)", revoke)
        source = shop.source("hidden", columns=[{"name": "id", "type": "INT"}])
        sentence = "permission denied for table hidden"
    else:
        shop.run("CREATE DATABASE other", "CREATE TABLE other.hidden (id INT)")
        source = shop.source("hidden", database="other", columns=[{"name": "id", "type": "INT"}])
        sentence = "Access denied for user 'ada'.* to database 'other'"
    with pytest.raises(SourceError, match=sentence):
        rows_of(source, Path())


def test_a_view_without_end_is_ended(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_table, "ROWS_S", 1)
    wait = "SLEEP(60)" if shop.make is MySql else "pg_sleep(60)::text"
    shop.run(f"CREATE VIEW slow AS SELECT {wait} AS s")
    source = shop.source("slow", columns=[{"name": "s", "type": "STRING"}])
    with pytest.raises(SourceError, match="statement timeout|timed out"):
        rows_of(source, Path())
