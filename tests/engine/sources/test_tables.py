"""Tables of files: sheets of workbooks, tables of SQLite and DuckDB files. They are read without Spark."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from engine.errors import StudioError
from engine.examples.from_file import first_pipeline
from engine.reading.files.source import RowFile
from engine.reading.tables import kept_rows, workbook
from engine.sources.duckdb import DuckDb
from engine.sources.excel import Excel
from engine.sources.sqlite import Sqlite
from tests.engine.sources.reading import types
from tests.engine.sources.workbooks import DAY, ERROR, TIME, write_workbook

NOON = datetime.fromisoformat("2024-05-01 12:00")
# 2024-05-01 12:00 as an Excel number.
EXCEL_NOON = 45413.5


def rows_of(source: RowFile, folder: Path) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Records with their lines, and rejected rows, as workers read them."""
    scan = source.scan("n", folder)
    assert scan is not None
    records, rejected = [], []
    for part in scan.parts:
        for read in scan.read(part):
            values = zip(*(column.to_pylist() for column in read.records.columns), strict=True)
            records += [(line, *row) for line, row in zip(read.lines, values, strict=True)]
            rejected += [tuple(each) for each in read.rejected]
    return records, rejected


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_workbook(
        tmp_path / "book.xlsx",
        {
            "Orders": {
                3: [None, "id", "at", "day", "paid", "amount", "id"],
                4: [None, 1, (EXCEL_NOON, TIME), (45413, DAY), True, 1.5, "x"],
                6: [None, 2, (EXCEL_NOON, TIME), (45414, DAY), False, ERROR, "007"],
                7: [None, 3, (45415, TIME), None, True, 2, None],
            },
            "More": {1: ["v"], 2: ["1"], 3: ["n/a"]},
            "Empty": {},
        },
    )
    with sqlite3.connect(tmp_path / "shop.sqlite") as shop:
        shop.execute(
            "CREATE TABLE orders (id INTEGER, name TEXT COLLATE NOCASE, at TEXT, amount REAL, ok BOOLEAN, b BLOB)"
        )
        shop.executemany(
            "INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)",
            [
                (3, "b", "2024-05-01 12:00:00", 0.1, 1, b"\x00\xff"),
                (1, "a", "2024-05-01 12:00:00", 2.0, 0, None),
                (2, "A", "2024-05-01 11:00:00", None, 1, None),
            ],
        )
        shop.execute('CREATE VIEW "big orders" AS SELECT id, name FROM orders WHERE id > 1')
        shop.execute("CREATE TABLE mixed (v INTEGER, w)")
        shop.executemany("INSERT INTO mixed VALUES (?, ?)", [(1, "007"), ("x", "8"), (None, None)])
    shop.close()
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as other:
        other.execute(
            "CREATE TABLE orders AS SELECT * FROM (VALUES "
            "(2, 'b', TIMESTAMP '2024-05-01 12:00:00', 1.50::DECIMAL(10,2), TIMESTAMPTZ '2024-05-01 12:00:00+02', "
            "[1, 2], 170141183460469231731687303715884105727::HUGEINT, '\\x00\\xFF'::BLOB, DATE '2024-05-01'), "
            "(1, NULL, TIMESTAMP '2024-05-01 11:00:00', NULL, NULL, NULL, NULL, NULL, NULL)) "
            't(id, name, "at", amount, seen, tags, huge, raw, day)'
        )
        other.execute('CREATE SCHEMA "s"; CREATE TABLE s."a.b" AS SELECT 1 AS x')
    return tmp_path


def test_a_sheet_is_read_with_the_numbers_of_its_rows(folder: Path) -> None:
    source = Excel(path="book.xlsx")
    assert types(source, folder) == "id bigint, at timestamp_ntz, day date, paid boolean, amount double, id_2 string"
    day = date(2024, 5, 1)
    assert rows_of(source, folder) == (
        [
            (4, 1, NOON, day, True, 1.5, "x"),
            (6, 2, NOON, day.replace(day=2), False, None, "007"),
            (7, 3, NOON.replace(day=3, hour=0), None, True, 2.0, None),
        ],
        [],
    )


