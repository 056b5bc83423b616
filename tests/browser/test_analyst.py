"""Event time in depth, in the browser, on seeded runs."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from storage import Store
from tests.browser.app_server import App, running_app
from tests.browser.conftest import OpenPage
from tests.ui import seeded_store


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The app with runs in its store: 1 word count, 2 windows, 3 two sources, 4 a record from the future."""
    folder = tmp_path_factory.mktemp("app")
    with Store.open(folder / "studio.duckdb") as store:
        seeded_store.word_count(store, folder)
        seeded_store.windows(store, folder)
        seeded_store.two_sources(store, folder)
        seeded_store.future(store, folder)
    with running_app(folder) as running:
        yield running


def rows(page: Page, label: str) -> Locator:
    return page.get_by_role("region", name=label, exact=True).locator("tbody tr")


def test_a_brushed_range_shows_its_records(open_page: OpenPage) -> None:
    page = open_page("event-time?run=3")
    box = page.locator(".js-plotly-plot .nsewdrag").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 150, steps=8)
    page.mouse.up()
    expect(page.get_by_text(re.compile(r"^\d+ events from \d+ to \d+$"))).to_be_visible()
    first = rows(page, "Records of the range").first
    expect(first).to_contain_text("2001-09-09")
    assert 8 < int(first.locator("td").first.inner_text()) < 16


def test_the_record_from_the_future_is_named_and_shown(open_page: OpenPage) -> None:
    page = open_page("event-time?run=4")
    expect(page.get_by_role("alert").filter(has_text="came from the future")).to_contain_text("record 8 of clicks")
    page.get_by_role("button", name="Go there").click()
    expect(page).to_have_url(re.compile("event=8"))
    expect(page.get_by_role("region", name="Records of the range").locator("tr.current")).to_contain_text("02:46:48")
