"""The columns that frames have beside those of a pipeline: no others are refused, and all of them are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.contract.frames import is_reserved

ROOT = Path(__file__).parents[2]
DUNDER = re.compile(r"__\w+__|__HIVE_DEFAULT_PARTITION__")
# Names of Spark's, of scopes in Python, of folders in archives, and parts of tables' names.
OTHERS = ("__id", "__MACOSX")


def named() -> Iterator[tuple[str, str]]:
    """Each name with two underscores in a text of the engine, with a number where the text has a computed part."""
    for path in (ROOT / "engine").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            texts = [each.value if isinstance(each, ast.Constant) else "0" for each in parts]
            if not all(isinstance(text, str) for text in texts):
                continue
            for name in re.findall(r"(?<![\w{])__[A-Za-z0-9]\w*", "".join(map(str, texts))):
                yield path.relative_to(ROOT).as_posix(), name


def test_every_name_that_the_engine_gives_is_reserved() -> None:
    found = {(path, name) for path, name in named() if DUNDER.fullmatch(name) is None and name not in OTHERS}
    assert len(found) > 60
    assert [each for each in sorted(found) if not is_reserved(each[1])] == []


@pytest.mark.parametrize("name", ["__op", "__deleted", "__ts_ms", "__table", "__source_ts_ms", "__lsn", "__db", "_seq"])
def test_what_changes_of_debezium_have_is_free(name: str) -> None:
    assert not is_reserved(name)


@pytest.mark.parametrize("name", ["__seq", "__SEQ", "__x1", "__v0_1", "__0k1", "__t"])
def test_names_of_frames_are_not(name: str) -> None:
    assert is_reserved(name)
