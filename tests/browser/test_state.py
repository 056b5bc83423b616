"""State in the browser: a TTL and its clock, what expired, other TTLs, the fading of a key, and the story."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from storage import Store
from tests.browser.app_server import App, running_app
from tests.browser.canvas_page import choose, held, open_example, tab
from tests.browser.conftest import OpenPage, press, rows, wait_until_settled
from tests.ui import seeded_store

TIMEOUT_MS = 45_000


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The app with a run of word frequency with a TTL in its store."""
    folder = tmp_path_factory.mktemp("app")
    with Store.open(folder / "studio.duckdb") as store:
        seeded_store.expiring(store, folder)
    with running_app(folder, "local[2]") as running:
        yield running


def choose_part(page: Page, name: str) -> None:
    page.get_by_role("radio", name=name, exact=True).click()
    wait_until_settled(page)


def test_the_clock_of_a_ttl_is_chosen_written_in_sql_and_undone(page: Page) -> None:
    open_example(page, "Join with a TTL")
    page.get_by_role("button", name="Pipeline", exact=True).click()
    clock = page.get_by_role("combobox", name="Clock of the state TTL")
    expect(clock).to_have_value(re.compile("^AUTO"))
    choose(page, "Clock of the state TTL", "NONE · nothing expires")
    expect(clock).to_have_value(re.compile("^NONE"))
    tab(page, "SQL")
    script = held(page, "Flink SQL")
    expect(script).to_have_value(re.compile("SET 'changelog-studio.clock' = 'NONE'"), timeout=TIMEOUT_MS)
    press(page, "Undo")
    expect(clock).to_have_value(re.compile("^AUTO"))
    expect(script).not_to_have_value(re.compile("changelog-studio.clock"))


def test_what_expiry_did_leads_from_a_record_to_its_cascade(open_page: OpenPage) -> None:
    page = open_page("changelog?run=1&edge=frequencies")
    page.get_by_role("link", name="State", exact=True).click()
    expect(page.locator(".js-plotly-plot").first).to_be_visible(timeout=TIMEOUT_MS)
    choose_part(page, "What expiry did")
    rows(page, "Records that met expired state").filter(has_text="word=Hello").click()
    file = page.locator(".st-key-expired-file")
    expect(file).to_contain_text("15 min too late")
    expect(file).to_contain_text("Without a TTL, would have come out for word=Hello", timeout=TIMEOUT_MS)
    file.get_by_role("button", name="See what event 5 did").click()
    expect(page).to_have_url(re.compile("/retractions.*event=5"))
    expect(page.get_by_text("Hello").first).to_be_visible()


def test_other_ttls_are_tried_cancelled_and_the_smallest_that_suffices_is_told(open_page: OpenPage) -> None:
    page = open_page("state?run=1&part=What+if")
    start = page.get_by_role("button", name="Run these records again")
    start.click()
    page.get_by_role("button", name="Cancel", exact=True).click(timeout=TIMEOUT_MS)
    expect(start).to_be_enabled(timeout=TIMEOUT_MS)
    expect(page.get_by_text("(of the round ones)")).to_have_count(0)
    start.click()
    expect(page.get_by_text("(of the round ones)")).to_be_visible(timeout=TIMEOUT_MS)
    rows(page, "State TTLs that were tried").filter(has_text="1 h").first.click()
    expect(page.get_by_text("is the first with other results")).to_contain_text("event 5")


def opacity(of: Locator) -> float:
    return float(of.evaluate("each => getComputedStyle(each).opacity"))


def test_the_state_of_a_key_fades_with_its_age_and_says_when_it_goes(open_page: OpenPage) -> None:
    page = open_page("time-travel?run=1&edge=count_words&event=3&node=count_words&key=%5B%22Hello%22%5D")
    shown = page.locator("[class*=st-key-state-left-]")
    expect(page.get_by_text("it goes in 1 h")).to_be_visible(timeout=TIMEOUT_MS)
    assert opacity(shown) == 1
    page.get_by_role("button", name="Next", exact=False).first.click()
    expect(page.get_by_text(re.compile("expired, by|it goes in"))).not_to_contain_text("in 1 h,", timeout=TIMEOUT_MS)
    wait_until_settled(page)
    assert opacity(shown) < 0.9


def test_the_story_of_a_word_that_was_forgotten_plays_to_its_end(page: Page) -> None:
    page.locator(".st-key-" + re.sub(r"[^\w-]", "-", "story|Word frequency with a TTL")).get_by_role("button").click()
    story = page.locator(".st-key-story")
    expect(story).to_contain_text("step 1 of 6", timeout=TIMEOUT_MS)
    following = story.get_by_role("button", name="Next step")
    expected = (
        "/changelog.*event=3",
        "/changelog.*event=5",
        "/state.*event=5",
        "/retractions.*event=5",
        "/time-travel.*event=7",
        "/state",
    )
    for at, address in enumerate(expected, start=1):
        expect(story).to_contain_text(f"step {at} of 6")
        expect(page).to_have_url(re.compile(address), timeout=TIMEOUT_MS)
        wait_until_settled(page)
        if at == 3:
            expect(page.get_by_text("15 min too late")).to_be_visible()
        if at < len(expected):
            expect(following).to_be_enabled(timeout=TIMEOUT_MS)
            following.click()
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    story.get_by_role("button", name="Finish").click()
    expect(story).to_have_count(0)
