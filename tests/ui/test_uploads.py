"""Uploaded files: stored once under the hash of their content, with names that any file system allows."""

from __future__ import annotations

from pathlib import Path

import pytest

from ui.shell.uploads import first_lines, keep, safe_name


def test_the_same_file_is_kept_once_and_another_one_beside_it(tmp_path: Path) -> None:
    first = keep([b"a,b\n1,2\n"], "orders.csv", tmp_path)
    again = keep([b"a,b\n1,2\n"], "orders.csv", tmp_path)
    other = keep([b"a,b\n3,4\n"], "orders.csv", tmp_path)
    assert first == again != other
    assert (tmp_path / first).read_bytes() == b"a,b\n1,2\n"
    assert not list((tmp_path / "files").glob(".*"))


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("../../etc/passwd", "passwd"),
        (r"C:\data\a b.csv", "a b.csv"),
        ("ü*?.csv", "ü__.csv"),
        ("..", "file"),
        ("x" * 300 + ".csv", "x" * 96 + ".csv"),
        ("数" * 300 + ".csv", "数" * 32 + ".csv"),
    ],
)
def test_a_name_cannot_leave_its_folder(name: str, safe: str) -> None:
    assert safe_name(name) == safe


def test_the_first_lines_of_a_text_file_are_shown_and_nothing_of_others(tmp_path: Path) -> None:
    text, other = tmp_path / "a.csv", tmp_path / "a.parquet"
    text.write_text("a,b\n" + "x" * 500 + "\n3\n", encoding="utf-8")
    other.write_bytes(b"PAR1\0\0")
    assert first_lines(text, most=2) == ["a,b", "x" * 160 + "…"]
    assert first_lines(other) == []
    assert first_lines(tmp_path / "missing.csv") == []
    assert first_lines(tmp_path / "nul\0.csv") == []
