"""A table of PostgreSQL that a live run writes: each epoch once, in a transaction with its number."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.contract.frames import changelog_schema
from engine.contract.target import SinkMode, Unreachable, Writing
from engine.errors import PipelineError, SourceError, TargetError
from engine.model import types as t
from engine.model.schema import Column, Schema
from engine.model.types import Type
from engine.reading.servers.address import Address
from engine.writing.allowed import TARGETS
from engine.writing.postgres import PostgresWriter
from engine.writing.targets import PostgresTable
from tests.engine.sources.postgres_server import Server, server
from tests.engine.writing.epochs import epoch, writing

APPEND, UPSERT, CHANGELOG = SinkMode.APPEND, SinkMode.UPSERT, SinkMode.CHANGELOG


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as place, server(Path(place)) as made:
        yield made


@pytest.fixture
def empty(running: Server) -> Server:
    """A server without tables."""
    running.run("DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
    return running


def address(running: Server, user: str = "studio", password: str = "", port: int = 0) -> Address:
    return Address("127.0.0.1", port or running.port, "postgres", user, password, "out", "public")


_OPEN: list[PostgresWriter] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """The connections of a test."""
    yield
    while _OPEN:
        _OPEN.pop().close()


def writer(running: Server, mode: SinkMode, run: str = "run", **given: Any) -> PostgresWriter:
    made = PostgresWriter(writing(Path(), mode, run), address(running, **given))
    _OPEN.append(made)
    made.last()
    return made


def rows(running: Server) -> list[tuple[Any, ...]]:
    return running.run("SELECT k, v FROM out ORDER BY k, v")


def test_a_table_by_key_has_the_last_change_of_each_key(empty: Server) -> None:
    made = writer(empty, UPSERT)
    made.write(0, epoch(1, "+I a 1", "+I b 1", "+U a 2", "+I c NULL"))
    assert rows(empty) == [("a", 2), ("b", 1), ("c", None)]
    made.write(3, epoch(5, "-D b 1", "+U c 7", "-U a 2"))
    assert rows(empty) == [("c", 7)]
    assert writer(empty, UPSERT).last() == 3


def test_an_epoch_that_is_there_is_not_written_again(empty: Server) -> None:
    made = writer(empty, APPEND)
    for _ in range(2):
        made.write(0, epoch(1, "+I a 1", "+I a 1"))
    made.write(1, epoch(3, "+I b NULL"))
    assert rows(empty) == [("a", 1), ("a", 1), ("b", None)]


_RECORDS = st.lists(
    st.tuples(st.sampled_from(["+I", "+U", "-D", "-U"]), st.sampled_from("abc"), st.integers(0, 9)).map(
        lambda each: " ".join(map(str, each))
    )
)


@given(epochs=st.lists(_RECORDS, max_size=5))
@settings(deadline=None, max_examples=25)
def test_a_table_is_what_its_changes_make(running: Server, epochs: list[list[str]]) -> None:
    while _OPEN:
        _OPEN.pop().close()
    running.run("DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
    wanted: dict[str, int] = {}
    for number, records in enumerate(epochs):
        made = writer(running, UPSERT)
        made.write(number, epoch(1, *records))
        made.close()
        for kind, key, value in map(str.split, records):
            wanted.pop(key, None)
            if kind in ("+I", "+U"):
                wanted[key] = int(value)
    if epochs:
        assert dict(rows(running)) == wanted


def test_of_two_processes_that_write_a_run_one_fails(empty: Server) -> None:
    one, two = writer(empty, APPEND), writer(empty, APPEND)
    one.write(0, epoch(1, "+I a 1"))
    one.write(1, epoch(2, "+I b 1"))
    with pytest.raises(TargetError, match="another process writes this run"):
        two.write(2, epoch(3, "+I c 1"))
    assert rows(empty) == [("a", 1), ("b", 1)]


@pytest.mark.parametrize(
    ("ddl", "said"),
    [
        ("CREATE TABLE out (k text PRIMARY KEY)", "has no column v"),
        ("CREATE TABLE out (k text PRIMARY KEY, v date)", "has the column v as date, not bigint"),
        ("CREATE TABLE out (k text, v bigint)", "has no primary key or unique index of k"),
        ("CREATE TABLE out (k text PRIMARY KEY, v bigint, w int NOT NULL)", "has a column w that must not be empty"),
        (
            "CREATE TABLE out AS SELECT 'a' AS k, 1::bigint AS v; ALTER TABLE out ADD PRIMARY KEY (k)",
            "rows that are not",
        ),
    ],
)
def test_a_table_that_does_not_fit_is_refused(empty: Server, ddl: str, said: str) -> None:
    empty.run(ddl)
    with pytest.raises(TargetError, match=said):
        writer(empty, UPSERT)


@pytest.mark.parametrize(
    ("ddl", "records", "said"),
    [
        ("CREATE TABLE out (k text PRIMARY KEY, v smallint)", "+I b 40000", "out of range"),
        ("CREATE TABLE out (k text PRIMARY KEY, v bigint CHECK (v < 9))", "+I b 9", "violates check constraint"),
        ("CREATE TABLE out (k varchar(2) PRIMARY KEY, v bigint)", "+I long 1", "too long"),
        ("CREATE TABLE out (k text PRIMARY KEY, v bigint)", "+I NULL 1", "null value in column"),
    ],
)
def test_an_epoch_that_the_table_refuses_leaves_nothing(empty: Server, ddl: str, records: str, said: str) -> None:
    empty.run(ddl)
    made = writer(empty, UPSERT)
    made.write(0, epoch(1, "+I a 1"))
    with pytest.raises(TargetError, match=rf"{said}.* and resume the run"):
        made.write(1, epoch(2, "+I a 2", records))
    assert rows(empty) == [("a", 1)]
    made.write(1, epoch(2, "+I a 3"))
    assert rows(empty) == [("a", 3)]


def test_a_connection_that_is_lost_is_made_again(empty: Server) -> None:
    made = writer(empty, APPEND)
    empty.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'changelog-studio'")
    with pytest.raises(Unreachable, match="PostgreSQL at 127"):
        made.write(0, epoch(1, "+I a 1"))
    made.write(0, epoch(1, "+I a 1"))
    assert rows(empty) == [("a", 1)]


def test_a_user_who_may_not_create_is_told_what_to_create(empty: Server) -> None:
    empty.run("DROP ROLE IF EXISTS reader", "CREATE ROLE reader LOGIN")
    with pytest.raises(
        TargetError, match=r'permission denied .* CREATE TABLE "public"\."out" \("k" text, "v" bigint\)'
    ):
        writer(empty, APPEND, user="reader")
    with pytest.raises(TargetError, match="Correct the database, the user or the password"):
        writer(empty, APPEND, user="nobody")


def test_a_server_that_is_not_there_is_waited_for(running: Server) -> None:
    with pytest.raises(Unreachable, match="PostgreSQL at 127"):
        writer(running, APPEND, port=1)


def test_parameters_that_do_not_fit_are_refused(running: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = address(running, password="plain")
    for target, mode, said in (
        (address(running, user=" "), APPEND, "user: there is none"),
        (plain, APPEND, "it would be kept and exported"),
        (address(running), CHANGELOG, "a table has rows, not their changes"),
    ):
        with pytest.raises(PipelineError, match=said):
            PostgresTable(target).check(writing(Path(), mode))
    with pytest.raises(TargetError, match="NOT_THERE, which is not set"):
        writer(running, APPEND, password="${env:NOT_THERE}")
    monkeypatch.setenv("CHANGELOG_STUDIO_FOLDERS", "/srv")
    monkeypatch.setenv(TARGETS, "db.example.com:5432")
    with pytest.raises(PipelineError, match="none of the places"):
        PostgresTable(address(running)).require(writing(Path(), APPEND))
    # A target is in one list, whatever sources may read.
    monkeypatch.setenv("CHANGELOG_STUDIO_ADDRESSES", "db.example.com")
    monkeypatch.setenv(TARGETS, f"127.0.0.1:{running.port}")
    PostgresTable(address(running)).writer(writing(Path(), APPEND))
    monkeypatch.delenv("CHANGELOG_STUDIO_FOLDERS")
    monkeypatch.delenv(TARGETS)
    with pytest.raises(PipelineError, match="none of the places"):
        PostgresTable(address(running)).require(writing(Path(), APPEND))
    with pytest.raises(SourceError, match="is not a host name"):
        PostgresTable(replace(address(running), host="a..b")).require(writing(Path(), APPEND))


def test_texts_come_as_they_are(empty: Server) -> None:
    made = writer(empty, APPEND)
    table = epoch(1, "+I a 1", "+I b 2", "+I c 3", "+I d 4")
    texts = ['a "quoted", text', "", "two\nlines", "\\."]
    made.write(0, table.set_column(table.column_names.index("k"), table.schema.field("k"), [texts]))
    assert empty.run("SELECT k FROM out ORDER BY v") == [(text,) for text in texts]


VALUES: list[tuple[Type, Any]] = [
    (t.BOOLEAN, True),
    (t.TINYINT, -128),
    (t.SMALLINT, 32767),
    (t.INT, -(2**31)),
    (t.BIGINT, 2**63 - 1),
    (t.DOUBLE, 0.1),
    (t.FLOAT, 0.5),
    (t.Decimal(38, 3), Decimal("12345678901234567890123456789012345.678")),
    (t.STRING, "ä"),
    (t.BINARY, b"\0\xff"),
    (t.DATE, date(1969, 12, 31)),
    (t.Timestamp(6), datetime(1969, 12, 31, 23, 59, 59, 999999)),  # noqa: DTZ001
    (t.Timestamp(3, is_zoned=True), datetime(2026, 11, 28, 10, 0, 0, 5000, UTC)),
]


def test_values_of_each_type_are_read_as_they_are(empty: Server) -> None:
    schema = Schema((*(Column(f"c{at}", type_) for at, (type_, _) in enumerate(VALUES)), Column("n", t.STRING)))
    made = writer_of(schema, empty)
    made.last()
    given = [1, b"", 0, *(value for _, value in VALUES), None]
    fields = changelog_schema(schema)
    made.write(0, pa.table([pa.array([value], each.type) for value, each in zip(given, fields, strict=True)], fields))
    assert writer_of(schema, empty).last() == 0
    assert empty.run("SET TimeZone = UTC", "SELECT * FROM out") == [(*(value for _, value in VALUES), None)]


def writer_of(schema: Schema, running: Server) -> PostgresWriter:
    made = PostgresWriter(Writing("out", "run", schema, APPEND, (), Path()), address(running))
    _OPEN.append(made)
    return made


def test_a_type_without_an_equivalent_is_refused(running: Server) -> None:
    schema = Schema((Column("many", t.Array(t.INT)),))
    with pytest.raises(PipelineError, match="many is ARRAY<INT>, which is not written"):
        PostgresTable(address(running)).check(Writing("out", "run", schema, APPEND, (), Path()))