def test_the_rows_of_a_sheet_are_counted_with_empty_ones(folder: Path) -> None:
    sheets = {"Orders": 4, "More": 2}
    assert {name: Excel(path="book.xlsx", table=name).rows_about("n", folder) for name in sheets} == sheets


def test_a_cell_that_does_not_fit_is_rejected_with_sheet_and_row(folder: Path) -> None:
    source = Excel(path="book.xlsx", table="More", types={"v": "BIGINT"})
    assert rows_of(source, folder) == (
        [(2, 1)],
        [("book.xlsx, sheet More", 3, '{"v": "n/a"}', "column 'v': \"n/a\" is not a BIGINT")],
    )
    assert [line for line, *_ in rows_of(Excel(path="book.xlsx", table="More", header=False), folder)[0]] == [1, 2, 3]


def test_rows_of_a_database_come_by_the_event_time_and_then_by_all_columns(folder: Path) -> None:
    plain = Sqlite(path="shop.sqlite", table="orders")
    assert types(plain, folder) == "id bigint, name string, at timestamp_ntz, amount double, ok boolean, b string"
    earlier = NOON.replace(hour=11)
    a, b, c = (
        (1, "a", NOON, 2.0, False, None),
        (2, "A", earlier, None, True, None),
        (3, "b", NOON, 0.1, True, "00ff"),
    )
    assert rows_of(plain, folder) == ([(1, *a), (2, *b), (3, *c)], [])
    by_time = Sqlite(path="shop.sqlite", table="orders", event_time="at")
    assert rows_of(by_time, folder) == ([(1, *b), (2, *a), (3, *c)], [])
    by_name = Sqlite(path="shop.sqlite", table="orders", event_time="at", order_by=("name",))
    assert rows_of(by_name, folder) == ([(1, *b), (2, *a), (3, *c)], []), "capitals first, whatever the table says"


def test_values_of_sqlite_are_of_any_type(folder: Path) -> None:
    source = Sqlite(path="shop.sqlite", table="mixed")
    assert types(source, folder) == "v string, w string"
    typed = Sqlite(path="shop.sqlite", table="mixed", types={"v": "BIGINT"})
    records, rejected = rows_of(typed, folder)
    assert records == [(1, None, None), (2, 1, "007")]
    assert rejected == [
        ("shop.sqlite, table mixed", 3, '{"v": "x", "w": "8"}', "column 'v': \"x\" is not a BIGINT"),
    ]


def test_a_table_of_duckdb_has_its_types(folder: Path) -> None:
    source = DuckDb(path="shop.duckdb", table="orders", event_time="at")
    assert types(source, folder) == (
        "id int, name string, at timestamp_ntz, amount decimal(10,2), seen timestamp, tags string, "
        "huge decimal(38,0), raw string, day date"
    )
    seen = datetime(2024, 5, 1, 10, tzinfo=UTC)
    assert rows_of(source, folder)[0][0] == (1, 1, None, NOON.replace(hour=11), *[None] * 6)
    records, rejected = rows_of(source, folder)
    assert rejected == [
        (
            "shop.duckdb, table orders",
            2,
            rejected[0][2],
            "column 'huge': \"170141183460469231731687303715884105727\" is not a DECIMAL(38, 0)",
        ),
    ]
    assert len(records) == 1
    smaller = DuckDb(path="shop.duckdb", table="orders", event_time="at", types={"huge": "STRING"})
    assert rows_of(smaller, folder)[0][1] == (
        2,
        2,
        "b",
        NOON,
        Decimal("1.50"),
        seen,
        "[1,2]",
        "170141183460469231731687303715884105727",
        "00ff",
        date(2024, 5, 1),
    )
    assert rows_of(DuckDb(path="shop.duckdb", table="s.a.b"), folder) == ([(1, 1)], [])


def test_a_view_is_a_table_too_and_one_of_duckdb_reads_no_other_file(folder: Path) -> None:
    assert rows_of(Sqlite(path="shop.sqlite", table="big orders"), folder)[0] == [(1, 2, "A"), (2, 3, "b")]
    (folder / "secret.csv").write_text("a\n1\n")
    with duckdb.connect(str(folder / "thief.duckdb")) as thief:
        thief.execute(f"CREATE VIEW thief AS SELECT * FROM read_csv('{folder / 'secret.csv'}')")
    with pytest.raises(StudioError, match="cannot be read as a DuckDB file: Permission Error"):
        rows_of(DuckDb(path="thief.duckdb", table="thief"), folder)


