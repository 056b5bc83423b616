"""Random pipelines whose changelogs Flink gave once (`python -m tests.differential --record`), without Flink."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.model.pipeline import Pipeline
from engine.planner import plan
from tests.differential.arrived import Conditions, run_locally
from tests.differential.test_fuzz import records_of

RECORDED = (Path(__file__).parent / "recorded.jsonl").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("line", RECORDED, ids=map(str, range(len(RECORDED))))
def test_a_random_pipeline_gives_the_changelog_that_flink_gave(line: str) -> None:
    found: dict[str, Any] = json.loads(line)
    planned = plan(Pipeline.model_validate(found["pipeline"]), Conditions(), Path())
    ours = records_of(run_locally(planned, found["arrivals"]).records(planned.nodes[-1].id))
    assert ours == [tuple(row) for row in found["flink"]]
