"""Cells of CSV files that no spreadsheet takes for formulas: the same in Python, DuckDB and Arrow."""

from __future__ import annotations

import csv
import io
from argparse import Namespace
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from engine.command_line.export import export
from storage import Store
from storage.spreadsheets import FORMULA, NUMBER, harmless, harmless_sql
from tests.storage.written_runs import Epoch, columns, edge, plan, recorded

FORMULAS = [
    *("=1+1", "+x", "-x", "@x", "-1+1", "\tx", "\rx", "\nx", "-5\n"),
    *("\n=1", "  =1", " \t =1", "\u00a0=1", "\u3000=1", "\ufeff=1", "\u200b=1", "\x00=1", "\x0b=1"),
    *("\uff1d1+1", "\uff0b1", "\uff0d1", "\uff20x", " \uff1d1", "\ufe661", "\ufe621", "\ufe631", "\ufe6bx"),
]
HARMLESS = ["", "a-b", " a=b", "  ", "-5", "+5", " -5", "-5e3", "-.5", "5.", "'=1", "a\n=1", "\u20131", "é", "\uff21"]


@pytest.mark.parametrize(("cell", "is_formula"), [(c, True) for c in FORMULAS] + [(c, False) for c in HARMLESS])
def test_a_cell_that_would_be_a_formula_gets_an_apostrophe(cell: str, is_formula: bool) -> None:
    expected = f"'{cell}" if is_formula else cell
    assert harmless(cell) == expected
    with duckdb.connect() as database:
        assert database.execute(f"SELECT {harmless_sql('t')} FROM (SELECT ? AS t)", [cell]).fetchall() == [(expected,)]
    array = pa.array([cell])
    looks, number = (pc.match_substring_regex(array, pattern)[0].as_py() for pattern in (FORMULA, NUMBER))
    assert (looks and not number) is is_formula


def test_a_changelog_as_csv_has_no_formula_in_any_type(store: Store, tmp_path: Path) -> None:
    texts = edge("texts", columns(t="string", b="binary", n="bigint"))
    rows = [(1, b"", "+I", ("\n=1", b"=1", -5)), (2, b"", "+I", ("a\r=1", b"x", 1))]
    run_id = recorded(store, tmp_path, plan(texts), Epoch(records={"texts": rows}))
    of_program, of_command = tmp_path / "texts.csv", tmp_path / "command.csv"
    store.changelog.export(run_id, "texts", of_program)
    export(Namespace(run=run_id, file=str(of_command), edge="texts", as_of=None, format="csv", partition_by=""), store)
    for path in (of_program, of_command):
        read = list(csv.reader(io.StringIO(path.read_bytes().decode(), newline="")))
        assert [row[3:] for row in read] == [["t", "b", "n"], ["'\n=1", "'=1", "-5"], ["a\r=1", "x", "1"]]
