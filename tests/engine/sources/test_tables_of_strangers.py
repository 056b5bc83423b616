"""Untrusted databases and workbooks: nothing is written, no other file is read, and every read ends."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import struct
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from engine.errors import StudioError, UnknownColumn
from engine.reading import apart
from engine.reading.files.source import RowFile
from engine.reading.tables import duckdb_file, kept_rows, sqlite_file
from engine.sources.duckdb import DuckDb
from engine.sources.excel import Excel
from engine.sources.sqlite import Sqlite
from tests.engine.sources.reading import types
from tests.engine.sources.test_tables import rows_of
from tests.engine.sources.workbooks import write_workbook

LONG = "replace(hex(zeroblob(4000000)), '0', 'a')"
ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r)"


def sqlite_with(path: Path, *statements: str) -> None:
    with sqlite3.connect(path) as database:
        for statement in statements:
            database.execute(statement)
    database.close()


def duckdb_with(path: Path, *statements: str) -> None:
    with duckdb.connect(str(path)) as database:
        for statement in statements:
            database.execute(statement)


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def readers(least: int = 0) -> list[int]:
    """The reading processes of this process, once there are so few of them. Only an endless one lasts."""
    starter = apart._STARTER._process
    assert starter is not None
    children = Path(f"/proc/{starter.pid}/task/{starter.pid}/children")
    for _ in range(100):
        found = [int(pid) for pid in children.read_text().split()]
        if len(found) <= least:
            break
        time.sleep(0.02)
    return found


@pytest.mark.parametrize(
    ("make", "view"),
    [
        *(
            (make, f"{ENDLESS} SELECT {wanted} FROM r")
            for make in (Sqlite, DuckDb)
            for wanted in ("n", "count(*) AS n")
        ),
        # Neither database interrupts a function.
        (DuckDb, "SELECT levenshtein(repeat('a', 2000000), repeat('b', 2000000)) AS n"),
        (Sqlite, f"SELECT instr({LONG}, substr({LONG}, 4000000) || 'b') AS n"),
    ],
)
def test_a_view_without_end_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: type[RowFile], view: str
) -> None:
    monkeypatch.setattr(apart, "LOOK_S", 1.0)
    monkeypatch.setattr(apart, "ROWS_S", 1.0)
    fill = sqlite_with if make is Sqlite else duckdb_with
    fill(tmp_path / "a.db", f"CREATE VIEW v AS {view}")
    before = files_of(tmp_path)
    with pytest.raises(StudioError, match=r"a.db gives no rows for 1 s. A view may ask for more than .* as a table"):
        rows_of(make(path="a.db", table="v"), tmp_path)
    assert files_of(tmp_path) == before
    assert readers() == []


@pytest.mark.parametrize(("make", "fill"), [(Sqlite, sqlite_with), (DuckDb, duckdb_with)])
def test_what_computes_its_values_is_read_like_a_table(
    tmp_path: Path, make: type[RowFile], fill: Callable[..., None]
) -> None:
    """Views and generated columns are read in a separate process, which ends with its reader."""
    fill(
        tmp_path / "a.db",
        "CREATE TABLE t (a INT, s VARCHAR, twice INT GENERATED ALWAYS AS (a * 2) VIRTUAL)",
        "INSERT INTO t (a, s) SELECT n, CASE WHEN n > 1 THEN 'ä\n\"' END FROM "
        "(WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 2500) SELECT n FROM r)",
        "CREATE VIEW v AS SELECT a, s, twice FROM t",
    )
    computed = [make(path="a.db", table=table, order_by=("a",)) for table in ("v", "t")]
    for source in computed:
        records, rejected = rows_of(source, tmp_path)
        assert (records[0], records[1], len(records), rejected) == ((1, 1, None, 2), (2, 2, 'ä\n"', 4), 2500, [])
    with pytest.raises(UnknownColumn, match="order_by: unknown column 'b'. Available: a, s, twice") as raised:
        rows_of(make(path="a.db", table="v", order_by=("b",)), tmp_path)
    assert (raised.value.node, raised.value.known) == ("n", ("a", "s", "twice"))
    opened = computed[0].open_table(computed[0].file("n", tmp_path), "v", "n").rows(None)
    assert next(opened).line == 1
    assert len(readers(1)) == 1
    opened.close()
    assert readers() == []


def test_a_reader_that_ends_by_itself_is_a_sentence(tmp_path: Path) -> None:
    sqlite_with(
        tmp_path / "a.sqlite",
        "CREATE TABLE t AS SELECT value AS n FROM json_each('[" + "1, " * 400_000 + "1]')",
        "CREATE VIEW v AS SELECT n FROM t",
    )
    source = Sqlite(path="a.sqlite")
    rows = source.open_table(source.file("n", tmp_path), "v", "n").rows(None)
    assert next(rows).line == 1
    [reader] = readers(1)
    os.kill(reader, signal.SIGKILL)
    with pytest.raises(StudioError, match=r"the process that reads a.sqlite ended by itself \(status -9\): .* A view"):
        list(rows)


def test_generated_columns_are_columns(tmp_path: Path) -> None:
    table = "CREATE TABLE t (a INT, twice INT GENERATED ALWAYS AS (a * 2) VIRTUAL, next INT AS (a + 1) STORED)"
    sqlite_with(tmp_path / "a.sqlite", table, "INSERT INTO t VALUES (1), (NULL)")
    source = Sqlite(path="a.sqlite")
    assert types(source, tmp_path) == "a bigint, twice bigint, next bigint"
    assert rows_of(source, tmp_path) == ([(1, None, None, None), (2, 1, 2, 2)], [])


def test_a_database_with_a_write_ahead_log_is_read_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    sqlite_with(
        tmp_path / "a.sqlite", "PRAGMA journal_mode = WAL", "CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1)"
    )
    before = files_of(tmp_path)
    assert rows_of(Sqlite(path="a.sqlite"), tmp_path) == ([(1, 1)], [])
    assert files_of(tmp_path) == before
    # With an open writer, the committed rows in the log are read as well.
    with sqlite3.connect(tmp_path / "a.sqlite") as writer:
        writer.execute("INSERT INTO t VALUES (2)")
        writer.commit()
        assert rows_of(Sqlite(path="a.sqlite"), tmp_path) == ([(1, 1), (2, 2)], [])
    writer.close()


def test_a_virtual_table_is_read_without_what_it_hides(tmp_path: Path) -> None:
    sqlite_with(tmp_path / "a.sqlite", "CREATE VIRTUAL TABLE f USING fts5(x)", "INSERT INTO f VALUES ('word')")
    assert rows_of(Sqlite(path="a.sqlite", table="f"), tmp_path) == ([(1, "word")], [])


def test_of_a_value_that_is_too_long_only_enough_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hexadecimal digits take twice as much, so only a part is converted; a much longer value is not even read."""
    monkeypatch.setattr(kept_rows, "LINE_BYTES", 10_000)
    monkeypatch.setattr(kept_rows, "RAW_CHARS", 1 << 20)
    monkeypatch.setattr(sqlite_file, "LINE_BYTES", 10_000)
    monkeypatch.setattr(sqlite_file, "_LONGEST", 160_000)
    sqlite_with(
        tmp_path / "a.sqlite", "CREATE TABLE t (b BLOB)", "INSERT INTO t VALUES (zeroblob(30000)), (zeroblob(2))"
    )
    file = Sqlite(path="a.sqlite").file("n", tmp_path)
    read = list(sqlite_file.rows_of(file, "t", (), None, None, "n"))
    assert [(row.line, row.values[0]) for row in read] == [(1, "0000"), (2, "00" * 10_000)]
    records, rejected = rows_of(Sqlite(path="a.sqlite"), tmp_path)
    assert (records, [line for _, line, _, _ in rejected]) == ([(1, "0000")], [2])
    sqlite_with(tmp_path / "b.sqlite", "CREATE TABLE t AS SELECT zeroblob(1000000) AS b")
    with pytest.raises(StudioError, match="b.sqlite cannot be read as a SQLite file: string or blob too big"):
        list(sqlite_file.rows_of(Sqlite(path="b.sqlite").file("n", tmp_path), "t", (), None, None, "n"))


