"""The stories match the app: every page, edge and event that a step opens exists in a run of its example."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine.examples import examples
from storage import Store
from ui.components.shell.story_bar import run_of
from ui.shell.navigation import VIEWS
from ui.stories import stories

TRACES = Path(__file__).resolve().parents[1] / "golden" / "traces"


def test_every_story_is_one_of_an_example() -> None:
    assert set(stories()) <= set(examples())
    assert {"01-word-frequency", "02-window-late-record", "05-window-join", "07-deduplication", "08-top-3"} <= set(
        stories()
    )


@pytest.mark.parametrize("name", sorted(stories()))
def test_every_step_opens_what_is_there(name: str) -> None:
    trace = (TRACES / f"{name}.txt").read_text(encoding="utf-8")
    edges = set(re.findall(r"^== ([^:]+):", trace, re.MULTILINE))
    last = max(int(found) for found in re.findall(r"^(\d+) ", trace, re.MULTILINE))
    for step in stories()[name].steps:
        assert step.view in {view.file for view in VIEWS}
        assert step.edge is None or step.edge in edges
        assert step.event is None or 0 < step.event <= last + 1
        assert (step.edge is not None) == (step.view in ("changelog", "retractions", "time_travel"))


@pytest.mark.parametrize("name", sorted(stories()))
def test_a_story_has_five_or_six_steps_of_a_few_sentences(name: str) -> None:
    steps = stories()[name].steps
    assert 5 <= len(steps) <= 6
    assert all(20 < len(step.text) < 400 for step in steps)


def test_a_story_opens_beside_a_run_of_its_example_that_cannot_be_read(store: Store) -> None:
    example = examples()["01-word-frequency"]
    known = store.runs.create(example.name, example.to_json())
    newer = store.runs.create(example.name, '{"version": 99}')
    for run in (known, newer):
        store.runs.finish(run.run_id)
    found = run_of("01-word-frequency")
    assert found is not None
    assert found.run_id == known.run_id
