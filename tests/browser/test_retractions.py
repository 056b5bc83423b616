"""Retractions in the browser: the cascade of an event, the trace of a record, the flows of a run, mini-batch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from storage import Store
from tests.browser.app_server import App, running_app
from tests.browser.conftest import OpenPage, rows, wait_until_settled
from tests.browser.run_page import run_again
from tests.ui import seeded_store

RUN_TIMEOUT_MS = 180_000


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The app with runs in its store: 1 word count, 2 the word frequency, cancelled."""
    folder = tmp_path_factory.mktemp("app")
    with Store.open(folder / "studio.duckdb") as store:
        seeded_store.word_count(store, folder)
        seeded_store.cancelled(store, "01-word-frequency")
    with running_app(folder, "local[2]") as running:
        yield running


def test_a_cascade_is_explained_and_a_record_is_traced_by_a_click(open_page: OpenPage) -> None:
    page = open_page("retractions?run=1&event=3")
    tree = rows(page, "What event 3 did")
    expect(tree).to_have_count(9)
    expect(tree.nth(1)).to_contain_text("cnt 1 → 2: the old value is retracted")
    # The last record is traced, and the list begins with the cause.
    expect(tree.last).to_have_attribute("aria-selected", "true")
    expect(tree.first).to_be_in_viewport()
    expect(rows(page, "Where the record comes from").first).to_contain_text("cnt=2, words=1")
    tree.nth(3).click()
    expect(rows(page, "Where the record comes from").first).to_contain_text("cnt=1, words=2")
    page.keyboard.press("p")
    expect(rows(page, "What event 2 did").first).to_contain_text("World")


def test_previous_and_next_stop_where_a_row_that_one_talks_about_is_taken_back(open_page: OpenPage) -> None:
    page = open_page("retractions?run=1&edge=outer&event=0")
    page.get_by_text("Previous and next stop only at retractions of outer").click()
    where = page.get_by_role("textbox", name="Where")
    expect(where).to_be_visible()
    page.keyboard.press("n")
    expect(page).to_have_url(re.compile("event=2"))
    where.fill("words = 2")
    where.press("Enter")
    expect(page).to_have_url(re.compile("where=words"))
    wait_until_settled(page)
    page.get_by_role("button", name=re.compile("^Next")).click()
    expect(page).to_have_url(re.compile("event=3"))


def test_a_record_of_an_earlier_event_is_traced_until_the_event_changes(open_page: OpenPage) -> None:
    page = open_page("retractions?run=1&event=3")
    expect(page.get_by_text("because of event 3")).to_be_visible()
    rows(page, "Where the record comes from").nth(4).click()
    expect(page.get_by_text("because of event 1")).to_be_visible()
    page.keyboard.press("p")
    expect(page.get_by_text("because of event 2")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_flow_of_a_run_is_drawn_with_who_amplifies_it(
    open_page: OpenPage, scheme: Literal["light", "dark"]
) -> None:
    page = open_page("retractions?run=1&edge=outer", color_scheme=scheme)
    page.get_by_role("radio", name="The whole run").click()
    expect(page.locator(".sankey-link")).to_have_count(10)
    expect(rows(page, "Amplification").first).to_contain_text("retractions begin here")
    expect(rows(page, "Keys").first).to_contain_text("1")


def repeated(open_page: OpenPage) -> Page:
    """The page of a finished run that repeats the cancelled one."""
    page = open_page("run?run=2")
    run_again(page)
    expect(page.get_by_role("button", name="Open the changelog")).to_be_enabled(timeout=RUN_TIMEOUT_MS)
    return page


@pytest.mark.slow
def test_why_retraction_shows_what_is_wrong_without_it_and_what_writes_out_of_order_lose(open_page: OpenPage) -> None:
    page = repeated(open_page)
    page.get_by_role("link", name="Inspect", exact=True).click()
    page.get_by_role("link", name="Without retraction", exact=True).click()
    expect(rows(page, "With retraction")).to_have_text([re.compile(r"1\s*1"), re.compile(r"2\s*1")])
    page.get_by_role("button", name="Run it with retraction switched off").click()
    expect(page.get_by_text("1 row wrong")).to_be_visible(timeout=RUN_TIMEOUT_MS)
    wrong = page.get_by_role("region", name="Without retraction", exact=True).locator("td.bad")
    expect(wrong).to_have_text(re.compile(r"1\s*→\s*2"))
    expect(page.get_by_text("Equal to Spark's batch answer")).to_be_visible(timeout=RUN_TIMEOUT_MS)
    expect(rows(page, "Batch answer")).to_have_count(2)
    page.get_by_role("slider", name="Writers").press("Home")
    expect(page.get_by_text("Nothing is lost")).to_have_count(2)


@pytest.mark.slow
def test_mini_batch_is_run_in_the_background_and_compared(open_page: OpenPage) -> None:
    repeated(open_page)
    page = open_page("retractions?run=3")
    page.get_by_role("radio", name="Mini-batch").click()
    page.get_by_role("button", name="Run it in bundles of 2", exact=False).click()
    expect(page.get_by_text("is the same in both: 2 rows")).to_be_visible(timeout=RUN_TIMEOUT_MS)
    expect(rows(page, "Saved").first).to_contain_text("count_words")
    expect(page).to_have_url(re.compile("run=3"))