WRONG: list[tuple[RowFile, str]] = [
    (Excel(path="book.xlsx", table="Ordres"), "unknown table 'Ordres'.*Orders"),
    (Excel(path="book.xlsx", table="Empty"), "the sheet 'Empty' of book.xlsx is empty"),
    (Excel(path="text.xlsx"), "text.xlsx cannot be read as a workbook"),
    (Excel(path="*.xlsx"), "is 2 files; a table is read from one"),
    (Sqlite(path="shop.sqlite"), "there are 3: mixed, orders, big orders. Choose one of them"),
    (Sqlite(path="shop.duckdb", table="orders"), "shop.duckdb cannot be read as a SQLite file"),
    (Sqlite(path="shop.sqlite", table="orders", order_by=("idd",)), "idd"),
    (DuckDb(path="shop.sqlite", table="orders"), "shop.sqlite cannot be read as a DuckDB file"),
    (DuckDb(path="nowhere.duckdb"), "there is no file nowhere.duckdb"),
]


@pytest.mark.parametrize(("source", "sentence"), WRONG, ids=lambda each: each if isinstance(each, str) else "")
def test_what_cannot_be_read_is_said_in_a_sentence(folder: Path, source: RowFile, sentence: str) -> None:
    (folder / "text.xlsx").write_text("no workbook")
    with pytest.raises(StudioError, match=sentence):
        rows_of(source, folder)


def test_a_workbook_that_unpacks_to_too_much_is_not_opened(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbook, "MOST_BYTES", 1000)
    file = Excel(path="book.xlsx").file("n", folder)
    with pytest.raises(StudioError, match=r"book.xlsx would take .* Save the sheet as CSV"):
        workbook.sheets_of(file, "n")


def test_rows_are_kept_in_batches_and_one_that_is_too_long_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_rows, "_ROWS", 2)
    monkeypatch.setattr(kept_rows, "LINE_BYTES", 1 << 20)
    with sqlite3.connect(tmp_path / "a.sqlite") as database:
        database.execute("CREATE TABLE t (n INTEGER, s TEXT)")
        database.executemany("INSERT INTO t VALUES (?, ?)", [(n, "x" * (2 << 20 if n == 3 else n)) for n in range(6)])
    database.close()
    records, rejected = rows_of(Sqlite(path="a.sqlite"), tmp_path)
    assert [line for line, *_ in records] == [1, 2, 3, 5, 6]
    assert [(line, reason) for _, line, _, reason in rejected] == [(4, "the row has more than 1 MB")]


def test_a_changelog_in_a_table_has_its_kinds(tmp_path: Path) -> None:
    write_workbook(tmp_path / "c.xlsx", {"S": {1: ["op", "k"], 2: ["+I", 1], 3: ["-D", 1], 4: ["?", 2]}})
    source = Excel(path="c.xlsx", kind_column="op")
    records, rejected = rows_of(source, tmp_path)
    assert records == [(2, 0, 1), (3, 3, 1)]
    assert [line for _, line, _, _ in rejected] == [4]


def test_only_the_first_rows_are_read_for_a_preview(folder: Path, tmp_path: Path) -> None:
    source = Sqlite(path="shop.sqlite", table="orders")
    assert len(rows_of(source.head(2, "n", folder, tmp_path), folder)[0]) == 2


@pytest.mark.parametrize(
    ("file", "operator", "time"),
    [("book.xlsx", "excel", "at"), ("shop.sqlite", "sqlite", None), ("shop.duckdb", "duckdb", None)],
)
def test_a_dropped_file_becomes_a_pipeline(folder: Path, file: str, operator: str, time: str | None) -> None:
    node = first_pipeline(file, folder).nodes[0]
    assert (node.operator, node.parameters.get("event_time")) == (operator, time)


@pytest.mark.parametrize("make", [Sqlite, DuckDb])
def test_the_tables_of_a_file_are_offered(folder: Path, make: Callable[..., RowFile]) -> None:
    source = make(path=f"shop.{make.operator}")  # type: ignore[attr-defined]
    assert "orders" in source.offered("table", "n", folder)
    assert source.offered("path", "n", folder) == ()
