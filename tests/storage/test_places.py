"""Where a store can be: what is no file is said to be none, at once, and nothing is written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.__main__ import main
from storage import Store
from storage.errors import StoreUnreadable

ELSEWHERE = "Move it away or use another file: set CHANGELOG_STUDIO_STORE or --store."
# A path below the folder `places`, or one as it is; what is wrong with it.
WRONG = [
    ("loop", "its path is a loop of symbolic links."),
    ("loop/s.duckdb", "its path is a loop of symbolic links."),
    ("folder", "it is a folder, not a file."),
    ("pipe", "it is a device, a pipe or a socket, not a file."),
    ("to the pipe", "it is a device, a pipe or a socket, not a file."),
    ("/dev/zero", "it is a device, a pipe or a socket, not a file."),
    ("file/s.duckdb", "file on the way to it is a file, not a folder."),
    ("x" * 300, "File name too long."),
    ("nul\0.duckdb", "its name has a character that names of files cannot have."),
    ("byte\udcff.duckdb", "its name has a byte that is no text in UTF-8."),
    ("half\ud800.duckdb", "its name has a byte that is no text in UTF-8."),
    ("~nobody-of-that-name/s.duckdb", "it begins with the home of a user that does not exist."),
]


@pytest.fixture
def places(tmp_path: Path) -> Path:
    folder = tmp_path / "places"
    folder.mkdir()
    (folder / "loop").symlink_to(folder / "other")
    (folder / "other").symlink_to(folder / "loop")
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "to the pipe").symlink_to(folder / "pipe")
    (folder / "file").write_text("x")
    return folder


def found_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def path_of(place: str, folder: Path) -> str:
    return place if place.startswith("~") else str(folder / place)


@pytest.mark.parametrize(("place", "reason"), WRONG, ids=[reason for _, reason in WRONG])
def test_the_command_line_says_why_a_path_is_no_store(
    places: Path, capsys: pytest.CaptureFixture[str], place: str, reason: str
) -> None:
    before = found_in(places)
    assert main(["record", "1", "--store", path_of(place, places)]) == 2
    said = capsys.readouterr().err
    assert said.endswith(f"cannot be opened: {reason} {ELSEWHERE}\n"), said
    assert (len(said.splitlines()), len(said) < 500, said.strip().isprintable()) == (1, True, True)
    assert found_in(places) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
@pytest.mark.parametrize("mode", [0o500, 0o000])
def test_a_folder_without_permission_is_said_to_be_one(places: Path, mode: int) -> None:
    (places / "folder").chmod(mode)
    try:
        with pytest.raises(StoreUnreadable, match="Permission denied"):
            Store.open(places / "folder" / "s.duckdb")
    finally:
        (places / "folder").chmod(0o700)


def test_a_link_leads_to_the_store_that_it_names(places: Path) -> None:
    (places / "link.duckdb").symlink_to(places / "new" / "s.duckdb")
    with Store.open(places / "link.duckdb") as store:
        store.pipelines.save("{}", name="kept")
    with Store.open(places / "new" / "s.duckdb") as store:
        assert [pipeline.name for pipeline in store.pipelines.list()] == ["kept"]
    assert (places / "link.duckdb").is_symlink()
