"""The checks of a run in the browser: Spark's batch answer, Flink's changelog, and the tests that runs are kept as."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import expect

from engine.examples import examples
from engine.flink.environment import ENVIRONMENT
from storage import Store
from tests.browser.accessible import violations
from tests.browser.app_server import App, running_app
from tests.browser.canvas_page import node, settled, type_into
from tests.browser.conftest import OpenPage, rows, wait_until_settled
from tests.browser.run_page import run_again
from tests.storage.local_runs import run_locally
from tests.ui import seeded_store

RUN_TIMEOUT_MS = 180_000
LATE = "02-window-late-record"
ANSWER = Path(__file__).parents[1] / "engine" / "flink" / "recorded" / f"{LATE}.results.json"
RECORDED_FLINK = """import json, sys
answer = json.load(open({answer!r}, encoding="utf-8"))["answer"]
for line in sys.stdin:
    print(json.dumps([answer]), flush=True)
"""
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The app with runs: 1 the word frequency, 2 the same with a wrong row in its sink, 3 a late record, cancelled.

    4 is a late record, of a saved pipeline; the app's Flink answers as one did about it.
    """
    folder = tmp_path_factory.mktemp("app")
    with Store.open(folder / "studio.duckdb") as store:
        seeded_store.example(store, folder)
        seeded_store.example(store, folder, last=(2, 7))
        seeded_store.cancelled(store, LATE)
        pipeline = examples()[LATE]
        run_locally(store, folder, pipeline, store.pipelines.save(pipeline.to_json(), name=pipeline.name))
    flink = folder / "flink"
    flink.write_text(f"#!{sys.executable}\n{RECORDED_FLINK.format(answer=str(ANSWER))}", encoding="utf-8")
    flink.chmod(0o755)
    with running_app(folder, "local[2]", {ENVIRONMENT: str(flink)}) as running:
        yield running


def test_a_small_run_is_checked_by_itself_and_the_answer_is_kept(open_page: OpenPage) -> None:
    page = open_page("run?run=1")
    said = page.get_by_text(
        "Equal to Spark's batch answer: 2 rows of frequencies compared, and the output of every upstream operator."
    )
    # While Spark is still starting, there is a button instead, which disappears by itself.
    expect(said).to_be_visible(timeout=RUN_TIMEOUT_MS)
    page.reload()
    expect(said).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_wrong_row_is_shown_beside_the_one_that_should_be_there(
    open_page: OpenPage, scheme: Literal["light", "dark"]
) -> None:
    page = open_page("run?run=2", color_scheme=scheme)
    differences = page.get_by_role("region", name="Differences of frequencies").locator("tbody tr")
    expect(differences).to_have_count(2, timeout=RUN_TIMEOUT_MS)
    expect(differences.filter(has_text="only in the batch answer")).to_contain_text("1")
    expect(differences.filter(has_text="only in the stream's table")).to_contain_text("7")
    expect(page.get_by_role("button", name="Check again", exact=True)).to_be_enabled()


def test_rows_that_were_late_are_left_out_of_the_batch_answer(open_page: OpenPage) -> None:
    page = open_page("run?run=3")
    run_again(page)
    expect(
        page.get_by_text("Equal to Spark's batch answer without the 1 dropped record: 4 rows of results")
    ).to_be_visible(timeout=RUN_TIMEOUT_MS)


def test_flink_is_asked_the_run_is_kept_and_a_changed_delay_turns_its_test_red(open_page: OpenPage) -> None:
    page = open_page("run?run=4")
    page.get_by_role("button", name="Ask Flink", exact=True).click()
    said = page.get_by_text("Flink says the same. results: equal, record for record (4 records of Flink, 4 of ours).")
    expect(said).to_be_visible(timeout=RUN_TIMEOUT_MS)
    page.get_by_text("Both plans of results").click()
    expect(page.get_by_text("== Optimized Physical Plan ==")).to_be_visible()
    assert violations(page) == []

    page.get_by_role("button", name="Keep as test").click()
    form = page.get_by_role("dialog")
    assert violations(page) == []
    form.get_by_label("What it shows").fill("Record 6 misses its window.")
    form.get_by_role("button", name="Keep", exact=True).click()
    tests = rows(page, "Tests")
    expect(tests.first).to_contain_text("as expected")
    expect(tests.first).to_contain_text("Record 6 misses its window.")
    assert violations(page) == []

    page.get_by_role("button", name="Open the pipeline").click()
    settled(page)
    expect(page.get_by_text("1 test as expected")).to_be_visible()
    node(page, "events").click()
    type_into(page, "Watermark delay", "1 min")
    page.get_by_role("button", name="1 of 1 test changed: see the first").click()
    wait_until_settled(page)
    expect(tests.first).to_contain_text("changed")
    expect(page.get_by_text("results: 2 missing and 3 not expected, first at event 3.")).to_be_visible()
    assert violations(page) == []
    difference = rows(page, "First difference of results")
    expect(difference.filter(has_text="expected")).to_have_count(1)
    expect(difference.filter(has_text="got")).to_have_count(1)

    page.get_by_role("button", name="This is right: expect it from now on").click()
    expect(tests.first).to_contain_text("as expected")
