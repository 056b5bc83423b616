"""Random queries with recorded changelogs of Flink (`python -m tests.differential --record`). No Flink, no Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.differential.recording import replayed

RECORDED = (Path(__file__).parent / "recorded.jsonl").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("line", RECORDED, ids=map(str, range(len(RECORDED))))
def test_a_random_query_gives_the_changelog_that_flink_gave(line: str) -> None:
    found: dict[str, Any] = json.loads(line)
    assert replayed(found["job"]) == [tuple(record) for record in found["flink"]]
