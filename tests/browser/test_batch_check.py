"""The batch check in the browser: it starts by itself for a small run, and shows the rows that differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import expect

from storage import Store
from tests.browser.app_server import App, running_app
from tests.browser.conftest import OpenPage
from tests.browser.run_page import run_again
from tests.ui import seeded_store

RUN_TIMEOUT_MS = 180_000
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The app with runs: 1 the word frequency, 2 the same with a wrong row in its sink, 3 a late record, cancelled."""
    folder = tmp_path_factory.mktemp("app")
    with Store.open(folder / "studio.duckdb") as store:
        seeded_store.example(store, folder)
        seeded_store.example(store, folder, last=(2, 7))
        seeded_store.cancelled(store, "02-window-late-record")
    with running_app(folder, "local[2]") as running:
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