def test_what_duckdb_has_no_memory_for_lies_where_temporary_files_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setitem(duckdb_file._CONFINED, "memory_limit", "60MB")
    (tmp_path / "data").mkdir()
    rows_made = "SELECT range AS n, md5(range::VARCHAR) AS h FROM range(2000000)"
    duckdb_with(tmp_path / "data" / "a.duckdb", f"CREATE TABLE v AS {rows_made}")
    rows = duckdb_file.rows_of(DuckDb(path="data/a.duckdb").file("n", tmp_path), "v", (), None, None, "n")
    assert next(rows).line == 1
    assert list((tmp_path / "data").iterdir()) == [tmp_path / "data" / "a.duckdb"]
    assert list(temporary.iterdir()) != []


def test_a_file_of_duckdb_is_read_by_two_at_once(tmp_path: Path) -> None:
    duckdb_with(tmp_path / "a.duckdb", "CREATE TABLE t AS SELECT range AS n FROM range(20000)")
    source = DuckDb(path="a.duckdb")
    rows = iter(source.open_table(source.file("n", tmp_path), "t", "n").rows(None))
    assert next(rows).line == 1
    assert types(source, tmp_path) == "n bigint"
    assert sum(1 for _ in rows) == 19_999


@pytest.mark.parametrize(
    ("view", "sentence"),
    [
        ("SELECT load_extension('/tmp/x.so') AS x", r"unsafe use of load_extension\(\)"),
        ("SELECT fts3_tokenizer('simple') AS x", r"fts3_tokenizer"),
        ("SELECT readfile('/etc/passwd') AS x", "no such function: readfile"),
        ("SELECT * FROM gone", "no such table: main.gone"),
        ("SELECT * FROM v", "view v is circularly defined"),
    ],
)
def test_a_view_of_sqlite_calls_nothing_with_effects(tmp_path: Path, view: str, sentence: str) -> None:
    sqlite_with(tmp_path / "a.sqlite", f"CREATE VIEW v AS {view}")
    with pytest.raises(StudioError, match=f"a.sqlite cannot be read as a SQLite file: .*{sentence}"):
        rows_of(Sqlite(path="a.sqlite"), tmp_path)


