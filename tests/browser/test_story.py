"""A presenter's own story in the browser: written over a run, ordered by hand, presented, and told in a replay."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from storage import Store
from tests.browser.app_server import App, running_app
from tests.browser.conftest import OpenPage, rows, wait_until_settled
from tests.browser.replays import offline
from tests.ui import seeded_store


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The app with runs in its store: 1 word count, 2 windows."""
    folder = tmp_path_factory.mktemp("app")
    with Store.open(folder / "studio.duckdb") as store:
        seeded_store.word_count(store, folder)
        seeded_store.windows(store, folder)
    with running_app(folder, "local[2]") as running:
        yield running


def say(page: Page, step: int, text: str) -> None:
    words = page.get_by_label(f"Words of step {step}")
    words.fill(text)
    words.blur()
    # The app has taken the words when the line of another step could show them.
    expect(page.get_by_role("button", name="Undo")).to_be_enabled()


def test_a_story_of_three_steps_is_written_reordered_presented_and_taken_along(
    open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page("changelog?run=1&edge=inner&event=1")
    page.get_by_role("button", name="Story").click()
    add = page.get_by_role("button", name="Add what is shown")
    add.click()
    say(page, 1, "The **first** word.")
    page.get_by_role("link", name="Time travel").click()
    expect(page.get_by_text("State of outer")).to_be_visible()
    page.get_by_role("button", name="Next", exact=False).first.click()
    expect(page).to_have_url(re.compile("time-travel.*event=2"))
    add.click()
    say(page, 2, "<b>Two</b> words, for $5 and $6.")
    page.get_by_role("link", name="Retractions").click()
    expect(page).to_have_url(re.compile("/retractions"))
    page.get_by_text("The whole run", exact=True).click()
    expect(page).to_have_url(re.compile("part=The"))
    add.click()
    say(page, 3, "All of it.")

    lines = page.locator("[class*=st-key-story-open] button")
    # Until a step is drawn in its place, its buttons are on the page twice.
    wait_until_settled(page)
    page.get_by_role("button", name="Move up").click()
    expect(lines).to_have_text([re.compile(each) for each in ("1 Changelog", "2 Retractions", "3 Time travel")])
    wait_until_settled(page)
    page.get_by_role("button", name="Move up").click()
    ordered = ("1 Retractions", r"2 Changelog[\s\S]*first", "3 Time travel")
    expect(lines).to_have_text([re.compile(each) for each in ordered])
    page.reload()
    expect(lines).to_have_count(3)
    wait_until_settled(page)
    page.get_by_role("button", name="New story").click()
    expect(lines).to_have_count(0)
    wait_until_settled(page)
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(lines).to_have_count(3)
    wait_until_settled(page)

    page.get_by_role("button", name="Present from the first step").click()
    story = page.locator(".st-key-story")
    expect(story.get_by_text("step 1 of 3")).to_be_visible()
    expect(story.get_by_text("All of it.")).to_be_visible()
    expect(page.get_by_role("radio", name="The whole run")).to_be_checked()
    page.keyboard.press("PageDown")
    expect(story.get_by_text("step 2 of 3")).to_be_visible()
    expect(story.locator("strong", has_text="first").last).to_be_visible()
    expect(rows(page, "Changelog").first).to_be_visible()
    page.keyboard.press("PageDown")
    expect(story.get_by_text("<b>Two</b> words, for $5 and $6.")).to_be_visible()
    expect(page).to_have_url(re.compile("time-travel.*event=2"))

    # A press while the page is drawn may be lost.
    wait_until_settled(page)
    replay, address = offline(page, "Replay", tmp_path)
    replay.goto(address)
    # It opens at what was on screen.
    expect(replay.locator("#step")).to_have_text("step 3 of 3")
    expect(replay.locator("#now")).to_have_text(re.compile("event 2 "))
    for _ in range(2):
        replay.get_by_role("button", name="Back").click()
    expect(replay.locator("#step")).to_have_text("step 1 of 3")
    replay.get_by_role("button", name="Next step").click()
    expect(replay.locator(".told:visible strong")).to_have_text("first")
    expect(replay.locator("#now")).to_have_text(re.compile("event 1 "))
    replay.get_by_role("button", name="Next step").click()
    expect(replay.locator(".told:visible")).to_have_text("<b>Two</b> words, for $5 and $6.")
    replay.context.close()
