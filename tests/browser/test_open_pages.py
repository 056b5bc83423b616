"""Every page of Inspect is drawn, however often it is opened while a live run gets rows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from storage import Store
from tests.browser.app_server import running_app
from tests.browser.conftest import Tabs, press, wait_until_settled
from tests.browser.run_page import figure
from tests.engine.planning import pipeline_of
from ui.builder.history import History
from ui.shell.navigation import VIEWS

pytestmark = pytest.mark.slow
TIMEOUT_MS = 120_000
ROUNDS = 4
COUNT = {"function": "COUNT", "name": "n"}
# A row per second: that pages are drawn is tested, not how long many records take.
WITHOUT_END = pipeline_of(
    "numbers -> per_window -> out\nnumbers -> counted -> result",
    numbers=("generator", {"rows": None, "rate": 1, "keys": 2, "disorder": 0.5, "disorder_ms": 3000}),
    per_window=("window_aggregate", {"kind": "tumble", "size_ms": 1000, "group_by": ["key"], "aggregates": [COUNT]}),
    counted=("aggregate", {"group_by": ["key"], "aggregates": [COUNT]}),
    out=("sink", {"mode": "changelog"}),
    result=("sink", {"mode": "changelog"}),
)


def drawn(page: Page, title: str) -> Locator:
    """What shows that a page was drawn to its end."""
    match title:
        case "Changelog":
            return page.get_by_role("region", name="Changelog", exact=True)
        case "Time travel":
            return page.get_by_role("button", name="Next retraction")
        case "Retractions":
            return page.get_by_text("The strategies of these operators")
        case "Without retraction":
            return page.get_by_role("heading", name="Writes out of order")
        case "Event time":
            return page.get_by_role("region", name="Late records", exact=True)
        case "State":
            return page.get_by_role("region", name="Operators with their state")
        case "What if":
            return page.get_by_role("region", name="Records that would be dropped or kept")
        case _:
            return page.get_by_text("There is only this run.")


ADDRESSES = {view.title: view.url for view in VIEWS}
PAGES = ("Changelog", "Time travel", "Retractions", "Without retraction", "Event time", "State", "What if", "Compare")


def test_every_page_of_inspect_is_drawn_each_time_it_is_opened_during_a_live_run(tabs: Tabs, tmp_path: Path) -> None:
    with Store.open(tmp_path / "studio.duckdb") as store:
        store.drafts.save("live", History(WITHOUT_END).to_json())
    with running_app(tmp_path, "local[2]") as app:
        page = tabs.take()
        failures: list[str] = []
        page.on("pageerror", lambda error: failures.append(str(error)))
        page.goto(f"{app.url}/build?draft=live")
        wait_until_settled(page)
        press(page, "Run live")
        page.get_by_role("link", name="Runs", exact=True).click()
        expect(figure(page, "Dropped")).to_have_text(re.compile("[1-9]"), timeout=TIMEOUT_MS)
        # From Runs, the link Inspect leads to the page that was shown last: a different one in every round.
        shown = PAGES[0]
        for at in range(ROUNDS):
            others = [PAGES[(PAGES.index(shown) + step) % len(PAGES)] for step in range(1, len(PAGES))]
            page.get_by_role("link", name="Runs", exact=True).click()
            expect(page.get_by_role("heading", name="All runs")).to_be_visible()
            for title in (shown, *others):
                link = "Inspect" if title == shown else title
                # By the keyboard: what a live run adds moves the page, and a click on its way hits what came there.
                page.get_by_role("link", name=link, exact=True).press("Enter")
                try:
                    expect(drawn(page, title), f"{title} in round {at + 1}").to_be_visible()
                except AssertionError as error:
                    instead = f"{page.url}\n{page.get_by_test_id('stApp').inner_text()}\n{app.log.read_text()}"
                    raise AssertionError(error, instead) from error
                wait_until_settled(page)
                assert drawn(page, title).is_visible(), f"{title} went blank in round {at + 1}"
                expect(page).to_have_url(re.compile(rf"/{ADDRESSES[title]}\?"))
            shown = others[-1]
        assert not failures
        tabs.give_back(page)