@pytest.mark.parametrize(
    "view",
    [
        "SELECT * FROM read_csv('{file}')",
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM glob('{file}')",
        "SELECT * FROM '{file}'",
    ],
)
def test_a_view_of_duckdb_reads_no_file(tmp_path: Path, view: str) -> None:
    (tmp_path / "secret.csv").write_text("a\nsecret\n")
    duckdb_with(tmp_path / "a.duckdb", f"CREATE VIEW v AS {view.format(file=tmp_path / 'secret.csv')}")
    with pytest.raises(StudioError, match="a.duckdb cannot be read as a DuckDB file: .*disabled") as raised:
        rows_of(DuckDb(path="a.duckdb"), tmp_path)
    assert "secret\n" not in str(raised.value)


def test_a_damaged_database_is_a_sentence(tmp_path: Path) -> None:
    rows = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5000) SELECT n, hex(n) AS h FROM r"
    sqlite_with(tmp_path / "whole.db", f"CREATE TABLE t AS {rows}")
    duckdb_with(
        tmp_path / "whole.duckdb", "CREATE TABLE t AS SELECT range AS n, md5(range::VARCHAR) AS h FROM range(50000)"
    )
    for make, name in ((Sqlite, "whole.db"), (DuckDb, "whole.duckdb")):
        data = (tmp_path / name).read_bytes()
        changed = bytearray(data)
        for at in range(len(data) // 3, len(data), 3000):
            changed[at : at + 100] = b"\xff" * 100
        for damaged in (b"", data[: len(data) // 2], bytes(changed)):
            (tmp_path / "damaged.db").write_bytes(damaged)
            with pytest.raises(StudioError, match="damaged.db (cannot be read as a|has no table)"):
                rows_of(make(path="damaged.db", table="t"), tmp_path)


def sheet_with(path: Path, xml: str) -> None:
    """A workbook whose sheet has these rows."""
    write_workbook(path, {"S": {1: ["a"], 2: [1]}})
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name).decode() for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    files[sheet] = re.sub("<sheetData>.*</sheetData>", f"<sheetData>{xml}</sheetData>", files[sheet])
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)


FIRST = '<row r="1"><c r="A1"><v>1</v></c></row>'


@pytest.mark.parametrize(
    ("rows", "size"),
    [
        (f'{FIRST}<row r="1048576"><c r="XFD1048576"><v>2</v></c></row>', "524,288"),
        (f'<row r="1">{"<c/>" * 16383}<c><v>1</v></c></row><row r="1048576"><c><v>2</v></c></row>', "524,288"),
        (f"{FIRST}<row x='>' r='1048576'><c s = '>' r = 'XFD1048576'><v>2</v></c></row>", "524,288"),
        (f'{FIRST}<row r="1000000"><c r="CV1000000"><v>2</v></c></row>', "3,051"),
        (f'{FIRST}<row r="4294967295"><c r="ZZZZZZ4294967295"><v>2</v></c></row>', "[0-9,]{12,}"),
        ('<row r="1"><c r="XFD1"><v>1</v></c></row><row r="1048576"><c r="A1048576"><v>2</v></c></row>', "524,288"),
    ],
)
def test_a_sheet_with_a_far_cell_is_not_read(tmp_path: Path, rows: str, size: str) -> None:
    """All cells between the first and the last would be in memory, and the process would be killed without an error."""
    sheet_with(tmp_path / "far.xlsx", rows)
    sentence = f"far.xlsx has a sheet whose cells lie so far apart, .*, that it would take {size} MB of .*Delete"
    with pytest.raises(StudioError, match=sentence):
        rows_of(Excel(path="far.xlsx"), tmp_path)


def ods_with(path: Path, rows: str) -> None:
    """A LibreOffice workbook with one table."""
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text")
    )
    book = f'<table:table table:name="S">{rows}</table:table>'
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr(
            "content.xml",
            f"<office:document-content {spaces}><office:body><office:spreadsheet>{book}</office:spreadsheet>"
            "</office:body></office:document-content>",
        )


