"""Patterns of paths: what they match, in which files, and how far they may look."""

from __future__ import annotations

import glob
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import SourceError
from engine.reading.files import patterns
from engine.reading.files.input_files import find_files
from engine.reading.files.patterns import matching, path_matches


@pytest.mark.parametrize(
    ("path", "pattern", "matches"),
    [
        ("a/b.csv", "*/*.csv", True),
        ("a/b/c.csv", "*/*.csv", False),
        ("a/b/c.csv", "**/*.csv", True),
        ("c.csv", "**/*.csv", True),
        ("a/b/c.csv", "**/b/**/c.csv", True),
        ("a/c.csv", "**/b/**/c.csv", False),
        ("a/b", "**", True),
        ("a/[1].csv", "*/[1].csv", True),
        (".git/a.csv", "*/a.csv", False),
        (".git/a.csv", "**/a.csv", False),
        (".git/a.csv", ".git/a.csv", True),
        ("a/.b.csv", "**/.b.csv", True),
        ("/".join("a" * 200), "/".join(["**"] * 100 + ["b"]), False),
        ("/".join("a" * 200), "/".join(["**", "*"] * 50 + ["b"]), False),
    ],
)
def test_what_a_pattern_matches(path: str, pattern: str, matches: bool) -> None:
    assert path_matches(path.split("/"), pattern.split("/")) is matches


PARTS = st.sampled_from(["*", "a", "b", "a*", "?", "[ab]", ".h", "**", "x.csv", "*.csv"])


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("tree")
    for name in ("x.csv", "a/x.csv", "a/b/x.csv", "a/b/a/b.csv", "ab/x.csv", ".h/x.csv", "b/.h/x.csv", "a/.x.csv"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).touch()
    return top


@settings(max_examples=60)
@given(
    parts=st.lists(PARTS, min_size=1, max_size=4).filter(
        lambda parts: any(map(glob.has_magic, parts)) and parts[-1] != "**"
    )
)
def test_the_walk_finds_what_glob_finds(tree: Path, parts: list[str]) -> None:
    place = tree.joinpath(*parts)
    found = [str(path) for path in matching(place)]
    # glob repeats what ** reaches in two ways.
    assert sorted(found) == sorted({*glob.glob(str(place), recursive=True)})


def test_below_any_number_of_parts_a_folder_is_not_visited_from_within_itself(tmp_path: Path) -> None:
    (tmp_path / "x.csv").touch()
    (tmp_path / "again").symlink_to(tmp_path)
    assert [path.name for path in matching(tmp_path / "**" / "*.csv")] == ["x.csv"]
    assert [path.name for path in matching(tmp_path / "*" / "*.csv")] == ["x.csv"]


def test_a_folder_that_cannot_be_listed_can_be_entered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "x.csv").touch()
    listed = os.listdir

    def refused(folder: Path) -> list[str]:
        if folder.name == "a":
            raise PermissionError
        return listed(folder)

    monkeypatch.setattr(patterns.os, "listdir", refused)
    assert [path.name for path in matching(tmp_path / "?" / "b" / "*.csv")] == ["x.csv"]


def test_a_pattern_that_looks_everywhere_ends_with_a_sentence(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "MOST_LOOKED", 6)
    with pytest.raises(SourceError, match="the pattern .* looks at more than [0-9,]+ files and folders; name more of"):
        find_files(f"{tree}/**/*.csv", tree, "s", [".csv"])
    assert [file.name for file in find_files("[x].csv", tree, "s", [".csv"])] == ["x.csv"]