def ods_row(cells: str, times: int = 1) -> str:
    return f'<table:table-row table:number-rows-repeated="{times}">{cells}</table:table-row>'


def ods_cell(value: str = "", times: int = 1) -> str:
    repeated = f'table:number-columns-repeated="{times}"'
    if not value:
        return f"<table:table-cell {repeated}/>"
    return f'<table:table-cell {repeated} office:value-type="string"><text:p>{value}</text:p></table:table-cell>'


@pytest.mark.parametrize(
    ("rows", "size"),
    [
        (ods_row(ods_cell("a")) + ods_row(ods_cell(), 5998) + ods_row(ods_cell("", 15999) + ods_cell("b")), "5,859"),
        (ods_row(ods_cell("a", 16000), 6000), "6,065"),
        (ods_row(ods_cell("a") + ods_cell("", 16382) + ods_cell("b"), 1048576), "1,052,675"),
        # Few cells of a long text; a single one behind more columns than there are.
        (ods_row(ods_cell("x" * 20_000), 50_000), "[0-9],[0-9]+"),
        (ods_row(ods_cell("x" * 20_000, 50_000)), "1,910"),
        # A row of a few cells, a million times: little memory, but minutes of a run.
        (ods_row(ods_cell("a") + ods_cell("b"), 1_048_577), "4,[0-9]+"),
        (ods_row(ods_cell("", 4294967295) + ods_cell("b")), "262,144"),
        (ods_row(ods_cell("a", 4294967295)), "270,335"),
        (ods_row(ods_cell("a"), 10**30), "[0-9,]{12,}"),
    ],
)
def test_a_sheet_of_libreoffice_with_a_far_cell_is_not_read(tmp_path: Path, rows: str, size: str) -> None:
    ods_with(tmp_path / "far.ods", rows)
    sentence = f"far.ods has a sheet whose cells lie so far apart, .*, that it would take {size} MB of .*Delete"
    with pytest.raises(StudioError, match=sentence):
        rows_of(Excel(path="far.ods"), tmp_path)


def test_what_libreoffice_writes_behind_a_table_is_not_far(tmp_path: Path) -> None:
    table = ods_row(ods_cell("a") + ods_cell("b")) + ods_row(ods_cell("1") + ods_cell("2"), 2)
    ods_with(tmp_path / "a.ods", table + ods_row(ods_cell("", 16384), 1048573))
    assert rows_of(Excel(path="a.ods"), tmp_path) == ([(2, 1, 2), (3, 1, 2)], [])


def xlsb_record(kind: int, content: bytes = b"") -> bytes:
    number = bytes([kind]) if kind < 0x80 else bytes([kind & 0x7F | 0x80, kind >> 7])
    size = len(content)
    return number + (bytes([size]) if size < 0x80 else bytes([size & 0x7F | 0x80, size >> 7])) + content


def xlsb_with(path: Path, cells: dict[tuple[int, int], float]) -> None:
    """A binary workbook with these numbers, by row and column from 0."""

    def text(value: str) -> bytes:
        return len(value).to_bytes(4, "little") + value.encode("utf-16-le")

    kinds = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    rows = b""
    for row, column in sorted(cells):
        rows += xlsb_record(0, row.to_bytes(4, "little") + bytes(13))
        rows += xlsb_record(5, column.to_bytes(4, "little") + bytes(4) + struct.pack("<d", cells[row, column]))
    with zipfile.ZipFile(path, "w") as archive:
        book = xlsb_record(156, bytes(8) + text("r1") + text("S"))
        archive.writestr("xl/workbook.bin", xlsb_record(131) + book + xlsb_record(144) + xlsb_record(132))
        archive.writestr(
            "xl/_rels/workbook.bin.rels",
            f'<Relationships><Relationship Id="r1" Type="{kinds}/worksheet" Target="worksheets/sheet1.bin"/>'
            "</Relationships>",
        )
        sheet = xlsb_record(148, bytes(16)) + xlsb_record(145) + rows + xlsb_record(146)
        archive.writestr("xl/worksheets/sheet1.bin", xlsb_record(129) + sheet + xlsb_record(130))


def test_a_binary_workbook_with_a_far_cell_is_not_read(tmp_path: Path) -> None:
    xlsb_with(tmp_path / "a.xlsb", {(0, 0): 1, (1, 0): 7, (1, 1): 8})
    assert rows_of(Excel(path="a.xlsb", header=False), tmp_path) == ([(1, 1, None), (2, 7, 8)], [])
    xlsb_with(tmp_path / "far.xlsb", {(0, 0): 1, (1_048_575, 16_383): 2})
    sentence = "far.xlsb has a sheet whose cells lie so far apart, .*, that it would take 524,288 MB of .*Delete"
    with pytest.raises(StudioError, match=sentence):
        rows_of(Excel(path="far.xlsb"), tmp_path)


def test_cells_that_are_only_formatted_are_not_far(tmp_path: Path) -> None:
    formatted = '<row r="1048576" hidden="1"/><row r="9"><c r="XFD9" s="1"/></row>'
    sheet_with(tmp_path / "a.xlsx", f'{FIRST}<row r="2"><c r="A2"><f>A1+1</f><v>7</v></c></row>{formatted}')
    assert rows_of(Excel(path="a.xlsx", header=False), tmp_path) == ([(1, 1), (2, 7)], [])


def test_entities_of_a_workbook_are_not_followed(tmp_path: Path) -> None:
    write_workbook(tmp_path / "a.xlsx", {"S": {1: ["a"]}})
    with zipfile.ZipFile(tmp_path / "a.xlsx") as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    files[sheet] = b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>' + files[sheet].replace(b">a<", b">&e;<")
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    with pytest.raises(StudioError, match="a.xlsx cannot be read as a workbook: .*unrecognized entity"):
        rows_of(Excel(path="a.xlsx"), tmp_path)
